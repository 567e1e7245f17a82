#include "millrace/stage.h"

namespace {

/// Doubles every sample.
class Double final : public millrace::Transform {
 public:
  explicit Double(const millrace::Options& options) : factor_(options.get<std::int16_t>("factor", 2, "multiplier")) {}
  millrace::ChunkType prepare(const millrace::ChunkType& input) override { return input.require(millrace::DType::i16); }
  std::optional<millrace::Chunk> process(millrace::Chunk chunk) override {
    for (auto& sample : chunk.samples<std::int16_t>()) sample = static_cast<std::int16_t>(sample * factor_);
    return chunk;
  }

 private:
  std::int16_t factor_;
};

}  // namespace

extern "C" void millrace_register(millrace::Registry& registry) {
  registry.add<Double>("double", "doubles every sample");
}
