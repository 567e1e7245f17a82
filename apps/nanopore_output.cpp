#include "apps/nanopore_output.h"

#include <fmt/format.h>

#include "stages/counter_random.h"

namespace millrace {
namespace {

constexpr std::uint64_t kRunIdStream = ~std::uint64_t{0} - 2;

}  // namespace

std::string simulated_run_id(std::uint64_t seed) {
  const auto random = [seed](std::uint64_t counter) { return counter_random(seed, kRunIdStream, counter); };
  return fmt::format("{:016x}{:016x}{:08x}", random(0), random(1), random(2) >> 32);
}

std::uint64_t ChannelClocks::start_of(const SimulatedRead& read) {
  auto& clock = ends_[static_cast<std::size_t>(read.channel - 1)];
  const std::uint64_t start = clock + read.pause_samples;
  clock = start + read.samples.size();
  return start;
}

}  // namespace millrace
