#include "pipeline/experiment/ladder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace millrace {
namespace {

using ::testing::HasSubstr;

/// What freeing each resource was measured to give; 0 = there is no such rung.
struct Ratios {
  double reading = 1;
  double compute = 1;
  double replayed = 1;
  double writing = 1;
  double links = 1;
  std::vector<std::pair<std::string, double>> stages = {};
  double reading_compute = 0;
  double reading_writing = 0;
  double compute_writing = 0;
};

Rung rung(RungKind kind, double ratio, double spread, std::string stage = "") {
  Rung rung;
  rung.kind = kind;
  rung.label = stage.empty() ? name_of(kind) : "'" + stage + "' free";
  rung.stage = std::move(stage);
  rung.rate = 100 * ratio;
  rung.ratio = ratio;
  if (kind != RungKind::full) {
    rung.low = ratio / spread;
    rung.high = ratio * spread;
  }
  return rung;
}

/// `spread`: the intervals are ratio / spread to ratio * spread.
std::vector<Rung> rungs_of(const Ratios& ratios, double spread = 1.03) {
  std::vector<Rung> rungs{rung(RungKind::full, 1, spread)};
  const auto add = [&](RungKind kind, double ratio, const std::string& stage = "") {
    if (ratio > 0) rungs.push_back(rung(kind, ratio, spread, stage));
  };
  add(RungKind::reading_free, ratios.reading);
  add(RungKind::compute_free, ratios.compute);
  add(RungKind::replayed, ratios.replayed);
  for (const auto& [stage, ratio] : ratios.stages) add(RungKind::stage_free, ratio, stage);
  add(RungKind::writing_free, ratios.writing);
  add(RungKind::deeper_links, ratios.links);
  add(RungKind::reading_compute_free, ratios.reading_compute);
  add(RungKind::reading_writing_free, ratios.reading_writing);
  add(RungKind::compute_writing_free, ratios.compute_writing);
  return rungs;
}

struct Row {
  const char* name;
  Ratios ratios;
  Limit limit;
  const char* stage = "";
};

std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.name; }

class FindsTheLimit : public ::testing::TestWithParam<Row> {};

TEST_P(FindsTheLimit, FromTheRatios) {
  const LadderFinding finding = find_limit(rungs_of(GetParam().ratios));
  EXPECT_STREQ(name_of(finding.limit), name_of(GetParam().limit));
  EXPECT_EQ(finding.stage, GetParam().stage);
  EXPECT_FALSE(finding.reasons.empty());
}

std::vector<Row> rows() {
  return {
      {"slow_reader", {.reading = 4.9}, Limit::reading},
      {"slow_writer", {.writing = 4.9}, Limit::writing},
      {"only_transform", {.compute = 6, .stages = {}}, Limit::compute},
      {"one_of_two_transforms", {.compute = 300, .stages = {{"work", 4.8}}}, Limit::compute, "work"},
      {"one_of_two_near_transforms",
       {.compute = 300, .stages = {{"second", 1.02}, {"first", 1.3}}},
       Limit::compute,
       "first"},
      {"equal_transforms", {.compute = 200, .stages = {{"left", 1.02}, {"right", 0.99}}}, Limit::several},
      {"one_worker_for_three_transforms",
       {.compute = 500, .replayed = 2.9, .stages = {{"first", 1.5}, {"second", 1.5}, {"third", 1.48}}},
       Limit::cores},
      {"four_slots_of_the_only_transform_on_two_cores", {.compute = 90, .replayed = 1.9}, Limit::cores},
      {"one_transform_on_a_contended_machine",
       {.compute = 300, .replayed = 1.3, .stages = {{"work", 4.8}}},
       Limit::compute,
       "work"},
      {"replaying_gives_a_little_on_any_machine",
       {.compute = 300, .replayed = 1.15, .stages = {{"work", 1.9}}},
       Limit::compute,
       "work"},
      {"shallow_link_between_bursts",
       {.compute = 900, .links = 1.55, .stages = {{"bursty", 1.6}, {"steady", 1.57}}},
       Limit::links},
      {"shallow_link_after_a_bursty_source", {.reading = 1.5, .compute = 1.5, .links = 1.45}, Limit::links},
      {"deeper_links_help_a_slow_reader_a_little", {.reading = 5, .links = 1.12}, Limit::reading},
      {"reader_and_writer_share_a_disk", {.reading = 2.1, .writing = 1.9}, Limit::shared},
      {"reader_and_writer_on_two_disks_with_the_writer_slower", {.reading = 1.11, .writing = 3}, Limit::writing},
      {"decoding_reader_and_transforms_share_the_cores",
       {.reading = 1.6, .compute = 1.7, .replayed = 1.65},
       Limit::cores},
      {"reader_and_transform_equally_slow",
       {.reading = 1.02, .compute = 1.01, .reading_compute = 7, .reading_writing = 1.0, .compute_writing = 1.0},
       Limit::several},
      {"nothing_but_handing_over", {.reading = 1.05, .compute = 1.04}, Limit::nothing},
      {"nothing_even_in_pairs",
       {.reading = 1.05, .reading_compute = 1.06, .reading_writing = 1.02, .compute_writing = 1.01},
       Limit::nothing},
      {"no_transform_at_all", {.reading = 3, .compute = 0, .replayed = 0}, Limit::reading},
      {"things_get_slower_when_freed", {.reading = 0.7, .compute = 0.8, .writing = 3}, Limit::writing},
  };
}

