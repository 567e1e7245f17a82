// How well a replay foretells what a change of settings does: runs graphs of known stages, records them, predicts one
// change of each, makes the change and runs them again. Prints for each graph the rate with nothing changed, how far
// its replay was off, the gain predicted and the gain that came, and the error of the predicted rate; then the median
// and the 95th percentile of the errors. Exit code 1 when they are above 5 % or 15 %.
//
//   build/tests/bench/bench_what_if_accuracy [REPEATS] [SECONDS] [NAME]
//
// Three repeats of 1 s runs by default; of each figure the median is taken. Runs with and without the change alternate.
// With NAME only graphs whose name contains it. Times beyond two cores are slept, not computed.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/complete_report.h"
#include "pipeline/config.h"
#include "pipeline/core/registry.h"
#include "pipeline/core/stage.h"
#include "pipeline/plan.h"
#include "pipeline/replay/what_if.h"
#include "pipeline/run.h"
#include "stages/builtin.h"

namespace {

constexpr double kMaxMedian = 0.05;
constexpr double kMaxPercentile95 = 0.15;

/// Gives every chunk `pieces` times.
class Repeat final : public millrace::Transform {
 public:
  explicit Repeat(const millrace::Options& options) : pieces_(options.get<std::uint32_t>("pieces", 4)) {}
  bool parallel() const override { return true; }
  bool splits() const override { return true; }
  millrace::ChunkType prepare(const millrace::ChunkType& input) override { return input; }
  std::optional<millrace::Chunk> process(millrace::Chunk chunk) override {
    chunk_ = std::move(chunk);
    given_ = 1;
    return chunk_;
  }
  std::optional<millrace::Chunk> more() override {
    if (given_ == pieces_) return std::nullopt;
    ++given_;
    return chunk_;
  }
  std::optional<millrace::Chunk> finish() override { return std::nullopt; }

 private:
  std::uint32_t pieces_;
  std::uint32_t given_ = 0;
  millrace::Chunk chunk_;
};

struct Case {
  std::string name;
  std::string config;
  std::string change;
  std::vector<std::string> overrides;  ///< what makes the change; empty = as the change says
};

/// Text of a config, and how many chunks fill the time of a run.
class Maker {
 public:
  Maker(double seconds, std::filesystem::path directory) : seconds_(seconds), directory_(std::move(directory)) {}

  /// Chunks for a run whose bottleneck takes `ms` for each.
  std::string chunks(double ms) const { return std::to_string(std::llround(1000 * seconds_ / ms)); }
  static std::string pipeline(int threads) { return fmt::format("[pipeline]\nthreads = {}\n", threads); }
  static std::string stage(const std::string& name, const std::string& type, const std::string& keys) {
    return fmt::format("[[stage]]\nname = \"{}\"\ntype = \"{}\"\n{}\n", name, type, keys);
  }
  std::string source(double ms, const std::string& keys = "", const std::string& name = "read") const {
    return stage(name, "synthetic_reader",
                 fmt::format("chunks = {}\nchunk_bytes = \"4 KiB\"\nfill = \"zeros\"\n{}", chunks(ms), keys));
  }
  static std::string spin(const std::string& name, const std::string& keys) { return stage(name, "spin", keys); }
  static std::string sink(const std::string& keys = "", const std::string& name = "write") {
    return stage(name, "null_writer", keys);
  }
  /// A file of as many blocks of `bytes` as are read in the time of a run.
  std::string file(double ms, std::uint64_t bytes) {
    const auto path = directory_ / fmt::format("input{}", files_++);
    std::ofstream(path).put(0);
    std::filesystem::resize_file(path, bytes * static_cast<std::uint64_t>(std::llround(1000 * seconds_ / ms)));
    return path.string();
  }
  std::string output() { return (directory_ / fmt::format("output{}", files_++)).string(); }

