#include "apps/bench_io_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace millrace::apps {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A row whose runs took so many milliseconds.
IoRow row(const std::string& op, const std::string& transport, const std::string& advice, const std::vector<int>& ms) {
  IoRow result{{op, transport, advice}, {}};
  for (const int one : ms)
    result.runs.push_back({1ULL << 30, op == "write" ? "" : "cold", one * 1'000'000LL, 50'000'000, 0});
  return result;
}

TEST(Recommend, IsSureOfWhatWinsEveryTime) {
  const auto advice = recommend({row("read", "buffered", "none", {100, 110, 90}),
                                 row("read", "direct", "none", {60, 70, 55}), row("write", "mmap", "none", {1, 1, 1})},
                                "read");
  EXPECT_EQ(advice.transport, "direct");
  EXPECT_EQ(advice.confidence, "sure");
  EXPECT_THAT(advice.reason, HasSubstr("1.64x as fast as buffered (1.57 to 1.67 in 3 repeats)"));
}

TEST(Recommend, IsLessSureOfWhatWinsInTheMedianOnly) {
  const auto advice = recommend(
      {row("read", "buffered", "none", {100, 100, 100}), row("read", "mmap", "willneed", {50, 130, 60})}, "read");
  EXPECT_EQ(advice.transport, "mmap");
  EXPECT_EQ(advice.advice, "willneed");
  EXPECT_EQ(advice.confidence, "likely");
}

TEST(Recommend, PairsTheRunsOfOneRepeat) {
  // The machine slowed down by half in the middle; within each repeat the two are equal.
  const auto advice = recommend(
      {row("read", "buffered", "none", {100, 150, 200}), row("read", "direct", "none", {99, 149, 199})}, "read");
  EXPECT_EQ(advice.transport, "buffered");
  EXPECT_EQ(advice.confidence, "no difference");
}

TEST(Recommend, StaysWithThePlainOneWithinNoise) {
  const std::vector<IoRow> rows{row("write", "buffered", "none", {100, 101}), row("write", "direct", "none", {98, 99})};
  EXPECT_EQ(recommend(rows, "write").transport, "buffered");
  EXPECT_THAT(recommend(rows, "write").reason, AllOf(HasSubstr("direct"), HasSubstr("within noise")));
  EXPECT_EQ(recommend({rows[0]}, "write").reason, "nothing was faster");
}

TEST(Recommend, OneRepeatIsNeverSure) {
  const auto advice = recommend({row("read", "buffered", "none", {100}), row("read", "direct", "none", {10})}, "read");
  EXPECT_EQ(advice.confidence, "likely");
}

TEST(Recommend, CountsWhatWasMovedWhereARunWasStopped) {
  IoRow slow = row("read", "mmap", "random", {100});
  slow.runs[0].bytes = 1 << 20;
  EXPECT_EQ(recommend({row("read", "buffered", "none", {200}), slow}, "read").transport, "buffered");
}

TEST(BenchIoResult, TextAndJsonHaveTheSameFigures) {
  IoBench bench{"/data", 1ULL << 30, 4U << 20, 4, 3, {}, {"writing is not possible with uring: no"}};
  bench.rows = {row("read", "buffered", "none", {1000, 2000, 500}), row("write", "direct", "none", {1000, 1000, 1000})};
  bench.rows[0].runs[1].cache = "warm";
  const std::string text = to_text(bench);
  EXPECT_THAT(text, HasSubstr("1.00 GiB at /data"));
  EXPECT_THAT(text, testing::ContainsRegex("read  buffered +none +warm +1024 +512..2048 +0.050 +0.00\n"));
  EXPECT_THAT(text, testing::ContainsRegex("write direct +none +- +1024 +1024..1024"));
  EXPECT_THAT(text, HasSubstr("writing is not possible with uring: no\n"));
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    EXPECT_LE(end - begin, 100U) << text.substr(begin, end - begin);
  }

  const auto json = nlohmann::json::parse(to_json(bench));
  EXPECT_EQ(json["schema"], "millrace.bench.io/1");
  EXPECT_EQ(json["path"], "/data");
  EXPECT_EQ(json["file_bytes"], 1ULL << 30);
  ASSERT_EQ(json["rows"].size(), 2U);
  EXPECT_EQ(json["rows"][0]["cache"], "warm");
  EXPECT_DOUBLE_EQ(json["rows"][0]["mib_s"]["median"].get<double>(), 1024);
  EXPECT_DOUBLE_EQ(json["rows"][0]["mib_s"]["min"].get<double>(), 512);
  EXPECT_EQ(json["rows"][1]["cache"], "unknown");
  EXPECT_EQ(json["rows"][1]["runs"], 3);
  EXPECT_EQ(json["recommendation"]["read"]["transport"], "buffered");
  EXPECT_EQ(json["recommendation"]["confidence"], "no difference");
}

}  // namespace
}  // namespace millrace::apps
