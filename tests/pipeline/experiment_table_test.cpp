#include "pipeline/experiment_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/config.h"
#include "pipeline/core/error.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const char* const kStage = "[[stage]]\nname = \"read\"\ntype = \"raw_reader\"\n";

ExperimentTable table(const std::string& experiment) {
  return load_experiment_text(experiment + kStage, "e.toml").value();
}

std::string refusal(const std::string& experiment) {
  try {
    load_config_text(experiment + kStage, "e.toml", {});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "";
}

std::vector<std::string> texts(const VariedKey& key) {
  std::vector<std::string> result;
  for (const auto& value : key.values) result.push_back(value.text);
  return result;
}

std::vector<std::string> shown(const VariedKey& key) {
  std::vector<std::string> result;
  for (const auto& value : key.values) result.push_back(value.shown);
  return result;
}

TEST(ExperimentTable, ReadsEveryKey) {
  const ExperimentTable read = table(
      "[experiment]\nvary = { \"read.via.advice\" = [\"none\", \"random\"], read.via.depth = [1, 2] }\nrepeats = 4\n"
      "cache = \"as-is\"\nseed = 9\nmax_time = \"10 min\"\nrotate = { \"read.path\" = [\"a\", \"b\"] }\n");
  ASSERT_EQ(read.vary.size(), 2U);
  EXPECT_EQ(read.vary[0].key, "read.via.depth") << "alphabetical, 'read' before 'read.via.advice'";
  EXPECT_EQ(read.vary[1].key, "read.via.advice");
  EXPECT_THAT(texts(read.vary[0]), ElementsAre("1", "2"));
  EXPECT_THAT(texts(read.vary[1]), ElementsAre("\"none\"", "\"random\""));
  EXPECT_THAT(shown(read.vary[1]), ElementsAre("none", "random"));
  EXPECT_EQ(read.repeats, 4U);
  EXPECT_EQ(read.cache, "as-is");
  EXPECT_EQ(read.seed, 9U);
  EXPECT_EQ(read.max_time, std::chrono::minutes(10));
  EXPECT_EQ(read.rotate->key, "read.path");
}

TEST(ExperimentTable, ReadsArmsInTheirOrder) {
  const ExperimentTable read = table(
      "[experiment]\ndetect = \"5 %\"\nmax_repeats = 12\n[[experiment.arm]]\nlabel = \"plain\"\n"
      "[[experiment.arm]]\nlabel = \"advised\"\nset = [\"read.via.advice=willneed\", \"read.via.window=8 MiB\"]\n");
  ASSERT_EQ(read.arms.size(), 2U);
  EXPECT_EQ(read.arms[0].label, "plain");
  EXPECT_TRUE(read.arms[0].overrides.empty());
  EXPECT_THAT(read.arms[1].overrides, ElementsAre("read.via.advice=willneed", "read.via.window=8 MiB"));
  EXPECT_EQ(read.arms[1].position.line, 6U);
  EXPECT_DOUBLE_EQ(read.detect.value(), 0.05);
  EXPECT_EQ(read.max_repeats, 12U);
}

TEST(ExperimentTable, SpellsValuesAsAnOverrideTakesThem) {
  const ExperimentTable read =
      table("[experiment]\nvary = { \"a.b\" = [true, 1.5, 2.0, \"x \\\"y\\\"\", [\"p\", \"q\"], { k = 1 }] }\n");
  EXPECT_THAT(texts(read.vary[0]),
              ElementsAre("true", "1.5", "2.0", "\"x \\\"y\\\"\"", "[\"p\", \"q\"]", "{\"k\" = 1}"));
}

TEST(ExperimentTable, IsNoPartOfWhatARunReports) {
  EXPECT_EQ(load_config_text(std::string("[experiment]\nrepeats = 3\n") + kStage, "e.toml", {}).json,
            load_config_text(kStage, "e.toml", {}).json);
  EXPECT_FALSE(load_experiment_text(kStage, "e.toml"));
}

TEST(ExperimentTable, LeavesVariablesToTheOverridesThatTheyBecome) {
  const ExperimentTable read = table("[experiment]\nvary = { \"read.path\" = [\"${NOT_SET_ANYWHERE}\", \"$$\"] }\n");
  EXPECT_THAT(texts(read.vary[0]), ElementsAre("\"${NOT_SET_ANYWHERE}\"", "\"$$\""));
}

TEST(ExperimentTable, RefusesWhatItCannotMean) {
  const std::vector<std::pair<const char*, const char*>> cases{
      {"[experiment]\nrepeat = 3\n", "e.toml:2:1: [experiment] has no key 'repeat'; did you mean 'repeats'?"},
      {"[experiment]\ncolour = 3\n", "e.toml:2:1: [experiment] has no key 'colour'; it has: vary arm"},
      {"experiment = 3\n", "e.toml:1:1: 'experiment' must be a table"},
      {"[experiment]\nrepeats = 0\n", "e.toml:2:1: 'repeats' must be at least 1"},
      {"[experiment]\nrepeats = \"six\"\n", "e.toml:2:1: 'repeats' must be an integer"},
      {"[experiment]\ncache = \"hot\"\n", "e.toml:2:1: 'cache' is cold, warm or as-is, not \"hot\""},
      {"[experiment]\ndetect = 5\n", "e.toml:2:1: 'detect' is a share like \"5%\" or 0.05"},
      {"[experiment]\nmax_time = 5\n", "e.toml:2:1: 'max_time' must be a time with its unit"},
      {"[experiment]\nvary = 5\n", "e.toml:2:1: 'vary' must be a table"},
      {"[experiment]\nvary = {}\n", "e.toml:2:1: 'vary' names no key"},
      {"[experiment]\nvary = { \"a.b\" = 1 }\n", "e.toml:2:10: 'a.b' in 'vary' must be a list of values"},
      {"[experiment]\nrotate = { a.b = [\"x\"], a.c = [\"y\"] }\n", "e.toml:2:1: 'rotate' names one key"},
      {"[experiment]\narm = 1\n", "e.toml:2:1: write [[experiment.arm]], with two brackets"},
      {"[[experiment.arm]]\nset = []\n", "'label' is required"},
      {"[[experiment.arm]]\nlabel = \"a\"\nsets = []\n",
       "e.toml:3:1: [[experiment.arm]] has no key 'sets'; did you mean 'set'?"},
      {"[[experiment.arm]]\nlabel = \"a\"\nset = [\"x\"]\n", "e.toml:3:1: \"x\" has no '='"},
      {"[[experiment.arm]]\nlabel = \"a\"\n[[experiment.arm]]\nlabel = \"a\"\n", "there are two arms \"a\""},
      {"[experiment]\nvary = { \"a.b\" = [1, 2] }\n[[experiment.arm]]\nlabel = \"a\"\n",
       "'vary' or [[experiment.arm]], not both"},
  };
  for (const auto& [text, message] : cases) EXPECT_THAT(refusal(text), HasSubstr(message)) << text;
}

TEST(ParseVaried, PartsAtCommasOutsideQuotesAndBrackets) {
  const VariedKey key = parse_varied(R"(a.b=x, "y,z" ,[1,2],{k="p,q"},'r,s')", "--vary");
  EXPECT_EQ(key.key, "a.b");
  EXPECT_THAT(texts(key), ElementsAre("x", "\"y,z\"", "[1,2]", "{k=\"p,q\"}", "'r,s'"));
  EXPECT_THAT(shown(key), ElementsAre("x", "y,z", "[1,2]", "{k=\"p,q\"}", "r,s"));
}

TEST(ParseVaried, RefusesWhatHasNoKeyOrNoValue) {
  for (const char* const text : {"", "a.b", "=1,2", "a.b=", "a.b=1,,2", "a.b=1,"}) {
    EXPECT_THROW(parse_varied(text, "--vary"), Error) << text;
  }
}

TEST(ParseShare, TakesPercentAndFraction) {
  EXPECT_DOUBLE_EQ(parse_share("5%").value(), 0.05);
  EXPECT_DOUBLE_EQ(parse_share("2.5 %").value(), 0.025);
  EXPECT_DOUBLE_EQ(parse_share("0.05").value(), 0.05);
  for (const char* const text : {"", "%", "5", "0", "-1%", "100%", "5%%", "5% x", "x", "nan"}) {
    EXPECT_FALSE(parse_share(text)) << text;
  }
}

}  // namespace
}  // namespace millrace
