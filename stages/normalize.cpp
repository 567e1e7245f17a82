#include "stages/normalize.h"

#include <string>
#include <utility>

namespace millrace {
namespace {

constexpr double kMadToDeviation = 1.4826;

}  // namespace

Normalize::Normalize(const Options& options) {
  const auto flat_read = options.get<std::string>(
      "flat_read", "center", "a read whose MAD is 0: \"center\" (subtract the median only) or \"error\"");
  if (flat_read != "center" && flat_read != "error") {
    throw options.error_at("flat_read", "'flat_read' is \"center\" or \"error\", not \"" + flat_read + "\"");
  }
  flat_read_is_error_ = flat_read == "error";
}

ChunkType Normalize::prepare(const ChunkType& input) {
  input.require("signal").require(DType::i16);
  level_.emplace();
  return {DType::f32, "signal", input.max_bytes / sizeof(std::int16_t) * sizeof(float)};
}

std::optional<Chunk> Normalize::process(Chunk chunk) {
  const auto samples = chunk.view<std::int16_t>();
  Buffer result = loan(samples.size() * sizeof(float));
  if (!samples.empty()) {
    const SignalLevel level = level_->level_of(samples);
    if (level.mad == 0 && flat_read_is_error_) {
      throw Error("the MAD of a read of " + std::to_string(samples.size()) + " samples is 0");
    }
    const auto shift = static_cast<float>(level.median);
    const auto factor = static_cast<float>(level.mad == 0 ? 1.0 : 1.0 / (kMadToDeviation * level.mad));
    auto* const out = reinterpret_cast<float*>(result.writable().data());
    for (std::size_t i = 0; i < samples.size(); ++i) out[i] = (static_cast<float>(samples[i]) - shift) * factor;
  }
  return chunk.with(std::move(result), DType::f32, chunk.shape());
}

std::uint64_t Normalize::state_bytes() const { return level_ ? level_->memory_bytes() : 0; }

}  // namespace millrace
