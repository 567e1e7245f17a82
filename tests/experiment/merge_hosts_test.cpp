#include "pipeline/experiment/merge_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "pipeline/core/error.h"
#include "tests/experiment/simulated_runs.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::Optional;

/// Baseline, A/A and one arm whose log ratios are given.
HostRates host_with(const std::string& name, const std::vector<double>& log_ratios, double level = 100) {
  HostRates host{.host = name, .rates = RatesByBlock(3)};
  for (const double log_ratio : log_ratios) {
    host.rates[0].emplace_back(level);
    host.rates[1].emplace_back(level);
    host.rates[2].emplace_back(level * std::exp(log_ratio));
  }
  return host;
}

TEST(MergeHosts, WorksOutASmallExample) {
  // Effects 0.1 and 0.3; each with a variance of the mean of 0.0002 / 2 = 0.0001.
  const auto merged = merge_hosts({host_with("a", {0.09, 0.11}), host_with("b", {0.29, 0.31})});
  const MergedArm& arm = merged.arms.at(2);
  ASSERT_EQ(arm.hosts.size(), 2U);
  EXPECT_EQ(arm.hosts[0].host, "a");
  EXPECT_NEAR(arm.hosts[0].ratio, std::exp(0.1), 1e-12);
  EXPECT_NEAR(std::log(*arm.hosts[1].high), 0.3 + 12.7062047 * 0.01, 1e-6);  // t(0.975, 1) standard errors
  EXPECT_NEAR(arm.ratio, std::exp(0.2), 1e-12);
  // Q = 2 * 0.1^2 / 0.0001 = 200; tau^2 = (200 - 1) / (20000 - 10000) = 0.0199; I^2 = 199 / 200.
  EXPECT_NEAR(*arm.between_hosts_log_sd, std::sqrt(0.0199), 1e-9);
  EXPECT_NEAR(*arm.i_squared, 0.995, 1e-9);
  // Weights 1 / 0.02 each; the scatter around the mean is then just what is expected, 1.
  EXPECT_NEAR(std::log(*arm.high), 0.2 + 12.7062047 * std::sqrt(0.02 / 2), 1e-6);
  EXPECT_NEAR(*arm.p_same_effect, std::erfc(std::sqrt(200.0 / 2)), 1e-12);
  EXPECT_EQ(merged.arms[0].ratio, 1);
  EXPECT_FALSE(merged.arms[0].low);
}

TEST(MergeHosts, IsWiderWhereHostsDisagree) {
  const auto width = [](const MergedComparison& merged) {
    return std::log(*merged.arms[2].high / *merged.arms[2].low);
  };
  const auto agreeing =
      merge_hosts({host_with("a", {.09, .11, .10}), host_with("b", {.10, .11, .09}), host_with("c", {.11, .09, .10})});
  const auto disagreeing =
      merge_hosts({host_with("a", {.09, .11, .10}), host_with("b", {.20, .21, .19}), host_with("c", {.01, -.01, .0})});
  EXPECT_GT(width(disagreeing), 3 * width(agreeing));
  EXPECT_THAT(agreeing.arms[2].i_squared, Optional(0.0));
  EXPECT_GT(*disagreeing.arms[2].i_squared, 0.9);
}

TEST(MergeHosts, OfOneHostSaysNothingAboutOthers) {
  const auto merged = merge_hosts({host_with("a", {.09, .11})});
  EXPECT_NEAR(merged.arms[2].ratio, std::exp(0.1), 1e-12);
  EXPECT_TRUE(merged.arms[2].hosts[0].low);
  EXPECT_FALSE(merged.arms[2].low);
  EXPECT_FALSE(merged.arms[2].between_hosts_log_sd);
}

TEST(MergeHosts, LeavesOutHostsThatHaveNoNoiseToBeWeighedBy) {
  const auto merged = merge_hosts({host_with("a", {.09, .11}), host_with("b", {.5})});
  EXPECT_EQ(merged.arms[2].hosts_used, 1U);
  EXPECT_NEAR(merged.arms[2].ratio, std::exp(0.1), 1e-12);
  EXPECT_FALSE(merged.arms[2].hosts[1].low);
  EXPECT_NEAR(merged.arms[2].hosts[1].ratio, std::exp(0.5), 1e-12);
}

TEST(MergeHosts, TakesSeveralExperimentsOfAHostAsOne) {
  const auto apart = merge_hosts({host_with("a", {.09, .11}), host_with("b", {.2, .3}), host_with("a", {.10, .14})});
  const auto together = merge_hosts({host_with("a", {.09, .11, .10, .14}), host_with("b", {.2, .3})});
  EXPECT_EQ(apart.arms[2].hosts.size(), 2U);
  EXPECT_DOUBLE_EQ(apart.arms[2].ratio, together.arms[2].ratio);
  EXPECT_DOUBLE_EQ(*apart.arms[2].low, *together.arms[2].low);
}

TEST(MergeHosts, CopesWithHostsWithoutAnyNoise) {
  const auto merged = merge_hosts({host_with("a", {.1, .1, .1}), host_with("b", {.1, .1, .1})});
  EXPECT_NEAR(merged.arms[2].ratio, std::exp(0.1), 1e-9);
  EXPECT_THAT(merged.arms[1].p_same_effect, Optional(testing::DoubleNear(1, 1e-9)));
}

