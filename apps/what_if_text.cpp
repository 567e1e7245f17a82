#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/what_if_outcome.h"
#include "pipeline/core/units.h"
#include "pipeline/verdict.h"

namespace millrace::apps {
namespace {

/// "412 MiB/s", or chunks when nothing is known of their bytes.
std::string rate_text(const WhatIfOutcome& outcome, double chunks_per_s) {
  if (outcome.bytes_per_chunk <= 0) return fmt::format("{:.4g} chunks/s", chunks_per_s);
  return format_bytes(static_cast<std::uint64_t>(chunks_per_s * outcome.bytes_per_chunk)) + "/s";
}

/// "+38 %"
std::string gain_text(double gain) { return fmt::format("{:+.1f} %", 100 * (gain - 1)); }

std::string confidence_of(const Verdict& verdict) {
  return verdict.confidence.empty() ? "" : fmt::format(" ({})", verdict.confidence);
}

std::string verification_text(const Scenario& scenario) {
  const Verification& seen = *scenario.verification;
  if (!seen.unverifiable.empty()) return fmt::format("  not verified: {}\n", seen.unverifiable);
  const double off = scenario.prediction.gain > 0 ? seen.gain() / scenario.prediction.gain - 1 : 0;
  return fmt::format(
      "  verified by {} pairs of runs: predicted {}, got {} ({} to {}); the rate is {:+.1f} % off the prediction; then "
      "{}\n",
      seen.changed_rates.size(), gain_text(scenario.prediction.gain), gain_text(seen.gain()), gain_text(seen.lowest()),
      gain_text(seen.highest()), 100 * off, verdict_title(seen.verdict));
}

}  // namespace

double Verification::gain() const {
  if (changed_rates.empty()) return 0;
  double sum = 0;
  for (std::size_t i = 0; i < changed_rates.size(); ++i) sum += std::log(changed_rates[i] / base_rates[i]);
  return std::exp(sum / static_cast<double>(changed_rates.size()));
}

double Verification::lowest() const {
  double result = 0;
  for (std::size_t i = 0; i < changed_rates.size(); ++i)
    result = i == 0 ? changed_rates[i] / base_rates[i] : std::min(result, changed_rates[i] / base_rates[i]);
  return result;
}

double Verification::highest() const {
  double result = 0;
  for (std::size_t i = 0; i < changed_rates.size(); ++i) result = std::max(result, changed_rates[i] / base_rates[i]);
  return result;
}

std::string calibration_text(const WhatIfOutcome& outcome) {
  const Calibration& calibration = outcome.calibration;
  std::string text = fmt::format("recorded      {}, {}{}\n", rate_text(outcome, calibration.real_rate),
                                 verdict_title(outcome.recorded), confidence_of(outcome.recorded));
  text += fmt::format("replayed      {}, {}{}: {:+.1f} % off the run, with nothing changed\n",
                      rate_text(outcome, calibration.replayed_rate), verdict_title(calibration.replayed.verdict),
                      confidence_of(calibration.replayed.verdict), 100 * calibration.error());
  double delay_ns = 0;
  for (const RecordedStage& stage : calibration.run.stages)
    delay_ns += stage.delay_ns * static_cast<double>(stage.calls->groups());
  const double slot_ns = static_cast<double>(calibration.replayed.wall_ns) * calibration.run.cores;
  if (slot_ns > 0 && delay_ns > 0.01 * slot_ns)
    text += fmt::format(
        "              its threads waited {} longer for cores than the replay explains: replayed as it was\n",
        format_duration_ns(std::llround(delay_ns)));
  return text;
}

std::string what_if_text(const WhatIfOutcome& outcome) {
  std::string text;
  std::size_t width = 6;
  for (const Scenario& scenario : outcome.scenarios)
    width = std::max(width, text_of(scenario.prediction.changes).size());
  if (!outcome.scenarios.empty())
    text += fmt::format("\n{:<{}}  {:>12}  {:>9}  then\n", "change", width, "rate", "gain");
  for (const Scenario& scenario : outcome.scenarios) {
    const Prediction& prediction = scenario.prediction;
    text += fmt::format("{:<{}}  {:>12}  {:>9}  {}{}\n", text_of(prediction.changes), width,
                        rate_text(outcome, outcome.calibration.real_rate * prediction.gain), gain_text(prediction.gain),
                        verdict_title(prediction.replayed.verdict), confidence_of(prediction.replayed.verdict));
    if (scenario.verification) text += verification_text(scenario);
  }
  if (outcome.advised) {
    const bool found = std::any_of(outcome.scenarios.begin(), outcome.scenarios.end(),
                                   [](const Scenario& scenario) { return scenario.advised; });
    text += fmt::format("\n{} changes and pairs of changes were tried{}\n", outcome.tried,
                        found ? "." : fmt::format("; none gains {:.0f} % or more.", 100 * (kWorthwhileGain - 1)));
    for (const std::string& sentence : outcome.refused) text += sentence + ".\n";
  }
  text += "\nThis takes for granted:\n";
  for (const std::string& sentence : outcome.assumptions) text += "  " + sentence + ".\n";
  return text;
}

}  // namespace millrace::apps
