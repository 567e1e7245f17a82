// Does the ablation ladder find what is known, and does it agree with the ledger? Runs `millrace explain` on every
// configs/experiments/truth_*.toml, several rounds, and prints the ratios of all rungs, the ladder's finding, the
// ledger's verdict, and whether they agree. Exit code 1 when one disagrees or finds something else than the truth.
//
//   build/tests/bench/bench_explain_truth [ROUNDS [REPEATS [SECONDS]]]      1 round of 3 repeats of at most 10 s
//
// Sources and sinks of these configs are made to be slow; the machine should have two idle cores.

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/command.h"
#include "tests/support/places.h"
#include "tests/support/temp_directory.h"

namespace {

using nlohmann::json;

struct Truth {
  const char* config;
  const char* limit;  ///< what the ladder has to find
  const char* stage;
};

constexpr std::array<Truth, 8> kTruths{{{"truth_io_read", "reading", ""},
                                        {"truth_io_write", "writing", ""},
                                        {"truth_compute", "compute", "work"},
                                        {"truth_workers", "cores", ""},
                                        {"truth_source_paced", "reading", ""},
                                        {"truth_link", "links", ""},
                                        {"truth_latency", "compute", "ask"},
                                        {"truth_balanced", "several", ""}}};

std::string argument(int count, char** arguments, int index, const char* fallback) {
  return count > index ? arguments[index] : fallback;
}

json explain(const Truth& truth, const std::string& repeats, const std::string& seconds,
             const std::filesystem::path& file) {
  const auto config =
      millrace::test::source_dir() / "configs" / "experiments" / (std::string(truth.config) + ".toml");
  millrace::test::Command::Settings settings;
  settings.limit = std::chrono::hours(1);
  const auto result = millrace::test::run_millrace(
      {"explain", config.string(), "--repeats", repeats, "--seconds", seconds, "--json", file.string()}, settings);
  if (result.exit_code != 0) {
    fmt::print("{}: {}", truth.config, result.err);
    return {};
  }
  return json::parse(millrace::test::contents_of(file));
}

void print_rungs(const json& ladder) {
  for (const json& rung : ladder.at("rungs")) {
    const json& interval = rung.at("ci95");
    fmt::print("  {:<24} {:>12.4g} {}/s  {:>9}  {}\n", rung.at("label").get<std::string>(),
               rung.at("rate").get<double>(), ladder.at("unit").get<std::string>(),
               rung.at("ratio").is_null() ? "-" : fmt::format("{:.2f}x", rung.at("ratio").get<double>()),
               interval.is_null()
                   ? ""
                   : fmt::format("{:.2f} - {:.2f}", interval.at(0).get<double>(), interval.at(1).get<double>()));
  }
}

std::string with_stage(const std::string& what, const std::string& stage) {
  return stage.empty() ? what : what + " in " + stage;
}

/// True when the ladder found the truth and agrees with the ledger.
bool print_judgement(const Truth& truth, const json& ladder) {
  const auto text = [&ladder](const char* part, const char* key) { return ladder.at(part).at(key).get<std::string>(); };
  const std::string found = with_stage(text("finding", "limit"), text("finding", "stage"));
  const std::string wanted = with_stage(truth.limit, truth.stage);
  const bool agrees = text("agreement", "kind") == "agree";
  fmt::print("  truth {}; ladder {}; ledger {} ({} of {} runs); {}{}\n", wanted, found,
             with_stage(text("verdict", "kind"), text("verdict", "stage")), ladder.at("verdict_runs").get<int>(),
             ladder.at("full_runs").get<int>(), text("agreement", "kind"), found == wanted ? "" : "; WRONG");
  return agrees && found == wanted;
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = std::atoi(argument(count, arguments, 1, "1").c_str());
  const std::string repeats = argument(count, arguments, 2, "3");
  const std::string seconds = argument(count, arguments, 3, "10");
  const millrace::test::TempDirectory directory;
  int right = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const Truth& truth : kTruths) {
      fmt::print("{}\n", truth.config);
      const json ladder = explain(truth, repeats, seconds, directory / "ladder.json");
      if (ladder.is_null()) continue;
      print_rungs(ladder);
      if (print_judgement(truth, ladder)) ++right;
    }
  }
  const int all = rounds * static_cast<int>(kTruths.size());
  fmt::print("{} of {} found and agreed upon\n", right, all);
  return right == all ? EXIT_SUCCESS : EXIT_FAILURE;
}