TEST(MergeHosts, RefusesWhatDoesNotFitTogether) {
  HostRates more_arms = host_with("b", {.1, .2});
  more_arms.rates.push_back(more_arms.rates[2]);
  const auto complaint = [](const std::vector<HostRates>& hosts) -> std::string {
    try {
      merge_hosts(hosts);
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(complaint({}), HasSubstr("no experiments"));
  EXPECT_THAT(complaint({host_with("a", {.1, .2}), more_arms}), HasSubstr("host b has 4 arms, that of a has 3"));
  HostRates negative = host_with("c", {.1});
  negative.rates[2][0] = -1;
  EXPECT_THAT(complaint({negative}), HasSubstr("arm 2 in block 0"));
}

double sum_of_parts(const VarianceSplit& split) {
  return split.machine.sum_of_squares + split.setting.sum_of_squares + split.machine_by_setting.sum_of_squares +
         split.block.sum_of_squares + split.rest.sum_of_squares;
}

TEST(MergeHosts, SplitsTheVarianceOfASmallExample) {
  // Log rates, two hosts of one block each: a 0 and 1, b 2 and 5. Grand mean 2; machines 0.5 and 3.5; settings 1 and 3.
  const auto merged = merge_hosts({host_with("a", {1}, 1), host_with("b", {3}, std::exp(2))});
  ASSERT_TRUE(merged.variance);
  EXPECT_NEAR(merged.variance->machine.sum_of_squares, 2 * 2 * 1.5 * 1.5, 1e-9);
  EXPECT_NEAR(merged.variance->setting.sum_of_squares, 2 * 2 * 1.0, 1e-9);
  EXPECT_NEAR(merged.variance->machine_by_setting.sum_of_squares, 4 * 0.5 * 0.5, 1e-9);
  EXPECT_NEAR(merged.variance->block.sum_of_squares, 0, 1e-9);
  EXPECT_NEAR(merged.variance->rest.sum_of_squares, 0, 1e-9);
  EXPECT_NEAR(merged.variance->total.sum_of_squares, 4 + 1 + 0 + 9, 1e-9);
  EXPECT_NEAR(merged.variance->machine.share, 9.0 / 14, 1e-9);
}

TEST(MergeHosts, LosesNoVarianceBetweenItsParts) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 100; ++round) {
    std::vector<HostRates> hosts;
    for (std::size_t host = 0; host < 1 + random() % 5; ++host) {
      const test::SimulatedRuns runs{.log_sd = 0.1, .ratios = {1.1, 0.9, 2}};
      hosts.push_back({std::to_string(host), runs.blocks(2 + static_cast<std::uint32_t>(random() % 6), random)});
      hosts.back().rates[random() % 5][0].reset();
    }
    const auto split = merge_hosts(hosts).variance;
    ASSERT_TRUE(split);
    EXPECT_NEAR(sum_of_parts(*split), split->total.sum_of_squares, 1e-10 * split->total.sum_of_squares);
    EXPECT_EQ(split->machine.degrees_of_freedom + split->setting.degrees_of_freedom +
                  split->machine_by_setting.degrees_of_freedom + split->block.degrees_of_freedom +
                  split->rest.degrees_of_freedom,
              split->total.degrees_of_freedom);
    EXPECT_LE(split->blocks_left_out, hosts.size());
  }
}

TEST(MergeHosts, PutsTheVarianceWhereItWasMade) {
  std::mt19937_64 random(2);
  test::SimulatedRuns runs{.log_sd = 0.01, .block_log_sd = 0.01, .ratios = {1.0, 1.0}};
  const auto of_hosts = [&](double second_is_faster_by) {
    std::vector<HostRates> hosts{{"a", runs.blocks(6, random)}, {"b", runs.blocks(8, random)}};
    for (auto& arm : hosts[1].rates)
      for (auto& rate : arm) *rate *= second_is_faster_by;
    return *merge_hosts(hosts).variance;
  };
  EXPECT_GT(of_hosts(2).machine.share, 0.95);
  runs.ratios = {2.0, 1.0};
  EXPECT_GT(of_hosts(1).setting.share, 0.95);
  runs = {.log_sd = 0.01, .block_log_sd = 1, .ratios = {1.0, 1.0}};
  EXPECT_GT(of_hosts(1).block.share + of_hosts(1).machine.share, 0.95);
  runs = {.log_sd = 0.5, .block_log_sd = 0.01, .ratios = {1.0, 1.0}};
  EXPECT_GT(of_hosts(1).rest.share, 0.5);
}

TEST(MergeHosts, RefusesToSplitWhatHasNoCompleteRepeat) {
  HostRates torn = host_with("torn", {.1, .2});
  torn.rates[2][0].reset();
  torn.rates[0][1].reset();
  const auto merged = merge_hosts({host_with("a", {.1, .2}), torn});
  EXPECT_FALSE(merged.variance);
  EXPECT_THAT(merged.variance_refused, HasSubstr("host torn has no repeat"));
  HostRates without_aa = host_with("a", {.1, .2});
  without_aa.rates[1][0].reset();
  EXPECT_TRUE(merge_hosts({without_aa}).variance);
}

TEST(MergeHosts, CoversTheMeanOfAllSuchHosts) {
  std::mt19937_64 random(3);
  constexpr int kDraws = 2000;
  int covered = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<HostRates> hosts;
    for (int host = 0; host < 5; ++host) {
      const double here = std::exp(0.05 + 0.05 * std::normal_distribution<double>()(random));
      hosts.push_back({std::to_string(host), test::SimulatedRuns{.log_sd = 0.02, .ratios = {here}}.blocks(6, random)});
    }
    const MergedArm arm = merge_hosts(hosts).arms[2];
    covered += *arm.low <= std::exp(0.05) && std::exp(0.05) <= *arm.high ? 1 : 0;
  }
  EXPECT_GE(covered, 0.93 * kDraws);
  EXPECT_LE(covered, 0.98 * kDraws);
}

}  // namespace
}  // namespace millrace
