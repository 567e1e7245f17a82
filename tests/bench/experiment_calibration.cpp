// Does `compare` keep its promises? Made-up experiments with known truth, thousands of each, judged by the same
// function that judges real ones. Prints what came of them; exit code 1 when a promise is broken:
//
//   intervals of 95 % cover the truth in 93 to 97 % of the draws (normal noise);
//   a false "faster" or "slower" on any arm of an experiment in at most 5 %;
//   an effect of 5 % found in at least 90 %, at the blocks that the planner asks for and when stopping early;
//   no difference called equivalent in at least 90 % where the planner says that the blocks suffice;
//   a difference as large as the margin called equivalent in at most 5 %.
//
// Shares count as broken when they miss by more than four standard errors of as many draws.
//
//   build/tests/bench/bench_experiment_calibration [DRAWS]      10,000 by default

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <utility>

#include "pipeline/experiment/block_planner.h"
#include "pipeline/experiment/comparison.h"
#include "tests/experiment/simulated_runs.h"

namespace {

using millrace::ArmVerdict;
using millrace::Comparison;
using millrace::ComparisonDesign;
using millrace::test::SimulatedRuns;

struct Noise {
  const char* name;
  std::function<double(std::mt19937_64&)> draw;
};

ComparisonDesign fixed(std::uint32_t blocks) {
  ComparisonDesign design;
  design.blocks = blocks;
  return design;
}

ComparisonDesign detecting(double effect, std::uint32_t most_blocks) {
  ComparisonDesign design;
  design.detect = effect;
  design.blocks = most_blocks;
  return design;
}

bool is_claim(ArmVerdict verdict) { return verdict == ArmVerdict::faster || verdict == ArmVerdict::slower; }

/// What came of many experiments, as shares of them.
struct Outcome {
  double covered = 0;     ///< of the first arm's intervals
  double any_claim = 0;   ///< of experiments with a claim on any arm
  double found = 0;       ///< first arm called faster
  double equivalent = 0;  ///< first arm
  double blocks = 0;      ///< mean
};

class Calibration {
 public:
  explicit Calibration(int draws) : draws_(draws) {}

  Outcome simulate(const SimulatedRuns& runs, const ComparisonDesign& design) {
    Outcome sum;
    for (int draw = 0; draw < draws_; ++draw) {
      const Comparison result = runs.until_decided(design, random_);
      const millrace::ArmEffect& arm = result.arms[2];
      sum.covered += arm.low && *arm.low <= runs.ratios[0] && runs.ratios[0] <= *arm.high ? 1 : 0;
      sum.any_claim +=
          std::any_of(result.arms.begin(), result.arms.end(), [](const auto& a) { return is_claim(a.verdict); }) ? 1
                                                                                                                 : 0;
      sum.found += arm.verdict == ArmVerdict::faster ? 1 : 0;
      sum.equivalent += arm.verdict == ArmVerdict::equivalent ? 1 : 0;
      sum.blocks += result.blocks_planned;
    }
    for (double* value : {&sum.covered, &sum.any_claim, &sum.found, &sum.equivalent, &sum.blocks}) *value /= draws_;
    return sum;
  }

  std::string at_most(double share, double promised) { return judged(share, share <= promised + slack(promised)); }
  std::string at_least(double share, double promised) { return judged(share, share >= promised - slack(promised)); }
  std::string between(double share, double low, double high) {
    return judged(share, share >= low - slack(low) && share <= high + slack(high));
  }
  static std::string unjudged(double share) { return fmt::format("{:5.1f} %  ", 100 * share); }
  bool kept() const { return broken_ == 0; }

 private:
  double slack(double promised) const { return 4 * std::sqrt(promised * (1 - promised) / draws_); }
  std::string judged(double share, bool kept) {
    broken_ += kept ? 0 : 1;
    return fmt::format("{:5.1f} %{} ", 100 * share, kept ? " " : "!");
  }

