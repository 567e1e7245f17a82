#include "pipeline/experiment/comparison_json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "pipeline/environment_json.h"
#include "pipeline/experiment/comparison_run_json.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json known(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json interval_json(const ArmEffect& effect) {
  if (!effect.low || !effect.high) return {};
  return Json::array({*effect.low, *effect.high});
}

Json json_of(const ArmReport& arm) {
  Json runs = Json::array();
  for (const auto& run : arm.runs) runs.push_back(run_json(run));
  Json mechanism = mechanism_json(arm.mechanism.median);
  mechanism["who_waited"] = arm.mechanism.who_waited;
  mechanism["verdicts"] = Json::object();
  for (const auto& [verdict, count] : arm.mechanism.verdicts) mechanism["verdicts"][verdict] = count;
  mechanism["remarks"] = arm.mechanism.remarks;
  const ArmEffect& effect = arm.effect;
  return {{"label", arm.label},
          {"overrides", arm.overrides},
          {"blocks", effect.blocks},
          {"mean_ratio", effect.ratio},
          {"ci95", interval_json(effect)},
          {"p_value", known(effect.p_value)},
          {"p_holm", known(effect.p_holm)},
          {"p_claim", known(effect.p_claim)},
          {"p_exact", effect.p_exact},
          {"faster_blocks", effect.faster_blocks},
          {"slower_blocks", effect.slower_blocks},
          {"verdict", name_of(effect.verdict)},
          {"further_blocks", known(effect.further_blocks)},
          {"mechanism", std::move(mechanism)},
          {"runs", std::move(runs)}};
}

Json json_of(const ComparisonDesign& design) {
  return {
      {"confidence", design.confidence}, {"power", design.power},   {"equivalence_margin", design.equivalence_margin},
      {"detect", known(design.detect)},  {"blocks", design.blocks}, {"pilot_blocks", design.pilot_blocks}};
}

Json blocks_json(const ComparisonReport& report) {
  Json blocks = Json::array();
  for (const auto& block : report.blocks) {
    Json order = Json::array();
    for (const std::size_t arm : block) order.push_back(report.arms.at(arm).label);
    blocks.push_back(std::move(order));
  }
  return blocks;
}

Json excluded_json(const ComparisonReport& report) {
  Json excluded = Json::array();
  for (const auto& run : report.excluded) {
    excluded.push_back({{"arm", run.arm}, {"block", run.block}, {"reason", run.reason}});
  }
  return excluded;
}

}  // namespace

std::string to_json(const ComparisonReport& report) {
  Json config = Json::parse(report.config_json, nullptr, false);
  if (!config.is_object()) throw Error("the config of the comparison is no JSON object: the report cannot be written");
  Json arms = Json::array();
  for (const auto& arm : report.arms) arms.push_back(json_of(arm));
  const Json json = {{"schema", "millrace.compare/1"},
                     {"name", report.name},
                     {"status", report.status},
                     {"error", report.error},
                     {"started", report.started},
                     {"config_file", report.config},
                     {"config_sha256", report.config_sha256},
                     {"config", std::move(config)},
                     {"command", report.command},
                     {"environment", environment_json(report.environment)},
                     {"cache", name_of(report.cache)},
                     {"seed", report.seed},
                     {"overrides", report.overrides},
                     {"rotate", {{"key", report.rotate_key}, {"files", report.rotate_files}}},
                     {"design", json_of(report.design)},
                     {"ended_early", report.ended_early},
                     {"unit", report.unit},
                     {"noise_floor", known(report.noise_floor)},
                     {"minimal_detectable_ratio", known(report.minimal_detectable_ratio)},
                     {"log_sd", report.log_sd},
                     {"decided", report.decided},
                     {"blocks_planned", report.blocks_planned},
                     {"blocks_needed", known(report.blocks_needed)},
                     {"identical_output", report.identical_output},
                     {"output_difference", report.output_difference},
                     {"reading_never_limits", report.reading_never_limits},
                     {"reading_evidence", report.reading_evidence},
                     {"blocks", blocks_json(report)},
                     {"excluded", excluded_json(report)},
                     {"arms", std::move(arms)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace millrace
