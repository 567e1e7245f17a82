#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "pipeline/environment_json.h"
#include "pipeline/experiment/comparison_json.h"
#include "pipeline/experiment/comparison_run_json.h"
#include "pipeline/experiment/experiment_spec.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kCommand = "compare";
/// Deeper nesting than any report has; the parser keeps a stack of it and a config is printed again by recursion.
constexpr int kMaxDepth = 100;

CacheMode read_cache(const ReportReader& in) {
  const std::string text = in.text("cache");
  for (const CacheMode mode : {CacheMode::cold, CacheMode::warm, CacheMode::as_is}) {
    if (text == name_of(mode)) return mode;
  }
  in.refuse("'" + in.name("cache") + "' is none of cold, warm, as-is");
}

double read_share(const ReportReader& in, const char* key) {
  const double value = in.number(key);
  if (!(value > 0 && value < 1)) in.refuse("'" + in.name(key) + "' is not between 0 and 1");
  return value;
}

ComparisonDesign read_design(const ReportReader& in) {
  ComparisonDesign design;
  design.confidence = read_share(in, "confidence");
  design.power = read_share(in, "power");
  design.equivalence_margin = read_share(in, "equivalence_margin");
  if (in.has("detect")) design.detect = read_share(in, "detect");
  design.blocks = static_cast<std::uint32_t>(in.count_below("blocks", kMaxRepeats));
  design.pilot_blocks = static_cast<std::uint32_t>(in.count_below("pilot_blocks", kMaxRepeats));
  if (design.blocks == 0) in.refuse("'" + in.name("blocks") + "' is 0");
  return design;
}

ArmReport read_arm(const ReportReader& in) {
  ArmReport arm;
  arm.label = in.text("label");
  arm.overrides = in.texts("overrides");
  std::set<std::uint32_t> blocks;
  in.each("runs", [&](const ReportReader& run) {
    arm.runs.push_back(read_run(run));
    if (!blocks.insert(arm.runs.back().block).second) run.refuse("'" + run.name("block") + "' comes twice in its arm");
  });
  return arm;
}

void read_arms(ComparisonReport& report, const ReportReader& in) {
  std::set<std::string> labels;
  in.each("arms", [&](const ReportReader& arm) {
    report.arms.push_back(read_arm(arm));
    if (!labels.insert(report.arms.back().label).second) arm.refuse("'" + arm.name("label") + "' comes twice");
  });
  // The baseline, the baseline again, and at least one to compare with it.
  if (report.arms.size() < 3 || report.arms.size() > kMaxArms + 1) in.refuse("'arms' has a number that cannot be");
}

void read_blocks(ComparisonReport& report, const ReportReader& in) {
  std::map<std::string, std::size_t> arms;
  for (std::size_t i = 0; i < report.arms.size(); ++i) arms.emplace(report.arms[i].label, i);
  for (const Json& block : in.array("blocks")) {
    std::vector<std::size_t> order;
    if (!block.is_array() || report.blocks.size() >= kMaxRepeats) in.refuse("'blocks' is no list of blocks");
    for (const Json& label : block) {
      const auto arm = label.is_string() ? arms.find(label.get<std::string>()) : arms.end();
      if (arm == arms.end()) in.refuse("'blocks' names an arm that does not exist");
      order.push_back(arm->second);
    }
    if (std::set<std::size_t>(order.begin(), order.end()).size() != arms.size() || order.size() != arms.size()) {
      in.refuse("'blocks' has a block without every arm once");
    }
    report.blocks.push_back(std::move(order));
  }
  for (const auto& arm : report.arms) {
    for (const auto& run : arm.runs) {
      if (run.block >= report.blocks.size())
        in.refuse("a run of '" + arm.label + "' is in a block that does not exist");
    }
  }
}

ComparisonReport read_comparison(const ReportReader& in) {
  if (in.text("schema") != "millrace.compare/1") {
    in.refuse("its schema is '" + in.text("schema") + "', this program reads 'millrace.compare/1'");
  }
  ComparisonReport report;
  report.name = in.text("name");
  report.started = in.text("started");
  report.config = in.text("config_file");
  report.config_sha256 = in.text("config_sha256");
  if (!in.get("config").is_object()) in.refuse("'config' is not an object");
  report.config_json = in.get("config").dump(-1, ' ', false, Json::error_handler_t::replace);
  report.command = in.texts("command");
  report.environment = read_environment(in.object("environment"));
  report.cache = read_cache(in);
  report.seed = in.count("seed");
  report.overrides = in.texts("overrides");
  const ReportReader rotate = in.object("rotate");
  report.rotate_key = rotate.text("key");
  report.rotate_files = rotate.texts("files");
  report.design = read_design(in.object("design"));
  report.ended_early = in.text("ended_early");
  report.unit = in.text("unit");
  if (report.unit != "bytes" && report.unit != "chunks") in.refuse("'unit' is neither bytes nor chunks");
  read_arms(report, in);
  read_blocks(report, in);
  return report;
}

}  // namespace

ComparisonReport comparison_from_json(const std::string& text) {
  bool too_deep = false;
  const auto guard = [&too_deep](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) too_deep = true;
    return !too_deep;
  };
  const Json json = Json::parse(text, guard, false);
  if (too_deep) refuse_report("it is nested too deeply", kCommand);
  if (json.is_discarded()) refuse_report("it is not JSON", kCommand);
  ComparisonReport report = read_comparison(ReportReader(json, "", kCommand));
  complete_comparison(report);
  return report;
}

}  // namespace millrace