INSTANTIATE_TEST_SUITE_P(Ladder, FindsTheLimit, ::testing::ValuesIn(rows()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FindLimit, AWideIntervalIsNoHelp) {
  EXPECT_EQ(find_limit(rungs_of({.reading = 1.3}, 1.4)).limit, Limit::undecided);
  EXPECT_EQ(find_limit(rungs_of({.reading = 1.3}, 1.2)).limit, Limit::reading);
  EXPECT_EQ(find_limit(rungs_of({.reading = 1.05}, 1.4)).limit, Limit::nothing)
      << "what is not even measured as a help needs no more runs";
}

TEST(FindLimit, OneRunOfEachHasNoIntervalAndIsTakenAsItIs) {
  auto rungs = rungs_of({.reading = 3});
  for (Rung& rung : rungs) {
    rung.low.reset();
    rung.high.reset();
  }
  EXPECT_EQ(find_limit(rungs).limit, Limit::reading);
}

TEST(FindLimit, WithoutARunAsConfiguredNothingIsSaid) {
  EXPECT_EQ(find_limit({}).limit, Limit::undecided);
  auto rungs = rungs_of({.reading = 3});
  rungs.front().rate = 0;
  EXPECT_EQ(find_limit(rungs).limit, Limit::undecided);
}

TEST(FindLimit, SaysWhetherComputeTakesTimeOrCores) {
  EXPECT_THAT(find_limit(rungs_of({.compute = 6})).reasons.front(), HasSubstr("not the cores"));
  EXPECT_THAT(find_limit(rungs_of({.compute = 300, .replayed = 1.3, .stages = {{"work", 4.8}}})).reasons.front(),
              HasSubstr("Cores are scarce as well"));
}

TEST(AddEffects, RatiosAreWithinBlocks) {
  std::vector<Rung> rungs(3);
  rungs[1].kind = RungKind::reading_free;
  rungs[2].kind = RungKind::writing_free;
  rungs[0].rates = {10.0, 20.0, std::nullopt, 40.0};  // the machine got faster all the time
  rungs[1].rates = {20.0, 40.0, 60.0, 80.0};
  rungs[2].rates = {std::nullopt, std::nullopt, 5.0, std::nullopt};
  add_effects(rungs);
  EXPECT_NEAR(rungs[0].rate, 20, 1e-9);
  EXPECT_EQ(rungs[0].ratio, 1);
  EXPECT_FALSE(rungs[0].low);
  EXPECT_NEAR(rungs[1].ratio, 2, 1e-9) << "only blocks with both count";
  ASSERT_TRUE(rungs[1].low);
  EXPECT_NEAR(*rungs[1].low, 2, 1e-9);
  EXPECT_NEAR(*rungs[1].high, 2, 1e-9);
  EXPECT_EQ(rungs[2].ratio, 0) << "no block has both";
}

TEST(AddEffects, TheIntervalIsStudents) {
  std::vector<Rung> rungs(2);
  rungs[1].kind = RungKind::reading_free;
  rungs[0].rates = {1.0, 1.0, 1.0};
  rungs[1].rates = {std::exp(0.1), std::exp(0.2), std::exp(0.3)};
  add_effects(rungs);
  EXPECT_NEAR(rungs[1].ratio, std::exp(0.2), 1e-9);
  const double half = 4.302652730 * 0.1 / std::sqrt(3.0);  // t(0.975, 2)
  EXPECT_NEAR(*rungs[1].low, std::exp(0.2 - half), 1e-6);
  EXPECT_NEAR(*rungs[1].high, std::exp(0.2 + half), 1e-6);
}

struct Pair {
  const char* kind;
  const char* stage;
  Role role;
  Limit limit;
  const char* found_stage;
  bool agree;
};

TEST(CompareWithVerdict, EveryVerdictHasItsCounterpart) {
  const std::vector<Pair> pairs = {
      {"io-read", "read", Role::source, Limit::reading, "", true},
      {"io-read", "read", Role::source, Limit::compute, "", false},
      {"io-read", "scale", Role::transform, Limit::reading, "", true},  // page faults in who touches the data first
      {"source-paced", "read", Role::source, Limit::reading, "", true},
      {"compute", "read", Role::source, Limit::reading, "", true},  // a reader that decodes
      {"compute", "write", Role::sink, Limit::writing, "", true},
      {"io-write", "write", Role::sink, Limit::writing, "", true},
      {"io-write", "write", Role::sink, Limit::several, "", false},
      {"compute", "work", Role::transform, Limit::compute, "work", true},
      {"compute", "work", Role::transform, Limit::compute, "", true},  // there is only one transform
      {"compute", "work", Role::transform, Limit::compute, "light", false},
      {"compute", "work", Role::transform, Limit::cores, "", false},
      {"latency", "ask", Role::transform, Limit::compute, "ask", true},
      {"workers", "", Role::transform, Limit::cores, "", true},
      {"workers", "", Role::transform, Limit::compute, "work", false},
      {"link", "a -> b", Role::transform, Limit::links, "", true},
      {"link", "a -> b", Role::transform, Limit::compute, "a", false},
      {"balanced", "", Role::transform, Limit::several, "", true},
      {"balanced", "", Role::transform, Limit::shared, "", true},
      {"balanced", "", Role::transform, Limit::reading, "", false},
  };
  for (const Pair& pair : pairs) {
    Verdict verdict;
    verdict.kind = pair.kind;
    verdict.stage = pair.stage;
    LadderFinding finding;
    finding.limit = pair.limit;
    finding.stage = pair.found_stage;
    const Agreement agreement = compare_with_verdict(finding, verdict, pair.role);
    EXPECT_EQ(agreement.kind == Agreement::Kind::agree, pair.agree)
        << pair.kind << " against " << name_of(pair.limit) << " in '" << pair.found_stage << "'";
    EXPECT_NE(agreement.kind, Agreement::Kind::not_comparable);
    EXPECT_THAT(agreement.why, HasSubstr(name_of(pair.limit)));
  }
}

TEST(CompareWithVerdict, LatencyOfNobodyIsWhenNothingHelps) {
  Verdict verdict;
  verdict.kind = "latency";
  LadderFinding finding;
  finding.limit = Limit::nothing;
  EXPECT_EQ(compare_with_verdict(finding, verdict, std::nullopt).kind, Agreement::Kind::agree);
}

TEST(CompareWithVerdict, ADisagreementNamesBothSides) {
  Verdict verdict;
  verdict.kind = "compute";
  verdict.stage = "work";
  LadderFinding finding;
  finding.limit = Limit::reading;
  const Agreement agreement = compare_with_verdict(finding, verdict, Role::transform);
  EXPECT_EQ(agreement.kind, Agreement::Kind::disagree);
  EXPECT_THAT(agreement.why, HasSubstr("compute in 'work'"));
  EXPECT_THAT(agreement.why, HasSubstr("reading"));
}

TEST(CompareWithVerdict, WithoutAnAnswerOnOneSideNothingIsCompared) {
  LadderFinding finding;
  finding.limit = Limit::reading;
  EXPECT_EQ(compare_with_verdict(finding, Verdict{}, std::nullopt).kind, Agreement::Kind::not_comparable);
  finding.limit = Limit::undecided;
  Verdict verdict;
  verdict.kind = "io-read";
  EXPECT_EQ(compare_with_verdict(finding, verdict, Role::source).kind, Agreement::Kind::not_comparable);
}

TEST(JudgeLadder, TakesTheVerdictThatMostRunsGave) {
  Ladder ladder;
  ladder.rungs = rungs_of({.reading = 3});
  for (Rung& rung : ladder.rungs) rung.rates = {rung.rate, rung.rate, rung.rate};
  Verdict reading;
  reading.kind = "io-read";
  reading.stage = "read";
  Verdict balanced;
  balanced.kind = "balanced";
  judge_ladder(ladder, {balanced, reading, reading}, {{"read", Role::source}});
  EXPECT_EQ(ladder.verdict.kind, "io-read");
  EXPECT_EQ(ladder.verdict_runs, 2U);
  EXPECT_EQ(ladder.full_runs, 3U);
  EXPECT_EQ(ladder.finding.limit, Limit::reading);
  EXPECT_EQ(ladder.agreement.kind, Agreement::Kind::agree);
}

TEST(JudgeLadder, NamesTheOnlyTransform) {
  Ladder ladder;
  ladder.rungs = rungs_of({.compute = 6});
  for (Rung& rung : ladder.rungs) rung.rates = {rung.rate, rung.rate};
  judge_ladder(ladder, {}, {{"read", Role::source}, {"ask", Role::transform}, {"write", Role::sink}});
  EXPECT_EQ(ladder.finding.limit, Limit::compute);
  EXPECT_EQ(ladder.finding.stage, "ask");
}

}  // namespace
}  // namespace millrace