 private:
  double seconds_;
  std::filesystem::path directory_;
  int files_ = 0;
};

void add_slots(std::vector<Case>& cases, const Maker& make) {
  const auto add = [&](const char* name, int slots, int then, int link, double ms, const std::string& spread) {
    cases.push_back({fmt::format("slots {} {} -> {}, link {}", name, slots, then, link),
                     Maker::pipeline(6) + make.source(ms / slots) +
                         Maker::spin("work", fmt::format("sleep = \"{} us\"\nslots = {}\nlink = {{ chunks = {} }}\n{}",
                                                         std::llround(1000 * ms), slots, link, spread)) +
                         Maker::sink(),
                     fmt::format("work.slots={}", then),
                     {}});
  };
  add("constant", 1, 4, 16, 6, "");
  add("constant", 1, 2, 1, 6, "");
  add("exponential", 1, 2, 4, 5, "spread = \"exponential\"");
  add("exponential", 4, 2, 1, 8, "spread = \"exponential\"");
  add("exponential", 2, 4, 64, 8, "spread = \"exponential\"");
  add("heavy", 2, 4, 16, 8, "spread = \"heavy\"");
  add("heavy", 1, 3, 1, 6, "spread = \"heavy\"");
  add("bimodal", 2, 3, 1, 5, "burst_every = 5\nburst_sleep = \"15 ms\"");
  add("bimodal", 1, 2, 8, 4, "burst_every = 8\nburst_sleep = \"30 ms\"");
}

void add_links(std::vector<Case>& cases, const Maker& make) {
  const auto add = [&](const char* name, int depth, int then, const std::string& first, const std::string& second) {
    cases.push_back({fmt::format("link {} {} -> {}", name, depth, then),
                     Maker::pipeline(4) + make.source(4) + Maker::spin("first", first + "\nseed = 11") +
                         Maker::spin("second", fmt::format("{}\nseed = 12\nlink = {{ chunks = {} }}", second, depth)) +
                         Maker::sink(),
                     fmt::format("second.link.chunks={}", then),
                     {}});
  };
  const std::string exponential = "sleep = \"4 ms\"\nspread = \"exponential\"";
  const std::string heavy = "sleep = \"4 ms\"\nspread = \"heavy\"";
  const std::string bursts = "sleep = \"2 ms\"\nburst_every = 20\nburst_sleep = \"40 ms\"";
  add("exponential", 1, 16, exponential, exponential);
  add("exponential", 64, 1, exponential, exponential);
  add("heavy", 1, 32, heavy, heavy);
  add("heavy", 4, 64, exponential, heavy);
  add("bursts", 1, 32, bursts, "sleep = \"4 ms\"");
  add("bursts", 32, 2, "sleep = \"4 ms\"", bursts);
}

void add_speeds(std::vector<Case>& cases, const Maker& make) {
  const auto add = [&](const char* name, const char* change, const std::string& override_text, const char* spread) {
    cases.push_back({fmt::format("speed {} {}", name, change),
                     Maker::pipeline(4) + make.source(6) +
                         Maker::spin("first", fmt::format("sleep = \"6 ms\"\nseed = 21\n{}", spread)) +
                         Maker::spin("second", fmt::format("sleep = \"4 ms\"\nseed = 22\n{}", spread)) + Maker::sink(),
                     change,
                     {override_text}});
  };
  add("constant", "first.wait=2x", "first.sleep=3 ms", "");
  add("constant", "second.wait=0.5x", "second.sleep=8 ms", "");
  add("exponential", "first.rate=3x", "first.sleep=2 ms", "spread = \"exponential\"");
  add("heavy", "first.wait=2x", "first.sleep=3 ms", "spread = \"heavy\"");
}

void add_computing(std::vector<Case>& cases, const Maker& make) {
  const auto two = [&](int threads, const char* first, const char* second) {
    return Maker::pipeline(threads) + make.source(4) + Maker::spin("first", first) + Maker::spin("second", second) +
           Maker::sink();
  };
  cases.push_back({"cpu slots 1 -> 2",
                   Maker::pipeline(2) + make.source(5) + Maker::spin("work", "busy = \"5 ms\"") + Maker::sink(),
                   "work.slots=2",
                   {}});
  cases.push_back({"cpu exponential slots 2 -> 1",
                   Maker::pipeline(2) + make.source(3) +
                       Maker::spin("work", "busy = \"5 ms\"\nslots = 2\nspread = \"exponential\"") + Maker::sink(),
                   "work.slots=1",
                   {}});
  cases.push_back({"cpu threads 1 -> 2", two(1, "busy = \"2 ms\"", "busy = \"2 ms\""), "pipeline.threads=2", {}});
  cases.push_back({"cpu threads 2 -> 1", two(2, "busy = \"3 ms\"", "busy = \"2 ms\""), "pipeline.threads=1", {}});
  cases.push_back({"cpu faster", two(2, "busy = \"4 ms\"", "busy = \"1 ms\""), "first.cpu=2x", {"first.busy=2 ms"}});
  cases.push_back(
      {"cpu and sleep slots 1 -> 3",
       Maker::pipeline(4) + make.source(5) + Maker::spin("work", "busy = \"1 ms\"\nsleep = \"4 ms\"") + Maker::sink(),
       "work.slots=3",
       {}});
  cases.push_back(
      {"sleepers threads 1 -> 2", two(1, "sleep = \"2 ms\"", "sleep = \"2 ms\""), "pipeline.threads=2", {}});
}

void add_devices(std::vector<Case>& cases, Maker& make) {
  const auto reads = [&](double ms, const std::string& via, const std::string& work) {
    return Maker::pipeline(4) +
           Maker::stage(
               "read", "raw_reader",
               fmt::format("path = \"{}\"\nvia = {{ block = \"256 KiB\", {} }}", make.file(ms, 256U << 10), via)) +
           Maker::spin("work", work) + Maker::sink();
  };
  cases.push_back(
      {"throttled read 2x", reads(5.24, "throttle_rate = \"50 MB\"", "sleep = \"3 ms\""), "read.rate=2x", {}});
  cases.push_back(
      {"throttled read 0.5x", reads(4, "throttle_rate = \"100 MB\"", "sleep = \"4 ms\""), "read.rate=0.5x", {}});
  cases.push_back({"read latency 2x",
                   reads(6, "latency = \"6 ms\"", "sleep = \"4 ms\"\nspread = \"exponential\""),
                   "read.wait=2x",
                   {}});
  cases.push_back(
      {"read latency slots 1 -> 3", reads(6, "latency = \"6 ms\"", "sleep = \"3 ms\""), "read.slots=3", {}});
  cases.push_back(
      {"behind a throttled read", reads(5.24, "throttle_rate = \"50 MB\"", "sleep = \"2 ms\""), "work.slots=2", {}});
  const auto writes = [&](const std::string& via) {
    return Maker::pipeline(4) +
           Maker::stage("read", "synthetic_reader",
                        fmt::format("chunks = {}\nchunk_bytes = \"256 KiB\"\nfill = \"zeros\"", make.chunks(5.24))) +
           Maker::spin("work", "sleep = \"3 ms\"\nspread = \"exponential\"") +
           Maker::stage("write", "raw_writer",
                        fmt::format("path = \"{}\"\nvia = {{ fsync = \"never\", {} }}", make.output(), via));
  };
  cases.push_back({"throttled write 2x", writes("throttle_rate = \"50 MB\""), "write.rate=2x", {}});
  cases.push_back({"throttled write, link 16 -> 1", writes("throttle_rate = \"80 MB\""), "write.link.chunks=1", {}});
}

void add_shapes(std::vector<Case>& cases, const Maker& make) {
  const std::string fan = Maker::pipeline(6) + make.source(6) +
                          Maker::spin("left", "from = [\"read\"]\nsleep = \"6 ms\"\nspread = \"exponential\"") +
                          Maker::spin("right", "from = [\"read\"]\nsleep = \"3 ms\"\nlink = { chunks = 4 }") +
                          Maker::sink("from = [\"left\"]", "one") + Maker::sink("from = [\"right\"]", "two");
  cases.push_back({"fan-out slots 1 -> 3", fan, "left.slots=3", {}});
  cases.push_back({"fan-out slower side 0.25x", fan, "right.wait=0.25x", {"right.sleep=12 ms"}});
  const std::string merge = Maker::pipeline(6) + make.source(8, "", "a") + make.source(8, "", "b") +
                            Maker::spin("work", "from = [\"a\", \"b\"]\nsleep = \"4 ms\"\nspread = \"exponential\"") +
                            Maker::spin("after", "sleep = \"3 ms\"") + Maker::sink();
  cases.push_back({"fan-in slots 1 -> 2", merge, "work.slots=2", {}});
  cases.push_back({"fan-in after 0.5x", merge, "after.wait=0.5x", {"after.sleep=6 ms"}});
  const std::string split = Maker::pipeline(6) + make.source(12) + Maker::stage("split", "repeat", "pieces = 4") +
                            Maker::spin("work", "sleep = \"3 ms\"\nspread = \"exponential\"") + Maker::sink();
  cases.push_back({"splitter slots 1 -> 2", split, "work.slots=2", {}});
  cases.push_back({"splitter link 16 -> 1", split, "work.link.chunks=1", {}});
  const auto paced = [&](const char* work, int slots) {
    return Maker::pipeline(4) + make.source(6, "interval = \"6 ms\"") +
           Maker::spin("work", fmt::format("sleep = \"{}\"\nslots = {}", work, slots)) + Maker::sink();
  };
  cases.push_back({"paced, work 0.4x", paced("4 ms", 1), "work.wait=0.4x", {"work.sleep=10 ms"}});
  cases.push_back({"paced, slots 3 -> 1", paced("9 ms", 3), "work.slots=1", {}});
}

millrace::RunReport run_of(const Case& graph, const std::vector<std::string>& overrides, bool record,
                           const millrace::Registry& registry) {
  millrace::RunSettings settings;
  settings.record = record;
  millrace::RunOutcome outcome = millrace::run(
      millrace::prepare(millrace::load_config_text(graph.config, "graph.toml", overrides), registry), settings);
  millrace::complete_report(outcome.report);
  outcome.report.environment.cpus = millrace::usable_cores();
  if (outcome.report.status != "ok") {
    fmt::print(stderr, "{}: {}\n", graph.name, outcome.report.error);
    std::exit(EXIT_FAILURE);
  }
  return std::move(outcome.report);
}

double quantile(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(values.size()))) - 1];
}
double median(const std::vector<double>& values) { return quantile(values, .5); }

