#include "pipeline/experiment/comparison_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pipeline/core/error.h"
#include "tests/experiment/comparison_fixture.h"

namespace millrace {
namespace {

using nlohmann::json;
using test::small_comparison;
using testing::HasSubstr;
using testing::StartsWith;

std::string refusal(const std::string& text) {
  try {
    comparison_from_json(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "";
}

TEST(ComparisonJson, HasEveryKeyOfTheSchema) {
  const json report = json::parse(to_json(small_comparison()));
  EXPECT_EQ(report["schema"], "millrace.compare/1");
  for (const char* const key : {"arms", "noise_floor", "minimal_detectable_ratio", "blocks", "excluded",
                                "identical_output", "environment", "config", "seed", "cache", "command", "design"}) {
    EXPECT_TRUE(report.contains(key)) << key;
  }
  const json& arm = report["arms"][2];
  for (const char* const key :
       {"label", "overrides", "runs", "mean_ratio", "ci95", "p_value", "verdict", "mechanism"}) {
    EXPECT_TRUE(arm.contains(key)) << key;
  }
  EXPECT_EQ(arm["label"], "advice=willneed");
  EXPECT_EQ(arm["ci95"].size(), 2U);
  EXPECT_TRUE(report["arms"][0]["ci95"].is_null());
  const json& run = report["arms"][3]["runs"][2];
  for (const char* const key : {"block", "order", "rate", "wall_s", "bytes", "cache_resident_before", "excluded",
                                "reason", "verdict", "outputs"}) {
    EXPECT_TRUE(run.contains(key)) << key;
  }
  EXPECT_EQ(run["excluded"], true);
  EXPECT_EQ(report["excluded"][0]["arm"], "advice=sequential");
  EXPECT_EQ(report["blocks"].size(), 6U);
  EXPECT_EQ(report["blocks"][0].size(), 4U);
}

TEST(ComparisonJson, ReadsBackWhatItWrote) {
  const std::string text = to_json(small_comparison());
  EXPECT_EQ(to_json(comparison_from_json(text)), text);
}

TEST(ComparisonJson, WorksOutAgainWhatFollowsFromTheRuns) {
  json report = json::parse(to_json(small_comparison()));
  report["arms"][2]["mean_ratio"] = 5;
  report["arms"][2]["verdict"] = "slower";
  report["identical_output"] = false;
  report["excluded"] = json::array();
  EXPECT_EQ(to_json(comparison_from_json(report.dump())), to_json(small_comparison()));
}

TEST(ComparisonJson, RefusesWhatCompareDoesNotWrite) {
  const auto with = [](const char* pointer, const json& value) {
    json report = json::parse(to_json(small_comparison()));
    report[json::json_pointer(pointer)] = value;
    return refusal(report.dump());
  };
  EXPECT_EQ(with("/unknown", 3), "");
  EXPECT_THAT(refusal("nonsense"), StartsWith("no report of millrace compare: it is not JSON"));
  EXPECT_THAT(refusal(std::string(1000, '[')), HasSubstr("nested too deeply"));
  EXPECT_THAT(refusal("{}"), HasSubstr("'schema' is missing"));
  EXPECT_THAT(with("/schema", "millrace.run/1"), HasSubstr("its schema is 'millrace.run/1'"));
  EXPECT_THAT(with("/arms/2/runs/1/rate", 0), HasSubstr("'arms[2].runs[1].rate' is no rate"));
  EXPECT_THAT(with("/arms/2/runs/1/rate", -5), HasSubstr("is no rate"));
  EXPECT_THAT(with("/arms/2/runs/1/rate", nullptr), HasSubstr("is not a number"));
  EXPECT_THAT(with("/arms/2/runs/1/block", 0), HasSubstr("comes twice in its arm"));
  EXPECT_THAT(with("/arms/2/runs/1/block", 8), HasSubstr("is in a block that does not exist"));
  EXPECT_THAT(with("/arms/2/runs/1/block", 1 << 30), HasSubstr("is out of range"));
  EXPECT_THAT(with("/arms/2/runs/1/wall_s", -1), HasSubstr("is negative"));
  EXPECT_THAT(with("/arms/2/runs/1/outputs/0/sha256", "abc"), HasSubstr("is no SHA-256"));
  EXPECT_THAT(with("/arms/2/label", "advice=none"), HasSubstr("comes twice"));
  EXPECT_THAT(with("/arms", json::array()), HasSubstr("'arms' has a number that cannot be"));
  EXPECT_THAT(with("/blocks/0", json::array({"advice=none"})), HasSubstr("without every arm once"));
  EXPECT_THAT(with("/blocks/0", json::array({"x"})), HasSubstr("names an arm that does not exist"));
  EXPECT_THAT(with("/design/confidence", 1), HasSubstr("is not between 0 and 1"));
  EXPECT_THAT(with("/design/blocks", 0), HasSubstr("is 0"));
  EXPECT_THAT(with("/cache", "hot"), HasSubstr("is none of cold, warm, as-is"));
  EXPECT_THAT(with("/unit", "miles"), HasSubstr("is neither bytes nor chunks"));
  EXPECT_THAT(with("/config", 3), HasSubstr("'config' is not an object"));
}

TEST(ComparisonJson, NeedsEveryKey) {
  const json whole = json::parse(to_json(small_comparison()));
  for (const char* const key : {"name", "started", "config_file", "config", "command", "environment", "cache", "seed",
                                "overrides", "rotate", "design", "ended_early", "unit", "arms", "blocks"}) {
    json report = whole;
    report.erase(key);
    EXPECT_THAT(refusal(report.dump()), HasSubstr(std::string("'") + key + "' is missing"));
  }
}

}  // namespace
}  // namespace millrace
