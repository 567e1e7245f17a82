#include "apps/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <chrono>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "apps/child_run.h"
#include "apps/commands.h"
#include "apps/compare_identity.h"
#include "apps/compare_merge.h"
#include "apps/environment.h"
#include "apps/exit_code.h"
#include "apps/experiment_check.h"
#include "apps/input_state.h"
#include "apps/interruption.h"
#include "apps/output_hash.h"
#include "apps/terminal.h"
#include "io/output_file.h"
#include "pipeline/config.h"
#include "pipeline/experiment/comparison_html.h"
#include "pipeline/experiment/comparison_json.h"
#include "pipeline/experiment/comparison_text.h"
#include "pipeline/experiment/journal.h"
#include "pipeline/experiment/run_facts.h"
#include "pipeline/experiment/schedule.h"

namespace millrace::apps {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kMib = 1ULL << 20;

/// ISO 8601, UTC.
std::string now_as_text() {
  const std::time_t now = std::time(nullptr);
  std::tm fields{};
  ::gmtime_r(&now, &fields);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &fields)};
}

/// Made before the first run, so that a directory that is not there is told at once and not after hours.
std::unique_ptr<io::OutputFile> open_output(const fs::path& path) {
  if (path.empty()) return nullptr;
  try {
    return std::make_unique<io::OutputFile>(path, io::WriteVia{});
  } catch (Error& error) {
    error.of_kind(ErrorKind::config);
    throw;
  }
}

void write_output(const std::unique_ptr<io::OutputFile>& file, const std::string& text) {
  if (file == nullptr) return;
  file->append(text);
  file->publish();
}

/// A line that is written over on a terminal, else a line for each run.
class RunLog {
 public:
  explicit RunLog(ProgressMode mode)
      : rewritten_(mode == ProgressMode::automatic && is_terminal(Stream::error)), shown_(mode != ProgressMode::off) {}
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;
  ~RunLog() { clear(); }

  void begins(const std::string& what) {
    if (!rewritten_) return;
    const std::size_t columns = terminal_columns() - 1;
    print_error_stream(fmt::format("\r{:<{}}", what.substr(0, columns), columns));
    open_ = true;
  }
  void ended(const std::string& what) const {
    if (shown_ && !rewritten_) print_notice(what);
  }
  void notice(const std::string& what) {
    clear();
    print_notice(what);
  }

  /// Takes the rewritten line away.
  void clear() {
    if (open_) print_error_stream(fmt::format("\r{:<{}}\r", "", terminal_columns() - 1));
    open_ = false;
  }

 private:
  const bool rewritten_;
  const bool shown_;
  bool open_ = false;
};

/// The user's signal, on its way out of the loops.
struct Interrupted {};

/// One experiment from its first run, or from where a journal left it, to its report.
class ExperimentRunner {
 public:
  ExperimentRunner(const CompareArguments& arguments, ExperimentSpec experiment, CheckedExperiment checked)
      : arguments_(arguments),
        experiment_(std::move(experiment)),
        checked_(std::move(checked)),
        config_sha256_(sha256_of_file(arguments.config)),
        log_(arguments.progress) {}

  int run() {
    const auto inputs = checked_.all_inputs();
    const CacheMode cache = experiment_.cache.value_or(usual_mode(inputs));
    require_possible(cache, inputs);
    const auto report_file = open_output(arguments_.report);
    const auto page_file = open_output(arguments_.html);
    begin_report(cache, inputs);
    open_journal(inputs);
    try {
      run_blocks();
    } catch (const Interrupted&) {
      log_.notice(how_to_go_on());
      return kInterrupted;
    }
    complete_comparison(report_);
    report_.environment = describe_environment(all_paths(inputs));
    write_output(report_file, to_json(report_));
    if (page_file != nullptr) write_output(page_file, to_html(report_));
    log_.clear();
    print(to_text(report_));
    if (journal_) journal_->remove();
    if (report_.status == "ok") return kDone;
    print_error(report_.error);
    return kRunFailed;
  }

 private:
  void begin_report(CacheMode cache, const std::vector<fs::path>& inputs) {
    report_.name = checked_.name;
    report_.config = arguments_.config.string();
    report_.config_sha256 = config_sha256_;
    report_.config_json = checked_.config_json;
    report_.command = arguments_.command;
    report_.started = now_as_text();
    report_.environment = describe_environment(inputs);
    report_.cache = cache;
    report_.seed = experiment_.seed;
    report_.overrides = arguments_.overrides;
    report_.rotate_key = experiment_.rotate_key;
    for (const auto& file : experiment_.rotate_files) report_.rotate_files.push_back(file.shown);
    report_.design = experiment_.design;
    for (const auto& arm : experiment_.arms) report_.arms.push_back({arm.label, arm.overrides, {}, {}, {}});
  }

