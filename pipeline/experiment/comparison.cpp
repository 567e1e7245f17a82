#include "pipeline/experiment/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "pipeline/core/error.h"
#include "pipeline/experiment/block_planner.h"
#include "pipeline/experiment/holm.h"
#include "pipeline/experiment/paired_effect.h"
#include "pipeline/experiment/sequential.h"
#include "pipeline/experiment/sign_flip.h"

namespace millrace {
namespace {

constexpr std::size_t kAaArm = 1;
constexpr std::size_t kFirstAskedArm = 2;

bool is_share(double value) { return value > 0 && value < 1; }

void require_design(const ComparisonDesign& design) {
  if (!is_share(design.confidence)) throw config_error("the confidence must be between 0 and 1");
  if (!is_share(design.power)) throw config_error("the power must be between 0 and 1");
  if (!is_share(design.equivalence_margin)) throw config_error("the equivalence margin must be between 0 and 1");
  if (design.detect && !(*design.detect > 0 && std::isfinite(*design.detect)))
    throw config_error("the effect to be detected must be above 0");
  if (design.blocks == 0) throw config_error("an experiment needs at least one block");
}

std::vector<PairedEffect> paired_effects(const RatesByBlock& rates) {
  std::vector<PairedEffect> result(rates.size());
  for (std::size_t arm = kAaArm; arm < rates.size(); ++arm)
    result[arm] = paired_effect(log_ratios(rates[arm], rates[0]));
  return result;
}

double pooled_deviation(const std::vector<PairedEffect>& effects) {
  double squares = 0;
  double freedom = 0;
  for (const PairedEffect& effect : effects) {
    if (effect.blocks < 2) continue;
    squares += effect.standard_deviation * effect.standard_deviation * (effect.blocks - 1);
    freedom += effect.blocks - 1;
  }
  return freedom > 0 ? std::sqrt(squares / freedom) : 0;
}

ArmEffect measured(const PairedEffect& effect, double interval_error_rate) {
  ArmEffect arm;
  arm.blocks = effect.blocks;
  arm.ratio = std::exp(effect.mean);
  arm.faster_blocks = effect.higher;
  arm.slower_blocks = effect.lower;
  if (effect.blocks >= 2) {
    const double half = half_width(effect, interval_error_rate);
    arm.low = std::exp(effect.mean - half);
    arm.high = std::exp(effect.mean + half);
  }
  return arm;
}

bool is_asked_about(std::size_t arm) { return arm >= kFirstAskedArm; }

void correct_claims(Comparison& comparison, const std::vector<PairedEffect>& effects, std::size_t looks) {
  std::vector<double> p_values;
  for (std::size_t arm = kFirstAskedArm; arm < effects.size(); ++arm)
    p_values.push_back(std::min(1.0, t_test_p(effects[arm]) * static_cast<double>(looks)));
  const std::vector<double> corrected = holm(p_values);
  for (std::size_t i = 0; i < corrected.size(); ++i) comparison.arms[kFirstAskedArm + i].p_claim = corrected[i];
}

/// In logarithms. Exact comparison with the A/A arm's own effect: an arm that repeats it is no larger than it.
std::optional<double> log_noise_floor(const std::vector<PairedEffect>& effects, double interval_error_rate) {
  if (effects.size() <= kAaArm || effects[kAaArm].blocks < 2) return std::nullopt;
  return std::max(std::abs(effects[kAaArm].mean), half_width(effects[kAaArm], interval_error_rate));
}

bool lies_within(const ArmEffect& arm, double margin) {
  return arm.low && *arm.low >= 1 - margin && *arm.high <= 1 + margin;
}

ArmVerdict verdict_of(const ArmEffect& arm, const PairedEffect& effect, std::optional<double> floor,
                      const ComparisonDesign& design) {
  if (arm.blocks < 2) return ArmVerdict::inconclusive;
  const bool is_significant = arm.p_claim && *arm.p_claim <= 1 - design.confidence;
  if (is_significant && floor && std::abs(effect.mean) > *floor)
    return effect.mean > 0 ? ArmVerdict::faster : ArmVerdict::slower;
  return lies_within(arm, design.equivalence_margin) ? ArmVerdict::equivalent : ArmVerdict::inconclusive;
}

bool is_settled(const ArmEffect& arm, const ComparisonDesign& design) {
  if (arm.verdict == ArmVerdict::faster || arm.verdict == ArmVerdict::slower) return true;
  return arm.verdict == ArmVerdict::equivalent && lies_within(arm, margin_to_stop_at(design));
}

std::uint32_t blocks_done(const RatesByBlock& rates) {
  return rates.empty() ? 0 : static_cast<std::uint32_t>(rates[0].size());
}

/// Of an experiment without other arms the A/A arm is what is asked about.
bool all_settled(const Comparison& comparison, const ComparisonDesign& design) {
  const auto first = static_cast<std::ptrdiff_t>(std::min(kFirstAskedArm, comparison.arms.size() - 1));
  return std::all_of(comparison.arms.begin() + first, comparison.arms.end(),
                     [&](const ArmEffect& arm) { return is_settled(arm, design); });
}

bool is_decided(const Comparison& comparison, std::uint32_t done, const ComparisonDesign& design) {
  if (done >= design.blocks) return true;
  if (!design.detect || comparison.arms.empty()) return false;
  const std::vector<std::uint32_t> looks = looks_of(design);
  return std::find(looks.begin(), looks.end(), done) != looks.end() && all_settled(comparison, design);
}

// ---------------------------------------------------------------------------------------------------- for information

void add_sign_flips(Comparison& comparison, const RatesByBlock& rates) {
  std::vector<double> p_values;
  for (std::size_t arm = kAaArm; arm < rates.size(); ++arm) {
    const SignFlip test = sign_flip(log_ratios(rates[arm], rates[0]));
    comparison.arms[arm].p_value = test.p;
    comparison.arms[arm].p_exact = test.exact;
    if (is_asked_about(arm)) p_values.push_back(test.p);
  }
  const std::vector<double> corrected = holm(p_values);
  for (std::size_t i = 0; i < corrected.size(); ++i) comparison.arms[kFirstAskedArm + i].p_holm = corrected[i];
}

/// Of the blocks at which the experiment could end, the first from `now` on that is enough; the last if none is.
std::uint32_t look_for(std::optional<std::uint32_t> needed, std::uint32_t now, const ComparisonDesign& design) {
  if (!needed) return design.blocks;
  for (const std::uint32_t look : looks_of(design))
    if (look >= *needed && look >= now) return look;
  return design.blocks;
}

void add_plan(Comparison& comparison, const std::vector<PairedEffect>& effects, std::uint32_t done,
              const ComparisonDesign& design) {
  if (done < 2 || effects.size() <= kFirstAskedArm) return;
  const BlockPlanner planner(design, effects.size());
  std::uint32_t fewest = done;
  for (std::size_t arm = kFirstAskedArm; arm < effects.size(); ++arm) {
    ArmEffect& effect = comparison.arms[arm];
    fewest = std::min(fewest, effect.blocks);
    if (effect.verdict != ArmVerdict::inconclusive || effect.blocks < 2) continue;
    const double deviation = std::max(comparison.log_sd, effects[arm].standard_deviation);
    const auto enough = planner.until_settled(effects[arm].mean, deviation, design.equivalence_margin);
    if (enough) effect.further_blocks = std::max(*enough, effect.blocks + 1) - effect.blocks;
  }
  if (fewest >= 2) comparison.minimal_detectable_ratio = planner.detectable_ratio(fewest, comparison.log_sd);
  if (!design.detect || done < looks_of(design).front() || comparison.log_sd == 0) return;
  comparison.blocks_needed = planner.until_decided(comparison.log_sd);
  if (!comparison.decided) comparison.blocks_planned = look_for(comparison.blocks_needed, done + 1, design);
}

}  // namespace

const char* name_of(ArmVerdict verdict) {
  switch (verdict) {
    case ArmVerdict::faster:
      return "faster";
    case ArmVerdict::slower:
      return "slower";
    case ArmVerdict::equivalent:
      return "equivalent";
    case ArmVerdict::inconclusive:
      break;
  }
  return "inconclusive";
}

void require_rates(const RatesByBlock& rates) {
  for (std::size_t arm = 0; arm < rates.size(); ++arm) {
    if (rates[arm].size() != rates[0].size())
      throw Error("arm " + std::to_string(arm) + " has " + std::to_string(rates[arm].size()) +
                  " blocks, the baseline " + std::to_string(rates[0].size()));
    for (std::size_t block = 0; block < rates[arm].size(); ++block) {
      const std::optional<double>& rate = rates[arm][block];
      if (rate && !(std::isfinite(*rate) && *rate > 0))
        throw Error("the rate of arm " + std::to_string(arm) + " in block " + std::to_string(block) +
                    " is no positive number");
    }
  }
}

Comparison decide(const RatesByBlock& rates, const ComparisonDesign& design) {
  require_rates(rates);
  require_design(design);
  const double error_rate = error_rate_of_a_look(design);
  const std::vector<PairedEffect> effects = paired_effects(rates);
  Comparison comparison;
  for (const PairedEffect& effect : effects) comparison.arms.push_back(measured(effect, error_rate));
  if (!rates.empty())
    comparison.arms[0].blocks = static_cast<std::uint32_t>(
        std::count_if(rates[0].begin(), rates[0].end(), [](const auto& rate) { return rate.has_value(); }));
  comparison.log_sd = pooled_deviation(effects);
  correct_claims(comparison, effects, looks_of(design).size());
  const std::optional<double> floor = log_noise_floor(effects, error_rate);
  if (floor) comparison.noise_floor = std::exp(*floor);
  for (std::size_t arm = kAaArm; arm < effects.size(); ++arm)
    comparison.arms[arm].verdict = verdict_of(comparison.arms[arm], effects[arm], floor, design);
  comparison.decided = is_decided(comparison, blocks_done(rates), design);
  comparison.blocks_planned = comparison.decided ? blocks_done(rates) : design.blocks;
  return comparison;
}

Comparison compare(const RatesByBlock& rates, const ComparisonDesign& design) {
  Comparison comparison = decide(rates, design);
  add_sign_flips(comparison, rates);
  add_plan(comparison, paired_effects(rates), blocks_done(rates), design);
  return comparison;
}

}  // namespace millrace
