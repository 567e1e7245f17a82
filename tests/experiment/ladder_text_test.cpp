#include "pipeline/experiment/ladder_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace millrace {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

Rung rung(RungKind kind, double rate, const std::string& stage = "") {
  Rung rung;
  rung.kind = kind;
  rung.stage = stage;
  rung.label = stage.empty() ? name_of(kind) : "'" + stage + "' free";
  rung.rates = {rate, rate * 1.01, rate * 0.99};
  return rung;
}

Ladder slow_reader() {
  Ladder ladder;
  ladder.name = "truth_io_read";
  ladder.repeats = 3;
  ladder.limit_ns = 10'000'000'000;
  ladder.cache = "12 inputs kept warm";
  ladder.rungs = {rung(RungKind::full, 3000),         rung(RungKind::reading_free, 15000),
                  rung(RungKind::compute_free, 3010), rung(RungKind::replayed, 2990),
                  rung(RungKind::writing_free, 3000), rung(RungKind::deeper_links, 3000)};
  Verdict verdict;
  verdict.kind = "io-read";
  verdict.stage = "read";
  verdict.confidence = "sure";
  verdict.ceiling = 4.97;
  judge_ladder(ladder, {verdict, verdict, verdict}, {{"read", Role::source}, {"work", Role::transform}});
  return ladder;
}

TEST(LadderText, ShowsRatesRatiosAndWhatTheySay) {
  const std::string text = to_text(slow_reader());
  EXPECT_THAT(text, HasSubstr("truth_io_read: 3 runs of each rung, at most 10.0 s each; 12 inputs kept warm\n"));
  EXPECT_THAT(text, HasSubstr("reading free"));
  EXPECT_THAT(text, HasSubstr("5.00x"));
  EXPECT_THAT(text, HasSubstr("by experiment: reading limits."));
  EXPECT_THAT(text, HasSubstr("ceilings: reading free 5.00x, compute free 1.00x, writing free 1.00x."));
  EXPECT_THAT(text,
              HasSubstr("verdict of the report: I/O-bound at 'read' (sure), in 3 of 3 runs; it put the ceiling at"));
  EXPECT_THAT(text, HasSubstr("measured 5.00x"));
  EXPECT_THAT(text, HasSubstr("they agree: "));
  EXPECT_THAT(text, Not(HasSubstr("DISAGREE")));
}

TEST(LadderText, ADisagreementIsNotHidden) {
  Ladder ladder = slow_reader();
  Verdict verdict;
  verdict.kind = "compute";
  verdict.stage = "work";
  verdict.confidence = "likely";
  judge_ladder(ladder, {verdict}, {{"work", Role::transform}});
  const std::string text = to_text(ladder);
  EXPECT_THAT(text, HasSubstr("THEY DISAGREE: by the verdict compute in 'work' should limit, by experiment it is "));
  EXPECT_THAT(text, HasSubstr("compute-bound at 'work' (likely)"));
}

TEST(LadderText, KeepsToAHundredColumns) {
  Ladder ladder = slow_reader();
  ladder.rungs.push_back(rung(RungKind::stage_free, 3000, "a_stage_with_a_rather_long_name"));
  ladder.remarks = {
      "'read' is replayed from its first 17 chunks (68.1 MiB), again and again: more do not fit in the "
      "memory budget"};
  judge_ladder(ladder, {ladder.verdict}, {{"read", Role::source}});
  std::istringstream lines(to_text(ladder));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
    EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
  }
}

TEST(LadderText, RungsThatCouldNotBeCountedSaySo) {
  Ladder ladder = slow_reader();
  for (auto& rate : ladder.rungs[4].rates) rate.reset();
  judge_ladder(ladder, {ladder.verdict}, {{"read", Role::source}});
  EXPECT_THAT(to_text(ladder), HasSubstr("could not be counted"));
}

TEST(LadderText, RatesOfChunksWithoutBytesAreOfChunks) {
  Ladder ladder = slow_reader();
  ladder.unit = "chunks";
  EXPECT_THAT(to_text(ladder), HasSubstr("3000 chunks/s"));
}

TEST(LadderText, SaysWhenItWasInterrupted) {
  Ladder ladder = slow_reader();
  EXPECT_THAT(to_text(ladder), Not(HasSubstr("interrupted")));
  ladder.interrupted = true;
  EXPECT_THAT(to_text(ladder), HasSubstr("interrupted"));
}

TEST(LadderJson, HoldsEverything) {
  Ladder ladder = slow_reader();
  ladder.rungs[2].rates[1].reset();
  const json object = json::parse(to_json(ladder));
  EXPECT_EQ(object.at("schema"), "millrace.explain/1");
  EXPECT_EQ(object.at("limit_s"), 10.0);
  ASSERT_EQ(object.at("rungs").size(), 6U);
  EXPECT_EQ(object.at("rungs").at(1).at("kind"), "reading free");
  EXPECT_NEAR(object.at("rungs").at(1).at("ratio").get<double>(), 5, 0.01);
  EXPECT_EQ(object.at("rungs").at(1).at("ci95").size(), 2U);
  EXPECT_TRUE(object.at("rungs").at(0).at("ci95").is_null());
  EXPECT_TRUE(object.at("rungs").at(2).at("rates").at(1).is_null());
  EXPECT_EQ(object.at("finding").at("limit"), "reading");
  EXPECT_EQ(object.at("verdict").at("kind"), "io-read");
  EXPECT_EQ(object.at("agreement").at("kind"), "agree");
}

}  // namespace
}  // namespace millrace
