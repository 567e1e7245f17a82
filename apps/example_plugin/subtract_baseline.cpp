#include "millrace/stage.h"

namespace {

/// Subtracts a constant from every sample, in place.
class SubtractBaseline final : public millrace::Transform {
 public:
  explicit SubtractBaseline(const millrace::Options& options)
      : offset_(options.get<std::int16_t>("offset", 0, "subtracted from every sample")) {}

  millrace::ChunkType prepare(const millrace::ChunkType& input) override { return input.require(millrace::DType::i16); }

  std::optional<millrace::Chunk> process(millrace::Chunk chunk) override {
    for (auto& sample : chunk.samples<std::int16_t>()) sample -= offset_;
    return chunk;
  }

  bool parallel() const override { return true; }

 private:
  std::int16_t offset_;
};

}  // namespace

extern "C" void millrace_register(millrace::Registry& registry) {
  registry.add<SubtractBaseline>("subtract_baseline", "subtracts a constant from every sample");
}
