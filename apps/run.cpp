#include "pipeline/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "apps/commands.h"
#include "apps/environment.h"
#include "apps/exit_code.h"
#include "apps/link_pool.h"
#include "apps/report_output.h"
#include "apps/signals.h"
#include "apps/terminal.h"
#include "io/live_temporaries.h"
#include "io/output_file.h"
#include "io/page_cache.h"
#include "pipeline/complete_report.h"
#include "pipeline/config.h"
#include "pipeline/report_html.h"
#include "pipeline/report_json.h"

namespace millrace::apps {
namespace {

using Paths = std::vector<std::filesystem::path>;

/// The file of --report or --html. Made before the run, so that a directory that is not there is told at once and not
/// after hours.
std::unique_ptr<io::OutputFile> open_report(const std::filesystem::path& path) {
  if (path.empty()) return nullptr;
  try {
    return std::make_unique<io::OutputFile>(path, io::WriteVia{});
  } catch (Error& error) {
    error.of_kind(ErrorKind::config);
    throw;
  }
}

Paths input_files(const Plan& plan) {
  Paths result;
  for (const auto& stage : plan.stages) {
    const auto files = stage.instances.front()->input_files();
    result.insert(result.end(), files.begin(), files.end());
  }
  return result;
}

RunOutcome run_shown(Plan plan, RunControl& control, const RunArguments& arguments) {
  ProgressDisplay display(arguments.progress);
  RunSettings settings;
  settings.make_pool = make_link_pool;
  settings.control = &control;
  settings.record = arguments.record;
  settings.on_progress = [&display](const Progress& progress) { display.update(progress); };
  settings.on_notice = [&display](const std::string& message) { display.notice(message); };
  return run(std::move(plan), settings);
}

/// What is known of the inputs before the run begins.
struct Before {
  explicit Before(const Paths& inputs)
      : cache(look_at_cache(inputs)), device_bytes(counts_device_bytes(inputs) ? device_bytes_read() : -1) {}
  InputCache cache;
  std::int64_t device_bytes;
};

void add_cache(RunOutcome& outcome, const Before& before, const Paths& inputs) {
  auto& cache = outcome.report.cache;
  if (before.device_bytes >= 0) cache.device_bytes = device_bytes_read() - before.device_bytes;
  cache.input_bytes = before.cache.bytes;
  cache.resident_before_fraction = before.cache.resident_fraction;
  cache.in_memory = before.cache.in_memory;
  // Where a stage hangs on the device of an input, whoever opened that again would hang with it.
  if (outcome.stuck.empty()) cache.resident_after_fraction = look_at_cache(inputs).resident_fraction;
}

/// After the plan is made, because that may read an index. What stays is in the report, as what was cached before.
void evict_inputs(const Paths& inputs) {
  for (const auto& input : inputs) io::evict(input);
}

void add_surroundings(RunReport& report, const RunArguments& arguments, const Paths& inputs) {
  report.command = arguments.command;
  report.config_file = std::filesystem::absolute(arguments.config).lexically_normal().string();
  report.overrides = arguments.overrides;
  for (const auto& plugin : arguments.plugins) report.plugins.push_back(std::filesystem::absolute(plugin).string());
  Paths paths = inputs;
  for (const auto& output : report.outputs) paths.emplace_back(output.path);
  report.environment = describe_environment(paths);
}

/// ISO 8601, UTC, as RunReport::started.
std::string now_as_text() {
  const std::time_t now = std::time(nullptr);
  std::tm fields{};
  ::gmtime_r(&now, &fields);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &fields)};
}

/// The report of a run that could not begin, so that whoever waits for the file gets one.
RunReport report_of_failure(const PipelineSpec& spec, const Error& error) {
  RunReport report;
  report.name = spec.name;
  report.status = "failed";
  report.error = error.what();
  report.config_json = spec.json;
  report.threads = spec.threads;
  report.memory.budget_bytes = spec.memory.count;
  report.started = now_as_text();
  return report;
}

struct ReportFiles {
  std::unique_ptr<io::OutputFile> json;
  std::unique_ptr<io::OutputFile> html;
};

void write_report(const ReportFiles& files, const RunReport& report) {
  if (files.json != nullptr) {
    files.json->append(to_json(report) + "\n");
    files.json->publish();
  }
  if (files.html != nullptr) {
    files.html->append(to_html(report));
    files.html->publish();
  }
}

int exit_code_of(const RunReport& report, std::uint64_t loss_budget_chunks) {
  if (report.status == "failed") return kRunFailed;
  if (report.status == "stalled") return kStalled;
  if (report.status == "interrupted") return kInterrupted;
  return report.loss.dropped_chunks() > loss_budget_chunks ? kLossExceeded : kDone;
}

/// What a person must know beyond the report, one line each.
void print_remarks(const RunReport& report, const std::vector<std::string>& stuck, std::uint64_t loss_budget_chunks) {
  if (report.status == "ok" && report.loss.dropped_chunks() > loss_budget_chunks) {
    print_error(
        fmt::format("{} chunks were dropped, the loss budget is {}", report.loss.dropped_chunks(), loss_budget_chunks));
  }
  if (!report.error.empty()) print_error(report.error);
  if (!stuck.empty()) print_error(fmt::format("did not come back from its call: {}", fmt::join(stuck, ", ")));
}

int finish(RunOutcome& outcome, const RunArguments& arguments, const ReportFiles& report_files,
           std::uint64_t loss_budget_chunks) {
  RunReport& report = outcome.report;
  complete_report(report);
  write_report(report_files, report);
  print(text_of(report, arguments.explain));
  print_remarks(report, outcome.stuck, loss_budget_chunks);
  return exit_code_of(report, loss_budget_chunks);
}

/// Threads of a stuck stage use what a normal end would destroy: nothing may run after this but the kernel.
[[noreturn]] void end_at_once(int code) {
  io::remove_live_temporaries();
  std::_Exit(code);
}

}  // namespace

int run_command(const RunArguments& arguments) {
  const Registry registry = make_registry(arguments.plugins);
  const PipelineSpec spec = load_config(arguments.config, arguments.overrides);
  const ReportFiles report_files{open_report(arguments.report), open_report(arguments.html)};
  RunControl control;
  const SignalsToRun signals(control);

  std::optional<Plan> plan;
  try {
    plan = prepare(spec, registry);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::run) {
      RunReport report = report_of_failure(spec, error);
      add_surroundings(report, arguments, {});
      write_report(report_files, report);
    }
    throw;
  }

  const Paths inputs = input_files(*plan);
  if (arguments.evict) evict_inputs(inputs);
  const Before before(inputs);
  RunOutcome outcome = run_shown(std::move(*plan), control, arguments);
  add_cache(outcome, before, inputs);
  outcome.report.cache.evicted = arguments.evict;
  add_surroundings(outcome.report, arguments, inputs);
  int code = kRunFailed;
  try {
    code = finish(outcome, arguments, report_files, spec.loss_budget_chunks);
  } catch (const std::exception& failure) {
    if (outcome.stuck.empty()) throw;
    print_error(failure.what());
  }
  if (!outcome.stuck.empty()) end_at_once(code);
  return code;
}

}  // namespace millrace::apps
