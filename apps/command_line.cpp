#include "apps/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "apps/bench_io.h"
#include "apps/bench_link.h"
#include "apps/commands.h"
#include "apps/compare.h"
#include "apps/exit_code.h"
#include "apps/explain.h"
#include "apps/inspect.h"
#include "apps/terminal.h"
#include "apps/version.h"
#include "apps/what_if.h"
#include "pipeline/core/error.h"
#include "pipeline/core/registry.h"
#include "pipeline/core/units.h"
#include "pipeline/report_difference.h"

namespace millrace::apps {
namespace {

constexpr const char* kDescription = "Runs streaming pipelines and says what they wait for.";
constexpr const char* kFooter =
    "Example:\n"
    "  millrace check configs/quickstart.toml\n"
    "  millrace run configs/quickstart.toml --report run.json\n"
    "\n"
    "Exit codes: 0 done, 1 run failed, 2 usage or config error, 3 more chunks dropped than allowed,\n"
    "4 stalled, 130 interrupted. `millrace COMMAND --help` says more about a command.";

/// What the chosen command will do; set by CLI11 when it meets the command.
using Action = std::function<int()>;

/// An option that may be repeated and takes one value each time, so that it never swallows what comes after it.
template <typename T>
void add_repeatable(CLI::App& command, const std::string& name, std::vector<T>& values, const std::string& help) {
  command.add_option(name, values, help)->allow_extra_args(false)->type_name("TEXT");
}

void add_overrides(CLI::App& command, std::vector<std::string>& overrides) {
  add_repeatable(command, "--set", overrides, "Override a key of the config: stage.key=value or pipeline.key=value");
}

void add_plugins(CLI::App& command, std::vector<std::filesystem::path>& plugins) {
  add_repeatable(command, "--plugin", plugins, "Load stages from a shared object");
}

/// CLI11 alone would take -3 for 2^64 - 3.
std::string refuse_negative(const std::string& text) {
  return text.starts_with("-") ? "a number from 0, not " + text : std::string();
}

/// A whole number from 0, with its default in the help.
template <typename T>
void add_count(CLI::App& command, const std::string& name, T& value, const std::string& help) {
  command.add_option(name, value, help)->capture_default_str()->check(refuse_negative)->type_name("N");
}

/// The same without a default.
template <typename T>
void add_count(CLI::App& command, const std::string& name, std::optional<T>& value, const std::string& help) {
  command
      .add_option_function<T>(
          name, [&value](const T& number) { value = number; }, help)
      ->check(refuse_negative)
      ->type_name("N");
}

constexpr const char* kSetFooter =
    "--set and --plugin may be repeated. A value of --set is TOML when it parses as TOML, else text; paths in it "
    "start\n"
    "at the config's directory, like those in the config.\n";

void add_size(CLI::App& command, const std::string& name, std::uint64_t& bytes, const std::string& help) {
  command
      .add_option_function<std::string>(
          name,
          [&bytes, name](const std::string& text) {
            const auto parsed = parse_bytes(text);
            if (!parsed) throw CLI::ValidationError(name, "a size with its unit, like 200MiB, not '" + text + "'");
            bytes = parsed->count;
          },
          help)
      ->type_name("SIZE");
}

void add_progress(CLI::App& command, ProgressMode& mode, const std::string& help) {
  const std::vector<std::pair<std::string, ProgressMode>> modes{
      {"auto", ProgressMode::automatic}, {"plain", ProgressMode::plain}, {"off", ProgressMode::off}};
  command
      .add_option_function<std::string>(
          "--progress",
          [&mode, modes](const std::string& text) {
            for (const auto& [name, value] : modes) {
              if (name == text) mode = value;
            }
          },
          help)
      ->check(CLI::IsMember({"auto", "plain", "off"}))
      ->type_name("MODE");
}

void add_run(CLI::App& app, Action& action, const std::vector<std::string>& command_line) {
  CLI::App& command = *app.add_subcommand("run", "Run a pipeline and report what its stages waited for");
  command.footer(
      std::string("Example:\n"
                  "  millrace run configs/quickstart.toml --set decode.slots=2 --report run.json\n"
                  "\n") +
      kSetFooter +
      "\n"
      "Standard output gets the report, standard error progress and errors. The first SIGINT or SIGTERM stops the\n"
      "sources and finishes what is in flight, the second stops at once, the third ends the process.");
  const auto arguments = std::make_shared<RunArguments>();
  arguments->command = command_line;
  command.add_option("CONFIG", arguments->config, "The pipeline, a TOML file")->required()->type_name("");
  add_overrides(command, arguments->overrides);
  command.add_option("--report", arguments->report, "Write the report to this file, as JSON")->type_name("FILE");
  command.add_option("--html", arguments->html, "Write it to this file, as a page for a browser")->type_name("FILE");
  add_plugins(command, arguments->plugins);
  add_progress(command, arguments->progress,
               "auto (one line on a terminal, else plain), plain (a line every few seconds), off");
  command.add_flag("--evict", arguments->evict, "Let the page cache forget the inputs first, for a cold run");
  command.add_flag("--explain", arguments->explain, "Print the rule behind the verdict, with its thresholds");
  command.add_flag("--record", arguments->record,
                   "Keep every turn of every stage in the report, for `millrace explain`");
  command.callback([arguments, &action] {
    if (arguments->record && arguments->report.empty())
      throw CLI::ValidationError("--record", "the record is part of the report: give --report too");
    action = [arguments] { return run_command(*arguments); };
  });
}

void add_check(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("check", "Show what a run would do, without running it");
  command.footer(
      std::string("Example:\n"
                  "  millrace check configs/quickstart.toml --set pipeline.memory=\"1 GiB\"\n"
                  "\n") +
      kSetFooter +
      "\n"
      "Prints the stages, the types on the links, what the inputs hold and the sum of the memory. Exit code 0 or 2.");
  const auto arguments = std::make_shared<CheckArguments>();
  command.add_option("CONFIG", arguments->config, "The pipeline, a TOML file")->required()->type_name("");
  add_overrides(command, arguments->overrides);
  add_plugins(command, arguments->plugins);
  command.callback([arguments, &action] { action = [arguments] { return check_command(*arguments); }; });
}

void add_compare(CLI::App& app, Action& action, const std::vector<std::string>& command_line) {
  CLI::App& command = *app.add_subcommand("compare", "Find out by experiment which settings make a pipeline faster");
  command.footer(
      std::string(
          "Example:\n"
          "  millrace compare configs/experiments/advice.toml --vary read.via.advice=none,sequential,willneed\n"
          "  millrace compare configs/experiments/prefetch.toml --report prefetch.json\n"
          "\n"
          "Every repeat runs every setting once, in another order, and the first one (the baseline) twice. Each "
          "run is a\n"
          "process of its own; with --cache cold its inputs are evicted before it, and looked at. The outputs "
          "of all runs\n"
          "must be the same. What --vary and the others say can also stand in the config, as [experiment].\n"
          "\n") +
      kSetFooter +
      "\n"
      "Exit codes: 0 done, also when nothing was decided; 1 a run failed or outputs differ; 2 usage or config error;\n"
      "130 interrupted: the same command goes on where it was, if there is a journal.");
  const auto arguments = std::make_shared<CompareArguments>();
  arguments->command = command_line;
  ExperimentRequest& request = arguments->request;
  command.add_option("CONFIG", arguments->config, "The pipeline, a TOML file")->type_name("");
  add_repeatable(command, "--vary", request.vary,
                 "stage.key=a,b,c: compare these values; several make all combinations");
  add_overrides(command, arguments->overrides);
  add_plugins(command, arguments->plugins);
  add_count(command, "--repeats", request.repeats, "Runs of each setting, default 6");
  command.add_option("--cache", request.cache, "cold (default for files on a device), warm, as-is")->type_name("STATE");
  command.add_option("--rotate", request.rotate, "stage.key=f1,f2: every run takes the next of these files")
      ->type_name("TEXT");
  command.add_option("--detect", request.detect, "Instead of --repeats: until an effect of this size would be found")
      ->type_name("SHARE");
  add_count(command, "--max-repeats", request.max_repeats, "With --detect: at most, default 40");
  command.add_option("--max-time", request.max_time, "Begin no repeat that would end later, like \"10 min\"")
      ->type_name("TIME");
  add_count(command, "--seed", request.seed, "Seed of the order, default 1");
  command.add_option("--report", arguments->report, "Write the result to this file, as JSON")->type_name("FILE");
  command.add_option("--html", arguments->html, "Write the result to this file, as a page for a browser")
      ->type_name("FILE");
  command.add_option("--journal", arguments->journal, "Keep the runs here until the end; default: REPORT.journal")
      ->type_name("FILE");
  command
      .add_option("--merge", arguments->merge, "In place of CONFIG: reports of one experiment from several machines")
      ->type_name("FILE...");
  add_progress(command, arguments->progress, "auto (one line on a terminal, else plain), plain (a line a run), off");
  command.callback([arguments, &action] { action = [arguments] { return compare_command(*arguments); }; });
}

void add_stages(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("stages", "List the stages, or the options of one");
  command.footer("Example:\n  millrace stages encode_zstd");
  const auto arguments = std::make_shared<StagesArguments>();
  command.add_option("NAME", arguments->name, "A stage type")->type_name("");
  add_plugins(command, arguments->plugins);
  command.add_flag("--markdown", arguments->markdown, "Print a table for documents");
  command.callback([arguments, &action] { action = [arguments] { return stages_command(*arguments); }; });
}

void add_report(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("report", "Print a stored report again, or what changed between two");
  command.footer(
      "Example:\n"
      "  millrace report run.json\n"
      "  millrace report run.json --html run.html\n"
      "  millrace report before.json after.json --fail-on-slower 5%\n"
      "\n"
      "With --fail-on-slower the exit code is 1 when the second run is slower by more than that, 2 when the two "
      "cannot\n"
      "be compared. One run of each proves little: `millrace compare` repeats them in turn.");
  const auto arguments = std::make_shared<ReportArguments>();
  command.add_option("RUN", arguments->report, "A report written by run --report")->required()->type_name("");
  command.add_option("OTHER", arguments->other, "A second one to compare it with")->type_name("");
  command.add_option("--html", arguments->html, "Write the report to this file, as a page for a browser")
      ->type_name("FILE");
  command.add_option("--json", arguments->json, "Write what changed to this file, as JSON")->type_name("FILE");
  command
      .add_option_function<std::string>(
          "--fail-on-slower",
          [arguments](const std::string& text) {
            arguments->fail_on_slower = parse_slower_limit(text);
            if (!arguments->fail_on_slower)
              throw CLI::ValidationError("--fail-on-slower", "a share like 5% or 0.05, not '" + text + "'");
          },
          "Exit code 1 when the second run is slower by more than this")
      ->type_name("SHARE");
  command.add_flag("--explain", arguments->explain, "Print the rule behind the verdict, with its thresholds");
  command.callback([arguments, &action] { action = [arguments] { return report_command(*arguments); }; });
}

/// The half of explain that is about a recorded run.
void add_what_if(CLI::App& command, WhatIfArguments& arguments) {
  command
      .add_option("--what-if", arguments.scenarios,
                  "RUN.json: changes to replay it with, e.g. decode.slots=4,read.rate=2x")
      ->allow_extra_args(false)
      ->type_name("CHANGES");
  command.add_flag("--advise", arguments.advise, "RUN.json: try the obvious changes, print those that pay");
  command.add_flag("--verify", arguments.verify, "RUN.json: run the config with and without each change");
  command.add_flag("--force", arguments.force, "RUN.json: predict although the replay does not agree with the run");
}

void add_explain(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("explain", "Find the bottleneck by experiment: one resource free at a time");
  command.footer(
      std::string("Example:\n"
                  "  millrace explain configs/experiments/truth_io_read.toml --seconds 2\n"
                  "\n"
                  "Runs the config as it is, with its input from memory, with its results given at once, with its "
                  "outputs\n"
                  "forgotten, each several times in random order; says what limits it, and whether the verdict of the\n"
                  "report agrees. No output of the pipeline stays behind.\n"
                  "\n"
                  "With a report of `run --record` instead: replays that run with other settings, on paper.\n"
                  "  millrace explain run.json --what-if decode.slots=4,read.rate=2x --what-if cores=16\n"
                  "  millrace explain run.json --advise --verify\n"
                  "Changes: STAGE.slots=N, STAGE.rate=2x, STAGE.cpu=2x, STAGE.wait=2x, STAGE.link.chunks=N,\n"
                  "STAGE.link.bytes=SIZE, pipeline.threads=N, cores=N.\n"
                  "\n") +
      kSetFooter);
  const auto arguments = std::make_shared<ExplainArguments>();
  command.add_option("CONFIG", arguments->config, "The pipeline, a TOML file; or RUN.json")->required()->type_name("");
  add_overrides(command, arguments->overrides);
  add_plugins(command, arguments->plugins);
  add_count(command, "--repeats", arguments->repeats, "Runs of each kind");
  add_count(command, "--seconds", arguments->seconds, "Most time of one run; its sources then stop");
  command
      .add_option("--cache", arguments->cache,
                  "Inputs before every run: auto (cold stays cold, warm warm), cold, warm, as-is")
      ->check(CLI::IsMember({"auto", "cold", "warm", "as-is"}))
      ->type_name("STATE");
  add_count(command, "--seed", arguments->seed, "Seed of the order");
  command.add_option("--json", arguments->json, "Write the ladder to this file, as JSON")->type_name("FILE");
  const auto what_if = std::make_shared<WhatIfArguments>();
  add_what_if(command, *what_if);
  command.callback([arguments, what_if, &action] {
    if (arguments->config.extension() == ".json") {
      what_if->report = arguments->config;
      what_if->repeats = arguments->repeats;
      what_if->json = arguments->json;
      action = [what_if] { return what_if_command(*what_if); };
      return;
    }
    if (!what_if->scenarios.empty() || what_if->advise || what_if->verify)
      throw CLI::ValidationError("explain", "--what-if, --advise and --verify are about a recorded run, a .json file");
    action = [arguments] { return explain_command(*arguments); };
  });
}

void add_inspect(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("inspect", "Show what files are, where they lie, and what is cached of them");
  command.footer("Example:\n  millrace inspect build/demo/reads.fast5 --evict");
  const auto arguments = std::make_shared<InspectArguments>();
  command.add_option("FILE", arguments->files, "Files, directories or patterns")->required()->type_name("");
  command.add_flag("--evict", arguments->evict, "Let the page cache forget them, after looking");
  command.add_flag("--json", arguments->json, "Print JSON");
  command.callback([arguments, &action] { action = [arguments] { return inspect_command(*arguments); }; });
}

void add_generate_nanopore(CLI::App& generate, Action& action) {
  CLI::App& command = *generate.add_subcommand("nanopore", "Simulated nanopore signal in a FAST5, POD5 or BLOW5 file");
  command.footer(
      "Example:\n"
      "  millrace generate nanopore reads.fast5 --bytes 200MB --seed 7\n"
      "\n"
      "The true bases go to a FASTA file beside it. The same options give the same signal on every machine.");
  const auto options = std::make_shared<GenerateNanopore>();
  command.add_option("OUT", options->path, "The file to write: .fast5, .pod5, .blow5, .slow5")
      ->required()
      ->type_name("");
  add_count(command, "--reads", options->reads, "Number of reads; 0 = as many as --bytes asks for");
  add_size(command, "--bytes", options->total_bytes, "Encoded signal to write, default 200MB");
  add_count(command, "--reads-per-file", options->reads_per_file,
            "Reads of each of many files OUT_0, OUT_1, ...; 0 = one");
  add_count(command, "--seed", options->seed, "Seed of everything random");
  command.add_option("--profile", options->profile, "Instrument and chemistry")
      ->capture_default_str()
      ->check(CLI::IsMember(nanopore_profiles()));
  command.add_option("--coding", options->coding, "Compression of the signal")
      ->capture_default_str()
      ->check(CLI::IsMember({"vbz", "deflate", "none"}));
  command.add_option("--pore-model", options->pore_model, "Table of k-mer levels; without it a synthetic one")
      ->type_name("FILE");
  command.add_option("--genome", options->genome, "FASTA to draw reads from; without it a random genome")
      ->type_name("FILE");
  add_count(command, "--genome-bases", options->genome_bases, "Length of the random genome");
  add_count(command, "--mean-read-bases", options->mean_read_bases, "Mean length of a read");
  add_count(command, "--min-read-bases", options->min_read_bases, "Smallest length of a read");
  command.add_flag("--ideal", options->ideal, "No noise: dwell times and levels at their means");
  command.add_option("--truth", options->truth, "FASTA with the true bases; default OUT with .truth.fasta")
      ->type_name("FILE");
  add_count(command, "--threads", options->threads, "0 = cores of this machine; the files do not depend on it");
  command.callback([options, &action] { action = [options] { return generate_nanopore_command(*options); }; });
}

void add_generate_raw(CLI::App& generate, Action& action) {
  CLI::App& command = *generate.add_subcommand("raw", "Pseudo-random bytes");
  command.footer("Example:\n  millrace generate raw data.bin --bytes 1GiB --seed 7");
  const auto arguments = std::make_shared<GenerateRawArguments>();
  command.add_option("OUT", arguments->path, "The file to write")->required()->type_name("");
  arguments->bytes = 1ULL << 30;
  add_size(command, "--bytes", arguments->bytes, "Size of the file, default 1GiB");
  add_count(command, "--seed", arguments->seed, "Seed");
  command.callback([arguments, &action] { action = [arguments] { return generate_raw_command(*arguments); }; });
}

void add_generate(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("generate", "Write synthetic input with known truth");
  command.footer("Example:\n  millrace generate nanopore reads.fast5 --bytes 200MB");
  command.require_subcommand(1);
  add_generate_nanopore(command, action);
  add_generate_raw(command, action);
}

void add_bench_link(CLI::App& bench, Action& action) {
  CLI::App& command = *bench.add_subcommand("link", "Cost per chunk of the engine, beside three usual ways");
  command.footer(
      "Example:\n"
      "  millrace bench link --chunk-bytes 64 --json link.json\n"
      "\n"
      "Source, two transforms and a sink that do nothing, so that what is left is hand-over and accounting. All ways\n"
      "run in turn, in another order in each repeat.");
  const auto arguments = std::make_shared<BenchLinkArguments>();
  add_count(command, "--chunks", arguments->chunks, "Chunks of each run");
  add_count(command, "--chunk-bytes", arguments->chunk_bytes, "Bytes of a chunk");
  add_count(command, "--capacity", arguments->capacity, "Chunks that a link holds");
  add_count(command, "--threads", arguments->threads, "Compute workers; 0 = cores this process may use");
  add_count(command, "--repeats", arguments->repeats, "Runs of each way");
  add_count(command, "--seed", arguments->seed, "Seed of the order");
  command.add_option("--json", arguments->json, "Write the figures to this file, as JSON")->type_name("FILE");
  command.callback([arguments, &action] { action = [arguments] { return bench_link_command(*arguments); }; });
}

void add_bench_io(CLI::App& bench, Action& action) {
  CLI::App& command = *bench.add_subcommand("io", "Every way to read, write and copy at one place");
  command.footer(
      "Example:\n"
      "  millrace bench io /data --bytes 2GiB --repeats 5 --json io.json\n"
      "\n"
      "PATH is a directory, where two files are made and removed again, or a file to read. Every transport runs with\n"
      "every kind of advice, in another order in each repeat; before each run the input is evicted from the page "
      "cache\n"
      "and looked at. Writes and copies include the fsync.");
  const auto arguments = std::make_shared<BenchIoArguments>();
  command.add_option("PATH", arguments->path, "A directory, or a file to read")->required()->type_name("");
  add_size(command, "--bytes", arguments->bytes, "Size of the files, default 1GiB; not with a file");
  add_size(command, "--block", arguments->block_bytes, "Bytes of a read and of a write, default 4MiB");
  add_count(command, "--depth", arguments->depth, "Transfers in flight, of transports with a queue");
  add_count(command, "--repeats", arguments->repeats, "Runs of each way");
  add_count(command, "--seconds", arguments->seconds, "Most time of one run; it then counts as far as it came");
  add_count(command, "--seed", arguments->seed, "Seed of the order");
  add_repeatable(command, "--op", arguments->ops, "read, write or copy only");
  command.add_option("--json", arguments->json, "Write the figures to this file, as JSON")->type_name("FILE");
  command.callback([arguments, &action] { action = [arguments] { return bench_io_command(*arguments); }; });
}

void add_bench(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("bench", "Measure this machine");
  command.footer("Example:\n  millrace bench link");
  command.require_subcommand(1);
  add_bench_io(command, action);
  add_bench_link(command, action);
}

/// The command, or the option of the command, that a word on the command line was probably meant to be.
std::string suggestion_for(const CLI::App& app, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(command->get_name());
  }
  for (const CLI::Option* const option : app.get_options()) {
    for (const auto& name : option->get_lnames()) known.push_back("--" + name);
  }
  const std::string close = nearest(word.substr(0, word.find('=')), known);
  return close.empty() ? "" : "; did you mean '" + close + "'?";
}

const CLI::App& innermost_command(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().back();
  return *command;
}

std::string usage_message(const CLI::App& app, const CLI::ParseError& failure) {
  const CLI::App& command = innermost_command(app);
  std::string called = command.get_name();
  for (const CLI::App* above = command.get_parent(); above != nullptr; above = above->get_parent()) {
    called.insert(0, above->get_name() + " ");
  }
  const auto extras = app.remaining(true);
  if (!extras.empty()) {
    const std::string& word = extras.front();
    const std::string hint = suggestion_for(command, word);
    if (word.starts_with("-")) return fmt::format("{} has no option '{}'{}", called, word, hint);
    if (&command == &app) return fmt::format("there is no command '{}'{}", word, hint);
    return fmt::format("{} has no place for '{}'{}", called, word, hint);
  }
  return fmt::format("{} (`{} --help` shows how)", failure.what(), called);
}

int parse_and_run(const std::vector<std::string>& arguments) {
  CLI::App app(kDescription, "millrace");
  app.footer(kFooter);
  app.set_version_flag("--version", version_text(), "Version and features of this build");
  app.require_subcommand(1);
  Action action;
  add_run(app, action, arguments);
  add_check(app, action);
  add_compare(app, action, arguments);
  add_stages(app, action);
  add_report(app, action);
  add_explain(app, action);
  add_inspect(app, action);
  add_generate(app, action);
  add_bench(app, action);
  try {
    // CLI11 wants them from the last to the first, without the program's name.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend() - (arguments.empty() ? 0 : 1)));
  } catch (const CLI::CallForHelp&) {
    print(app.help());
    return kDone;
  } catch (const CLI::CallForVersion&) {
    print(version_text());
    return kDone;
  } catch (const CLI::ParseError& failure) {
    print_error(usage_message(app, failure));
    return kUsageError;
  }
  return action();
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments) noexcept {
  try {
    protect_standard_streams();
    return parse_and_run(arguments);
  } catch (const Error& error) {
    print_error(error.what());
    return error.kind() == ErrorKind::config ? kUsageError : kRunFailed;
  } catch (const std::bad_alloc&) {
    print_error("there is not enough memory");
    return kRunFailed;
  } catch (const std::exception& failure) {
    print_error(failure.what());
    return kRunFailed;
  }
}

}  // namespace millrace::apps
