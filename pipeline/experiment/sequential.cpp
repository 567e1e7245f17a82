#include "pipeline/experiment/sequential.h"

#include <algorithm>
#include <cmath>

namespace millrace {
namespace {

/// From look to look at least this many times as many blocks: more looks would each have to be stricter.
constexpr double kGrowth = 1.25;
constexpr std::uint32_t kFewestBlocks = 2;

}  // namespace

std::vector<std::uint32_t> looks_of(const ComparisonDesign& design) {
  const std::uint32_t first = std::min(std::max(design.pilot_blocks, kFewestBlocks), design.blocks);
  if (!design.detect || first == design.blocks) return {design.blocks};
  const double growth_in_all = static_cast<double>(design.blocks) / first;
  const double steps = std::max(1.0, std::floor(std::log(growth_in_all) / std::log(kGrowth)));
  std::vector<std::uint32_t> looks{first};
  for (double step = 1; step <= steps; ++step) {
    const auto next = static_cast<std::uint32_t>(std::lround(first * std::pow(growth_in_all, step / steps)));
    if (next > looks.back()) looks.push_back(next);
  }
  return looks;
}

double error_rate_of_a_look(const ComparisonDesign& design) {
  return (1 - design.confidence) / static_cast<double>(looks_of(design).size());
}

}  // namespace millrace
