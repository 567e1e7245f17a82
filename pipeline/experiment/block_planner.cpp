#include "pipeline/experiment/block_planner.h"

#include <algorithm>
#include <cmath>

#include "pipeline/experiment/sequential.h"

namespace millrace {
namespace {

constexpr std::size_t kBaselineAndAa = 2;

/// Without any noise effects would be infinitely many deviations; a billionth is below what any clock could show.
double at_least_some(double deviation) { return std::max(deviation, 1e-9); }

}  // namespace

BlockPlanner::BlockPlanner(const ComparisonDesign& design, std::size_t arms) : design_(design) {
  const std::size_t asked_about = std::max(arms, kBaselineAndAa + 1) - kBaselineAndAa;
  strictness_.interval = error_rate_of_a_look(design);
  strictness_.claim = strictness_.interval / static_cast<double>(asked_about);
}

std::optional<std::uint32_t> BlockPlanner::until_claimed(double effect, double deviation) const {
  if (effect == 0) return std::nullopt;
  const double in_sd = effect / at_least_some(deviation);
  return blocks_for_power([&](std::uint32_t blocks) { return claim_power(blocks, in_sd, strictness_); }, design_.power);
}

std::optional<std::uint32_t> BlockPlanner::until_equivalent(double effect, double deviation, double margin) const {
  const double low = std::log1p(-margin);
  const double high = std::log1p(margin);
  if (effect <= low || effect >= high) return std::nullopt;
  const double sd = at_least_some(deviation);
  return blocks_for_power(
      [&](std::uint32_t blocks) {
        return equivalence_power(blocks, effect / sd, low / sd, high / sd, strictness_.interval);
      },
      design_.power);
}

std::optional<std::uint32_t> BlockPlanner::until_settled(double effect, double deviation, double margin) const {
  const auto claimed = until_claimed(effect, deviation);
  const auto equivalent = until_equivalent(effect, deviation, margin);
  if (!claimed || !equivalent) return claimed ? claimed : equivalent;
  return std::min(*claimed, *equivalent);
}

double BlockPlanner::detectable_ratio(std::uint32_t blocks, double deviation) const {
  return std::exp(deviation * detectable_effect_in_sd(blocks, strictness_, design_.power));
}

std::optional<std::uint32_t> BlockPlanner::until_decided(double deviation) const {
  if (!design_.detect) return std::nullopt;
  const auto claimed = until_claimed(std::log1p(*design_.detect), deviation);
  const auto equivalent = until_equivalent(0, deviation, margin_to_stop_at(design_));
  if (!claimed || !equivalent) return std::nullopt;
  return std::max(*claimed, *equivalent);
}

double margin_to_stop_at(const ComparisonDesign& design) {
  return std::min(design.equivalence_margin, design.detect.value_or(design.equivalence_margin));
}

}  // namespace millrace