  void open_journal(const std::vector<fs::path>& inputs) {
    fs::path path = arguments_.journal;
    if (path.empty() && !arguments_.report.empty()) path = arguments_.report.string() + ".journal";
    if (path.empty()) return;
    journal_.emplace(path, identity_of(report_, arguments_.plugins, inputs));
    if (journal_->kept().empty()) return;
    const std::size_t next = journal_->kept().size() / experiment_.arms.size();
    log_.notice(fmt::format("continues at repeat {} of {}, with {} runs of {}", next + 1, experiment_.design.blocks,
                            journal_->kept().size(), path.string()));
  }

  void run_blocks() {
    for (std::uint32_t block = 0; block < experiment_.design.blocks; ++block) {
      if (is_out_of_time(block)) return;
      report_.blocks.push_back(block_order(experiment_.seed, block, experiment_.arms.size()));
      for (std::uint32_t place = 0; place < experiment_.arms.size(); ++place) {
        if (!run_next(block, place)) return;
      }
      if (experiment_.design.detect && is_decided(block + 1)) return;
    }
  }

  /// False when the experiment has failed and there is nothing more to find out.
  bool run_next(std::uint32_t block, std::uint32_t place) {
    const std::size_t arm = report_.blocks[block][place];
    const std::uint64_t number = std::uint64_t{block} * experiment_.arms.size() + place;
    ComparisonRun run;
    if (journal_ && number < journal_->kept().size()) {
      const JournalEntry& kept = journal_->kept()[number];
      if (kept.arm != arm || kept.run.block != block || kept.run.order != place) {
        throw config_error("does not have the runs in the order of the experiment").at_path(journal_->path());
      }
      run = kept.run;
    } else {
      log_.begins(fmt::format("compare: repeat {} of {}, run {} of {}: {}", block + 1, experiment_.design.blocks,
                              place + 1, experiment_.arms.size(), experiment_.arms[arm].label));
      try {
        run = run_once(arm, number);
      } catch (const Error& error) {
        throw Error(fmt::format("arm '{}', repeat {}: {}", experiment_.arms[arm].label, block + 1, error.what()));
      }
      run.block = block;
      run.order = place;
      if (journal_) journal_->add(arm, run);
      say_ended(arm, run);
    }
    report_.arms[arm].runs.push_back(run);
    report_.unit = counts_bytes(run) ? "bytes" : "chunks";
    const auto [first, added] = first_runs_.try_emplace(run.input, run);
    return added || difference_of(first->second, run).empty();
  }

  ComparisonRun run_once(std::size_t arm, std::uint64_t number) {
    const auto begin = Clock::now();
    if (sha256_of_file(arguments_.config) != config_sha256_) {
      throw Error("the config has changed since the comparison began");
    }
    const auto& inputs = checked_.inputs_of(arm, number);
    const InputState before = bring_inputs_to(report_.cache, inputs, interruption_);
    if (interruption_.requested()) throw Interrupted{};
    ComparisonRun run = facts_of(child_report(arm, number));
    if (run.rate <= 0) throw Error("the sources delivered nothing, so there is no rate to compare");
    const InputState at_read = judged(report_.cache, run.cache_resident_at_read, "when the run began to read");
    run.input = experiment_.input_of(number);
    run.cache_resident_before = before.resident;
    run.reason = before.problem.empty() && !inputs.empty() ? at_read.problem : before.problem;
    run.excluded = !run.reason.empty();
    add_outputs(run);
    run.spent_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
    return run;
  }

  RunReport child_report(std::size_t arm, std::uint64_t number) {
    ChildRunArguments child{arguments_.config, arguments_.overrides, arguments_.plugins,
                            report_.cache == CacheMode::cold};
    for (auto& change : experiment_.overrides_of(arm, number)) child.overrides.push_back(std::move(change));
    ChildRunResult result = ChildRun(child, scratch_.path()).wait(interruption_);
    if (result.interrupted) throw Interrupted{};
    if (result.exit_code != kDone) throw Error(result.error);
    if (!result.report) throw Error("the run left no report");
    outputs_.clear();
    for (const auto& output : result.report->outputs) outputs_.emplace_back(output.path);
    return std::move(*result.report);
  }

