// Stages that do what no stage should: tests/apps runs them in the program.

#include <future>
#include <new>
#include <stdexcept>

#include "pipeline/core/stage.h"

namespace {

class PassThrough : public millrace::Transform {
 public:
  millrace::ChunkType prepare(const millrace::ChunkType& input) override { return input; }
};

/// Never comes back from its `at`th call, whatever is asked of it.
class Hang final : public PassThrough {
 public:
  explicit Hang(const millrace::Options& options) : at_(options.get<std::uint64_t>("at", 0)) {}
  std::optional<millrace::Chunk> process(millrace::Chunk chunk) override {
    if (calls_++ == at_) std::promise<void>().get_future().wait();
    return chunk;
  }

 private:
  std::uint64_t at_;
  std::uint64_t calls_ = 0;
};

/// Throws in its `at`th call.
class Throw final : public PassThrough {
 public:
  explicit Throw(const millrace::Options& options)
      : what_(options.get<std::string>("what", "error")), at_(options.get<std::uint64_t>("at", 3)) {}
  std::optional<millrace::Chunk> process(millrace::Chunk chunk) override {
    if (calls_++ != at_) return chunk;
    if (what_ == "memory") throw std::bad_alloc();
    if (what_ == "number") throw 7;
    if (what_ == "lines") throw std::runtime_error("one line\nand another");
    throw millrace::Error("the sample is out of range").at_path("/data/x.raw").at_offset(17);
  }

 private:
  std::string what_;
  std::uint64_t at_;
  std::uint64_t calls_ = 0;
};

}  // namespace

extern "C" void millrace_register(millrace::Registry& registry) {
  registry.add<Hang>("hang", "never comes back");
  registry.add<Throw>("throw", "throws");
}
