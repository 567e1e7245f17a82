#include "apps/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "apps/commands.h"
#include "apps/exit_code.h"
#include "apps/link_pool.h"
#include "apps/load_report.h"
#include "apps/signals.h"
#include "apps/terminal.h"
#include "apps/what_if_outcome.h"
#include "io/output_file.h"
#include "pipeline/complete_report.h"
#include "pipeline/config.h"
#include "pipeline/plan.h"
#include "pipeline/run.h"
#include "pipeline/verdict.h"

namespace millrace::apps {
namespace {

/// So many of what --advise finds are worth a line.
constexpr std::size_t kAdviceShown = 5;

double bytes_per_chunk(const RunReport& report) {
  double bytes = 0;
  double chunks = 0;
  for (const StageReport& stage : report.stages) {
    if (stage.role != Role::source) continue;
    bytes += static_cast<double>(stage.bytes_out);
    chunks += static_cast<double>(stage.chunks_out);
  }
  return chunks > 0 ? bytes / chunks : 0;
}

/// Runs the recorded config again, in this process.
class Rerun {
 public:
  explicit Rerun(const RunReport& report) : report_(report), signals_(control_) {
    if (report.config_file.empty())
      throw config_error("--verify: the report does not say which config it ran; record the run again");
    registry_ = std::make_unique<Registry>(make_registry({report.plugins.begin(), report.plugins.end()}));
    if (load_config(report.config_file, report.overrides).json != report.config_json)
      throw config_error(fmt::format("--verify: the config is not the one that was recorded any more; record it again"))
          .at_path(report.config_file);
  }

  /// Completed report of a run with `changes` on top. Error when it does not come to its end.
  RunReport run_with(const std::vector<std::string>& changes) {
    std::vector<std::string> overrides = report_.overrides;
    overrides.insert(overrides.end(), changes.begin(), changes.end());
    RunSettings settings;
    settings.make_pool = make_link_pool;
    settings.control = &control_;
    RunOutcome outcome = run(prepare(load_config(report_.config_file, overrides), *registry_), settings);
    complete_report(outcome.report);
    if (outcome.report.status == "ok") return std::move(outcome.report);
    if (outcome.report.status == "interrupted") throw Error("--verify was interrupted");
    throw Error(fmt::format("--verify: the run {}: {}", outcome.report.status, outcome.report.error));
  }

 private:
  const RunReport& report_;
  RunControl control_;
  SignalsToRun signals_;
  std::unique_ptr<Registry> registry_;
};

Verification verify(Rerun& rerun, const RunReport& report, const std::vector<Change>& changes, std::uint32_t repeats) {
  Verification result;
  std::vector<std::string> overrides;
  for (const Change& change : changes) {
    std::string why;
    const auto more = overrides_of(change, report.config_json, why);
    if (!why.empty()) {
      result.unverifiable = why;
      return result;
    }
    overrides.insert(overrides.end(), more.begin(), more.end());
  }
  for (std::uint32_t repeat = 0; repeat < repeats; ++repeat) {
    // Turn and turn about, so that a drift of the machine favours neither.
    const bool base_first = repeat % 2 == 0;
    if (base_first) result.base_rates.push_back(chunk_rate(rerun.run_with({})));
    const RunReport changed = rerun.run_with(overrides);
    result.changed_rates.push_back(chunk_rate(changed));
    result.verdict = verdict_key(changed.verdict);
    if (!base_first) result.base_rates.push_back(chunk_rate(rerun.run_with({})));
  }
  return result;
}

void add_advice(WhatIfOutcome& outcome) {
  Advice advice = advise(outcome.calibration, outcome.recorded);
  outcome.advised = true;
  outcome.refused = std::move(advice.refused);
  outcome.tried = advice.tried;
  if (advice.worth.size() > kAdviceShown) advice.worth.resize(kAdviceShown);
  for (Prediction& prediction : advice.worth) outcome.scenarios.push_back({std::move(prediction), true, std::nullopt});
}

void write_json(const std::filesystem::path& path, const WhatIfOutcome& outcome) {
  if (path.empty()) return;
  io::OutputFile file(path, io::WriteVia{});
  file.append(what_if_json(outcome));
  file.publish();
}

}  // namespace

int what_if_command(const WhatIfArguments& arguments) {
  if (arguments.scenarios.empty() && !arguments.advise)
    throw config_error("explain RUN.json needs --what-if CHANGES or --advise");
  if (arguments.repeats == 0) throw config_error("--repeats must be at least 1");
  std::vector<std::vector<Change>> asked;
  for (const std::string& text : arguments.scenarios) asked.push_back(parse_changes(text));
  const RunReport report = load_report(arguments.report);

  WhatIfOutcome outcome;
  outcome.report_path = arguments.report.string();
  outcome.bytes_per_chunk = bytes_per_chunk(report);
  outcome.recorded = report.verdict;
  outcome.calibration = calibrate(report);
  print(calibration_text(outcome));
  if (!outcome.calibration.trusted() && !arguments.force) {
    print_error(
        fmt::format("the replay with nothing changed is {:+.1f} % off the run, more than {:.0f} %: what it says "
                    "of a change would be worth nothing (--force prints it all the same)",
                    100 * outcome.calibration.error(), 100 * kMaxReplayError));
    write_json(arguments.json, outcome);
    return kRunFailed;
  }
  for (const auto& changes : asked)
    outcome.scenarios.push_back({predict(outcome.calibration, changes), false, std::nullopt});
  if (arguments.advise) add_advice(outcome);
  std::vector<Change> all;
  for (const Scenario& scenario : outcome.scenarios)
    all.insert(all.end(), scenario.prediction.changes.begin(), scenario.prediction.changes.end());
  outcome.assumptions = assumptions(outcome.calibration, all);
  if (arguments.verify) {
    Rerun rerun(report);
    for (Scenario& scenario : outcome.scenarios)
      scenario.verification = verify(rerun, report, scenario.prediction.changes, arguments.repeats);
  }
  print(what_if_text(outcome));
  write_json(arguments.json, outcome);
  return kDone;
}

}  // namespace millrace::apps