struct Result {
  double rate = 0;
  double replay_error = 0;
  double predicted = 0;  ///< gain
  double got = 0;
  double error = 0;  ///< of the predicted rate
};

Result result_of(const Case& graph, int repeats, const millrace::Registry& registry) {
  const auto changes = millrace::parse_changes(graph.change);
  std::vector<std::string> overrides = graph.overrides;
  for (const auto& change : changes) {
    std::string why;
    if (graph.overrides.empty())
      for (const auto& text :
           millrace::overrides_of(change, millrace::load_config_text(graph.config, "graph.toml", {}).json, why))
        overrides.push_back(text);
  }
  std::vector<double> rates;
  std::vector<double> errors;
  std::vector<double> gains;
  std::vector<double> predicted;
  std::vector<double> got;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const millrace::Calibration calibration = millrace::calibrate(run_of(graph, {}, true, registry));
    gains.push_back(millrace::predict(calibration, changes).gain);
    rates.push_back(calibration.real_rate);
    errors.push_back(calibration.error());
    predicted.push_back(calibration.real_rate * gains.back());
    got.push_back(millrace::chunk_rate(run_of(graph, overrides, false, registry)));
  }
  return {median(rates), median(errors), median(gains), median(got) / median(rates),
          median(predicted) / median(got) - 1};
}

}  // namespace

