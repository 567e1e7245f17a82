#include "pipeline/experiment/experiment_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "pipeline/core/error.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ExperimentRequest varying(std::vector<std::string> vary) {
  ExperimentRequest request;
  request.vary = std::move(vary);
  return request;
}

std::vector<std::string> labels(const ExperimentSpec& experiment) {
  std::vector<std::string> result;
  for (const auto& arm : experiment.arms) result.push_back(arm.label);
  return result;
}

std::string refusal(const ExperimentRequest& request, const std::optional<ExperimentTable>& table = std::nullopt) {
  try {
    make_experiment(request, table);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "";
}

ExperimentTable table_with_arms() {
  ExperimentTable table;
  table.arms = {{"plain", {}, {}}, {"deep", {"read.via.depth=8"}, {}}};
  table.repeats = 3;
  table.cache = "warm";
  table.seed = 5;
  return table;
}

TEST(MakeExperiment, RunsTheBaselineTwice) {
  const ExperimentSpec experiment = make_experiment(varying({"read.via.advice=none,random,willneed"}), {});
  EXPECT_THAT(labels(experiment),
              ElementsAre("advice=none", "advice=none (again)", "advice=random", "advice=willneed"));
  EXPECT_THAT(experiment.arms[0].overrides, ElementsAre("read.via.advice=none"));
  EXPECT_EQ(experiment.arms[1].overrides, experiment.arms[0].overrides);
  EXPECT_EQ(experiment.design.blocks, 6U);
  EXPECT_FALSE(experiment.cache);
  EXPECT_EQ(experiment.seed, 1U);
}

TEST(MakeExperiment, CombinesAllValuesOfSeveralKeys) {
  const ExperimentSpec experiment = make_experiment(varying({"decode.slots=1,2", "pipeline.threads=1,2"}), {});
  EXPECT_THAT(labels(experiment), ElementsAre("slots=1 threads=1", "slots=1 threads=1 (again)", "slots=1 threads=2",
                                              "slots=2 threads=1", "slots=2 threads=2"));
  EXPECT_THAT(experiment.arms[4].overrides, ElementsAre("decode.slots=2", "pipeline.threads=2"));
}

TEST(MakeExperiment, NamesTheWholeKeyWhereItsEndSaysTooLittle) {
  const ExperimentSpec experiment = make_experiment(varying({"a.slots=1,2", "b.slots=1"}), {});
  EXPECT_THAT(labels(experiment),
              ElementsAre("a.slots=1 b.slots=1", "a.slots=1 b.slots=1 (again)", "a.slots=2 b.slots=1"));
}

TEST(MakeExperiment, TakesTheTableOfTheConfig) {
  const ExperimentSpec experiment = make_experiment({}, table_with_arms());
  EXPECT_THAT(labels(experiment), ElementsAre("plain", "plain (again)", "deep"));
  EXPECT_EQ(experiment.design.blocks, 3U);
  EXPECT_EQ(experiment.cache, CacheMode::warm);
  EXPECT_EQ(experiment.seed, 5U);
}

TEST(MakeExperiment, LetsTheCommandLineWin) {
  ExperimentRequest request = varying({"read.via.depth=1,2"});
  request.repeats = 9;
  request.cache = "as-is";
  request.seed = 6;
  const ExperimentSpec experiment = make_experiment(request, table_with_arms());
  EXPECT_THAT(labels(experiment), ElementsAre("depth=1", "depth=1 (again)", "depth=2"));
  EXPECT_EQ(experiment.design.blocks, 9U);
  EXPECT_EQ(experiment.cache, CacheMode::as_is);
  EXPECT_EQ(experiment.seed, 6U);
}

TEST(MakeExperiment, LetsRepeatsAndDetectReplaceEachOther) {
  ExperimentTable table = table_with_arms();
  ExperimentRequest request;
  request.detect = "5%";
  EXPECT_DOUBLE_EQ(make_experiment(request, table).design.detect.value(), 0.05);
  EXPECT_EQ(make_experiment(request, table).design.blocks, 40U);
  table.repeats.reset();
  table.detect = 0.1;
  table.max_repeats = 20;
  EXPECT_EQ(make_experiment({}, table).design.blocks, 20U);
  request.detect.clear();
  request.repeats = 2;
  EXPECT_FALSE(make_experiment(request, table).design.detect);
  EXPECT_EQ(make_experiment(request, table).design.blocks, 2U);
}

TEST(MakeExperiment, TakesEveryFileOfARotationBeforeAnyAgain) {
  ExperimentRequest request = varying({"read.via.depth=1,2"});
  request.rotate = "read.path=a.raw,b.raw,\"c,d.raw\"";
  const ExperimentSpec experiment = make_experiment(request, {});
  std::map<std::string, int> times;
  for (std::uint64_t number = 0; number < 9; ++number) {
    ++times[experiment.input_of(number)];
    EXPECT_LE(times[experiment.input_of(number)], static_cast<int>(number / 3) + 1);
  }
  EXPECT_EQ(times.size(), 3U);
  EXPECT_THAT(experiment.overrides_of(2, 2), ElementsAre("read.via.depth=2", "read.path=\"c,d.raw\""));
}

TEST(MakeExperiment, RefusesWhatIsNoExperiment) {
  EXPECT_THAT(refusal({}), HasSubstr("there is nothing to compare"));
  EXPECT_THAT(refusal(varying({"a.b=1"})), HasSubstr("there is nothing to compare"));
  EXPECT_THAT(refusal(varying({"a.b=1,2,1"})), HasSubstr("'a.b' gets the value '1' twice"));
  EXPECT_THAT(refusal(varying({"a.b=1,2", "a.b=3,4"})), HasSubstr("'a.b' is varied twice"));
  EXPECT_THAT(refusal(varying({"a.b=1,2,3,4,5,6,7,8,9", "a.c=1,2,3,4,5,6,7,8"})), HasSubstr("more than 64 arms"));
  ExperimentRequest request = varying({"a.b=1,2"});
  request.cache = "hot";
  EXPECT_THAT(refusal(request), HasSubstr("--cache is cold, warm or as-is, not 'hot'"));
  request.cache = "";
  request.repeats = 0;
  EXPECT_THAT(refusal(request), HasSubstr("at least one repeat"));
  request.repeats = 1001;
  EXPECT_THAT(refusal(request), HasSubstr("at most 1000 repeats"));
  request.repeats = 3;
  request.detect = "5%";
  EXPECT_THAT(refusal(request), HasSubstr("give one of them"));
  request.repeats.reset();
  request.detect = "five";
  EXPECT_THAT(refusal(request), HasSubstr("--detect is a share like 5%"));
  request.detect = "";
  request.max_repeats = 8;
  EXPECT_THAT(refusal(request), HasSubstr("--max-repeats goes with --detect"));
  request.max_repeats.reset();
  request.max_time = "10";
  EXPECT_THAT(refusal(request), HasSubstr("--max-time is a time with its unit"));
  request.max_time = "";
  request.rotate = "a.c=x";
  EXPECT_THAT(refusal(request), HasSubstr("at least two files"));
  request.rotate = "a.b=x,y";
  EXPECT_THAT(refusal(request), HasSubstr("is set by arm 'b=1' and rotated"));
}

}  // namespace
}  // namespace millrace
