#include "apps/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "apps/commands.h"
#include "apps/exit_code.h"
#include "apps/explain_inputs.h"
#include "apps/link_pool.h"
#include "apps/signals.h"
#include "apps/terminal.h"
#include "io/live_temporaries.h"
#include "io/output_file.h"
#include "pipeline/config.h"
#include "pipeline/experiment/ablation_outputs.h"
#include "pipeline/experiment/ladder_experiment.h"
#include "pipeline/experiment/ladder_text.h"
#include "pipeline/plan.h"

namespace millrace::apps {
namespace {

/// Checks the config with its outputs as they are named there, so that what is wrong is said in these names. Gives the
/// inputs.
std::vector<std::filesystem::path> check(const PipelineSpec& spec, const Registry& registry) {
  Plan plan = prepare(spec, registry);
  std::vector<std::filesystem::path> inputs;
  for (const auto& stage : plan.stages) {
    const auto files = stage.instances.front()->input_files();
    inputs.insert(inputs.end(), files.begin(), files.end());
    if (stage.role != Role::sink) continue;
    for (const auto& instance : stage.instances) dynamic_cast<Sink&>(*instance).abandon();
  }
  return inputs;
}

std::unique_ptr<io::OutputFile> open_json(const std::filesystem::path& path) {
  if (path.empty()) return nullptr;
  try {
    return std::make_unique<io::OutputFile>(path, io::WriteVia{});
  } catch (Error& error) {
    error.of_kind(ErrorKind::config);
    throw;
  }
}

/// On a terminal only: one line that is written over.
void show_progress(const std::string& what) {
  if (is_terminal(Stream::error)) print_error_stream(fmt::format("\r{:<78}", what.empty() ? "" : "explain: " + what));
}

int finish(const LadderOutcome& outcome, io::OutputFile* json) {
  if (!outcome.failure.empty()) {
    print_error(outcome.failure);
    if (!outcome.stuck.empty())
      print_error(fmt::format("did not come back from its call: {}", fmt::join(outcome.stuck, ", ")));
    return kRunFailed;
  }
  if (outcome.ladder.rungs.empty()) return kInterrupted;
  if (json != nullptr) {
    json->append(to_json(outcome.ladder) + "\n");
    json->publish();
  }
  print(to_text(outcome.ladder));
  return outcome.ladder.interrupted ? kInterrupted : kDone;
}

/// Threads of a stuck stage use what a normal end would destroy: nothing may run after this but the kernel.
[[noreturn]] void end_at_once(int code) {
  io::remove_live_temporaries();
  std::_Exit(code);
}

}  // namespace

int explain_command(const ExplainArguments& arguments) {
  if (arguments.repeats == 0) throw config_error("--repeats must be at least 1");
  if (arguments.seconds == 0) throw config_error("--seconds must be at least 1");
  const Registry registry = make_registry(arguments.plugins);
  PipelineSpec spec = load_config(arguments.config, arguments.overrides);
  const auto json = open_json(arguments.json);
  RunControl control;
  const SignalsToRun signals(control);

  const InputsKept inputs(check(spec, registry), arguments.cache);
  const AsideOutputs outputs(spec, registry, std::to_string(::getpid()));
  LadderSettings settings;
  settings.make_plan = [&] {
    Plan plan = prepare(spec, registry);
    outputs.protect(plan);
    return plan;
  };
  settings.before_run = [&] { return inputs.restore(); };
  settings.after_run = [](const RunReport& report) { AsideOutputs::remove(report); };
  settings.on_progress = show_progress;
  settings.make_pool = make_link_pool;
  settings.control = &control;
  settings.repeats = arguments.repeats;
  settings.limit_ns = static_cast<std::int64_t>(arguments.seconds) * 1'000'000'000;
  settings.seed = arguments.seed;
  LadderOutcome outcome = run_ladder(settings);
  outcome.ladder.cache = inputs.text();
  show_progress("");
  if (is_terminal(Stream::error)) print_error_stream("\r");
  if (outcome.stuck.empty()) return finish(outcome, json.get());
  int code = kRunFailed;
  try {
    code = finish(outcome, json.get());
  } catch (const std::exception& failure) {
    print_error(failure.what());
  }
  end_at_once(code);
}

}  // namespace millrace::apps