int main(int count, char** arguments) {
  const int repeats = count > 1 ? std::max(1, std::atoi(arguments[1])) : 3;
  const double seconds = count > 2 ? std::atof(arguments[2]) : 1;
  const std::string wanted = count > 3 ? arguments[3] : "";
  const auto directory = std::filesystem::temp_directory_path() / fmt::format("millrace_what_if_{}", ::getpid());
  std::filesystem::create_directories(directory);
  millrace::Registry registry;
  millrace::add_builtin_stages(registry);
  registry.add<Repeat>("repeat");

  Maker make(seconds, directory);
  std::vector<Case> cases;
  add_slots(cases, make);
  add_links(cases, make);
  add_speeds(cases, make);
  add_computing(cases, make);
  add_devices(cases, make);
  add_shapes(cases, make);

  std::vector<double> errors;
  fmt::print("{:36} {:>10} {:>8} {:>10} {:>8} {:>8}\n", "graph", "chunks/s", "replay", "predicted", "got", "error");
  for (const Case& graph : cases) {
    if (graph.name.find(wanted) == std::string::npos) continue;
    const Result result = result_of(graph, repeats, registry);
    errors.push_back(std::abs(result.error));
    fmt::print("{:36} {:>10.1f} {:>+6.1f} % {:>9.2f}x {:>7.2f}x {:>+6.1f} %\n", graph.name, result.rate,
               100 * result.replay_error, result.predicted, result.got, 100 * result.error);
    std::fflush(stdout);
  }
  std::filesystem::remove_all(directory);
  if (errors.empty()) {
    fmt::print(stderr, "no graph is called like that\n");
    return EXIT_FAILURE;
  }
  const double middle = median(errors);
  const double high = quantile(errors, .95);
  fmt::print("\n{} graphs: median error {:.1f} % (at most {:.0f} %), 95th percentile {:.1f} % (at most {:.0f} %)\n",
             errors.size(), 100 * middle, 100 * kMaxMedian, 100 * high, 100 * kMaxPercentile95);
  return middle <= kMaxMedian && high <= kMaxPercentile95 ? EXIT_SUCCESS : EXIT_FAILURE;
}
