#include <nlohmann/json.hpp>

#include "apps/what_if_outcome.h"
#include "pipeline/verdict.h"

namespace millrace::apps {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Verdict& verdict) {
  return {{"kind", verdict.kind},
          {"stage", verdict.stage},
          {"confidence", verdict.confidence},
          {"second", verdict.second},
          {"ceiling", verdict.ceiling > 0 ? Json(verdict.ceiling) : Json()},
          {"rule", verdict.rule}};
}

Json json_of(const Verification& seen) {
  if (!seen.unverifiable.empty()) return {{"unverifiable", seen.unverifiable}};
  return {{"base_chunks_per_s", seen.base_rates},
          {"changed_chunks_per_s", seen.changed_rates},
          {"gain", seen.gain()},
          {"lowest_gain", seen.lowest()},
          {"highest_gain", seen.highest()},
          {"verdict", seen.verdict}};
}

Json links_of(const RunReport& report) {
  Json links = Json::array();
  for (const LinkReport& link : report.links)
    links.push_back({{"from", link.from}, {"to", link.to}, {"mean_chunks", link.mean_chunks}});
  return links;
}

Json stages_of(const RunReport& report) {
  Json stages = Json::array();
  for (const StageReport& stage : report.stages) {
    const auto share = [&stage](std::int64_t ns) {
      const std::int64_t whole = stage.time.sum_ns();
      return whole > 0 ? static_cast<double>(ns) / static_cast<double>(whole) : 0.0;
    };
    stages.push_back({{"name", stage.name},
                      {"slots", stage.slots},
                      {"busy", share(stage.time.busy_ns)},
                      {"starved", share(stage.time.starved_ns)},
                      {"blocked", share(stage.time.blocked_ns)},
                      {"ready", share(stage.time.ready_ns)}});
  }
  return stages;
}

Json json_of(const WhatIfOutcome& outcome, const Scenario& scenario) {
  const Prediction& prediction = scenario.prediction;
  Json changes = Json::array();
  for (const Change& change : prediction.changes) changes.push_back(text_of(change));
  const double rate = outcome.calibration.real_rate * prediction.gain;
  return {{"changes", changes},
          {"advised", scenario.advised},
          {"predicted",
           {{"chunks_per_s", rate},
            {"bytes_per_s", rate * outcome.bytes_per_chunk},
            {"gain", prediction.gain},
            {"verdict", json_of(prediction.replayed.verdict)},
            {"stages", stages_of(prediction.replayed)},
            {"links", links_of(prediction.replayed)}}},
          {"verified", scenario.verification ? json_of(*scenario.verification) : Json()}};
}

}  // namespace

std::string what_if_json(const WhatIfOutcome& outcome) {
  const Calibration& calibration = outcome.calibration;
  Json scenarios = Json::array();
  for (const Scenario& scenario : outcome.scenarios) scenarios.push_back(json_of(outcome, scenario));
  const Json json{{"schema", "millrace.what_if/1"},
                  {"report", outcome.report_path},
                  {"recorded",
                   {{"chunks_per_s", calibration.real_rate},
                    {"bytes_per_s", calibration.real_rate * outcome.bytes_per_chunk},
                    {"verdict", json_of(outcome.recorded)}}},
                  {"replayed",
                   {{"chunks_per_s", calibration.replayed_rate},
                    {"error", calibration.error()},
                    {"trusted", calibration.trusted()},
                    {"verdict", json_of(calibration.replayed.verdict)}}},
                  {"scenarios", scenarios},
                  {"advised", outcome.advised},
                  {"tried", outcome.tried},
                  {"refused", outcome.refused},
                  {"assumptions", outcome.assumptions}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace millrace::apps