  void add_outputs(ComparisonRun& run) {
    sync_file_systems_of(outputs_);
    for (const auto& path : outputs_) {
      if (interruption_.requested()) throw Interrupted{};
      run.outputs.push_back({path.string(), fs::file_size(path), sha256_of_file(path)});
    }
  }

  bool is_out_of_time(std::uint32_t block) {
    if (!experiment_.max_time || block == 0) return false;
    std::chrono::nanoseconds spent{0};
    for (const auto& arm : report_.arms) {
      for (const auto& run : arm.runs) spent += std::chrono::nanoseconds(run.spent_ns);
    }
    if (spent + spent / block <= *experiment_.max_time) return false;
    report_.ended_early = fmt::format("after {} of {} repeats, because another would not end within --max-time {}",
                                      block, experiment_.design.blocks, spell_duration(*experiment_.max_time));
    return true;
  }

  /// Also says what is planned, after the pilot.
  bool is_decided(std::uint32_t blocks) {
    const ComparisonDesign& design = experiment_.design;
    if (blocks < design.pilot_blocks) return false;
    const Comparison now = compare(rates_of(report_), design);
    if (blocks == design.pilot_blocks && !now.decided) {
      const double effect = *design.detect * 100;
      if (now.blocks_needed && *now.blocks_needed > design.blocks) {
        log_.notice(fmt::format("after {} repeats: an effect of {:.3g} % takes {} at this noise; only {} are allowed",
                                blocks, effect, *now.blocks_needed, design.blocks));
      } else {
        log_.notice(fmt::format("after {} repeats: {} are planned, to find an effect of {:.3g} % at this noise", blocks,
                                now.blocks_planned, effect));
      }
    }
    return now.decided;
  }

  void say_ended(std::size_t arm, const ComparisonRun& run) const {
    const bool bytes = counts_bytes(run);
    log_.ended(fmt::format("repeat {} of {}: {}: {:.4g} {}{}", run.block + 1, experiment_.design.blocks,
                           experiment_.arms[arm].label, bytes ? run.rate / kMib : run.rate,
                           bytes ? "MiB/s" : "chunks/s", run.excluded ? ", left out: " + run.reason : ""));
  }

  std::string how_to_go_on() const {
    const std::string where =
        fmt::format("interrupted in repeat {} of {}", report_.blocks.size(), experiment_.design.blocks);
    return journal_ ? fmt::format("{}; the same command goes on from there ({} keeps the runs)", where,
                                  journal_->path().string())
                    : where + "; nothing was kept (--report or --journal would)";
  }

  std::vector<fs::path> all_paths(const std::vector<fs::path>& inputs) const {
    std::vector<fs::path> paths = inputs;
    for (const auto& arm : report_.arms) {
      if (arm.runs.empty()) continue;
      for (const auto& output : arm.runs.front().outputs) paths.emplace_back(output.path);
    }
    return paths;
  }

  const CompareArguments& arguments_;
  const ExperimentSpec experiment_;
  const CheckedExperiment checked_;
  const std::string config_sha256_;
  ComparisonReport report_;
  std::optional<Journal> journal_;
  std::map<std::string, ComparisonRun> first_runs_;  // by input: what the outputs of the others are held against
  std::vector<fs::path> outputs_;                    // of the last run
  ScratchDirectory scratch_;
  Interruption interruption_;
  RunLog log_;
};

}  // namespace

int compare_command(const CompareArguments& arguments) {
  if (!arguments.merge.empty()) return merge_command(arguments.merge);
  if (arguments.config.empty()) throw config_error("compare needs a CONFIG, or --merge with reports");
  std::error_code failure;
  if (fs::exists(arguments.config, failure) && !fs::is_regular_file(arguments.config, failure)) {
    throw config_error("every run reads the config again, so it must be a file").at_path(arguments.config);
  }
  const Registry registry = make_registry(arguments.plugins);
  load_config(arguments.config, arguments.overrides);  // for its mistakes, which no arm has made
  ExperimentSpec experiment = make_experiment(arguments.request, load_experiment(arguments.config));
  CheckedExperiment checked = check_experiment(arguments.config, arguments.overrides, experiment, registry);
  return ExperimentRunner(arguments, std::move(experiment), std::move(checked)).run();
}

}  // namespace millrace::apps
