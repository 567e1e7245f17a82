// The verdict's confusion matrix: runs every configs/experiments/truth_*.toml several times and prints, for each, what
// the verdicts were. Exit code 1 when one was wrong.
//
//   build/tests/bench/bench_truth_table [RUNS]      5 runs of each by default

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "pipeline/complete_report.h"
#include "pipeline/config.h"
#include "pipeline/core/registry.h"
#include "pipeline/plan.h"
#include "pipeline/run.h"
#include "stages/builtin.h"
#include "tests/support/places.h"

namespace {

struct Truth {
  const char* config;
  const char* kind;
  const char* stage;
};

constexpr std::array<Truth, 8> kTruths{{{"truth_io_read", "io-read", "read"},
                                        {"truth_io_write", "io-write", "write"},
                                        {"truth_compute", "compute", "work"},
                                        {"truth_workers", "workers", ""},
                                        {"truth_source_paced", "source-paced", "read"},
                                        {"truth_link", "link", "bursty -> steady"},
                                        {"truth_latency", "latency", "ask"},
                                        {"truth_balanced", "balanced", ""}}};

std::string verdict_of(const std::filesystem::path& config, const millrace::Registry& registry) {
  millrace::RunOutcome outcome = millrace::run(millrace::prepare(millrace::load_config(config, {}), registry), {});
  millrace::complete_report(outcome.report);
  const millrace::Verdict& verdict = outcome.report.verdict;
  return verdict.stage.empty() ? verdict.kind : verdict.kind + " at " + verdict.stage;
}

}  // namespace

int main(int count, char** arguments) {
  const int runs = count > 1 ? std::atoi(arguments[1]) : 5;
  const auto directory = millrace::test::source_dir() / "configs" / "experiments";
  millrace::Registry registry;
  millrace::add_builtin_stages(registry);

  // One run of each in turn, so that a mood of the machine falls on all of them.
  std::map<std::string, std::map<std::string, int>> seen;
  for (int run = 0; run < runs; ++run) {
    for (const Truth& truth : kTruths) {
      ++seen[truth.config][verdict_of(directory / (std::string(truth.config) + ".toml"), registry)];
    }
  }

  int wrong = 0;
  fmt::print("{:20} {:28} {:>9}  {}\n", "config", "truth", "right", "else");
  for (const Truth& truth : kTruths) {
    const std::string wanted = *truth.stage == '\0' ? truth.kind : fmt::format("{} at {}", truth.kind, truth.stage);
    const int right = seen[truth.config][wanted];
    wrong += runs - right;
    std::string others;
    for (const auto& [verdict, times] : seen[truth.config]) {
      if (verdict != wanted) others += fmt::format("{}{} x {}", others.empty() ? "" : ", ", times, verdict);
    }
    fmt::print("{:20} {:28} {:>4} of {:<2}  {}\n", truth.config, wanted, right, runs, others);
  }
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