  int draws_;
  int broken_ = 0;
  std::mt19937_64 random_{20261201};  // NOLINT(cert-msc32-c,cert-msc51-cpp): the table shall come out again
};

SimulatedRuns runs_of(double log_sd, std::size_t arms, double ratio) {
  SimulatedRuns runs;
  runs.log_sd = log_sd;
  runs.ratios.assign(arms, 1.0);
  runs.ratios[0] = ratio;
  return runs;
}

void print_coverage(Calibration& calibration, const std::array<Noise, 3>& noises) {
  fmt::print("\nintervals of 95 % that cover the truth; noise 2 %, effect 3 %\n{:>8}", "blocks");
  for (const auto& noise : noises) fmt::print("{:>14}", noise.name);
  fmt::print("\n");
  for (const std::uint32_t blocks : {2U, 3U, 4U, 6U, 10U, 20U}) {
    fmt::print("{:>8}", blocks);
    for (const auto& noise : noises) {
      SimulatedRuns runs = runs_of(0.02, 1, 1.03);
      runs.noise = noise.draw;
      const double covered = calibration.simulate(runs, fixed(blocks)).covered;
      fmt::print("{:>14}",
                 &noise == noises.data() ? calibration.between(covered, .93, .97) : Calibration::unjudged(covered));
    }
    fmt::print("\n");
  }
}

void print_false_claims(Calibration& calibration, const std::array<Noise, 3>& noises) {
  fmt::print("\nexperiments without any effect that claim one on any arm; noise 2 %\n{:>16} {:>5}", "design", "arms");
  for (const auto& noise : noises) fmt::print("{:>14}", noise.name);
  fmt::print("{:>9}\n", "blocks");
  const std::array<std::pair<const char*, ComparisonDesign>, 5> designs{{{"3 blocks", fixed(3)},
                                                                         {"6 blocks", fixed(6)},
                                                                         {"12 blocks", fixed(12)},
                                                                         {"detect 5 %", detecting(.05, 40)},
                                                                         {"detect 1 %", detecting(.01, 40)}}};
  for (const auto& [name, design] : designs) {
    for (const std::size_t arms : {1U, 2U, 4U, 8U}) {
      fmt::print("{:>16} {:>5}", name, arms);
      double blocks = 0;
      for (const auto& noise : noises) {
        SimulatedRuns runs = runs_of(0.02, arms, 1);
        runs.noise = noise.draw;
        const Outcome outcome = calibration.simulate(runs, design);
        fmt::print("{:>14}", calibration.at_most(outcome.any_claim, .05));
        if (&noise == noises.data()) blocks = outcome.blocks;
      }
      fmt::print("{:>9.1f}\n", blocks);
    }
  }
}

/// At exactly the blocks that the planner names for this noise, with one look.
void print_planned(Calibration& calibration) {
  fmt::print("\na fixed number of blocks, as planned for an effect of 5 %\n{:>8} {:>5} {:>8} {:>14} {:>14}\n", "noise",
             "arms", "blocks", "found", "one fewer");
  for (const double log_sd : {.005, .01, .02, .03, .05}) {
    for (const std::size_t arms : {1U, 3U, 8U}) {
      const millrace::BlockPlanner planner(fixed(6), arms + 2);
      const std::uint32_t blocks = planner.until_claimed(std::log1p(.05), log_sd).value();
      const Outcome outcome = calibration.simulate(runs_of(log_sd, arms, 1.05), fixed(blocks));
      const std::string fewer =
          blocks > 2 ? Calibration::unjudged(calibration.simulate(runs_of(log_sd, arms, 1.05), fixed(blocks - 1)).found)
                     : "-";
      fmt::print("{:>6.1f} % {:>5} {:>8} {:>14} {:>14}\n", 100 * log_sd, arms, blocks,
                 calibration.at_least(outcome.found, .90), fewer);
    }
  }
}

void print_early_stops(Calibration& calibration) {
  fmt::print(
      "\ndetect 5 %, at most 40 blocks: from the pilot on until decided\n{:>8} {:>5} {:>8} {:>14} {:>8} {:>14} {:>8} "
      "{:>14} {:>14}\n",
      "noise", "arms", "planned", "found", "blocks", "equivalent", "blocks", "equiv. at 5 %", "covered");
  for (const double log_sd : {.005, .01, .02, .03, .05}) {
    for (const std::size_t arms : {1U, 3U, 8U}) {
      const ComparisonDesign design = detecting(.05, 40);
      const std::uint32_t planned = millrace::BlockPlanner(design, arms + 2).until_decided(log_sd).value();
      const Outcome effect = calibration.simulate(runs_of(log_sd, arms, 1.05), design);
      const Outcome none = calibration.simulate(runs_of(log_sd, arms, 1), design);
      const Outcome edge = calibration.simulate(runs_of(log_sd, arms, 1.0501), design);
      const bool is_enough = planned <= design.blocks;
      fmt::print("{:>6.1f} % {:>5} {:>8} {:>14} {:>8.1f} {:>14} {:>8.1f} {:>14} {:>14}\n", 100 * log_sd, arms, planned,
                 is_enough ? calibration.at_least(effect.found, .90) : Calibration::unjudged(effect.found),
                 effect.blocks,
                 is_enough ? calibration.at_least(none.equivalent, .90) : Calibration::unjudged(none.equivalent),
                 none.blocks, calibration.at_most(edge.equivalent, .05), calibration.at_least(effect.covered, .95));
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const int draws = count > 1 ? std::atoi(arguments[1]) : 10'000;
  if (draws < 100) {
    fmt::print(stderr, "usage: bench_experiment_calibration [DRAWS], at least 100\n");
    return 2;
  }
  const std::array<Noise, 3> noises{{{"normal", SimulatedRuns{}.noise},
                                     {"heavy tails", millrace::test::heavy_tailed},
                                     {"lopsided", millrace::test::lopsided}}};
  Calibration calibration(draws);
  fmt::print("{} made-up experiments in each place; ! = a broken promise\n", draws);
  print_coverage(calibration, noises);
  print_false_claims(calibration, noises);
  print_planned(calibration);
  print_early_stops(calibration);
  fmt::print("\n{}\n", calibration.kept() ? "every promise was kept" : "promises were broken");
  return calibration.kept() ? 0 : 1;
}
