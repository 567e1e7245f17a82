#include "pipeline/record_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "pipeline/core/error.h"
#include "pipeline/report_json.h"
#include "pipeline/report_reader.h"
#include "tests/pipeline/report_fixture.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;
using Kind = StageRecord::Kind;

StageRecord example() {
  StageRecord record;
  record.parallel = true;
  record.ordered = false;
  record.splits = true;
  record.inputs = {{WhenFull::block, 100}, {WhenFull::drop_oldest, 200}};
  record.turns_made = 5;
  record.hand_over_ns = 700;
  record.wake_ns = 60'000;
  record.turns = {{Kind::call, 32, 31, 3'100, 0, 10, 20, 30},
                  {Kind::more, 1, 1, 100, 60, 11, 20, 31},
                  {Kind::finish, 1, 0, 0, 200, 12, 20, 32}};
  return record;
}

StageRecord read(const Json& json) { return read_record(ReportReader(json, "stages[0].record")); }

std::string refusal(const std::function<void(Json&)>& spoil) {
  Json json = json_of(example());
  spoil(json);
  try {
    read(json);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "";
}

TEST(RecordJson, ARecordComesBackAsItWas) {
  EXPECT_EQ(read(json_of(example())), example());
  EXPECT_EQ(read(json_of(StageRecord{})), StageRecord{});
}

TEST(RecordJson, EqualValuesAreWrittenOnce) {
  const Json json = json_of(example());
  EXPECT_EQ(json["turns"]["io_ns"], 20);
  EXPECT_TRUE(json["turns"]["cpu_ns"].is_array());
  EXPECT_EQ(json["turns_kept"], 3);
}

TEST(RecordJson, AReportKeepsItsRecordAndWhereItsConfigCameFrom) {
  RunReport report = test::full_report();
  report.stages[1].record = example();
  report.config_file = "/lab/p.toml";
  report.overrides = {"decode.slots=2"};
  report.plugins = {"/lab/own.so"};
  const RunReport again = report_from_json(to_json(report));
  EXPECT_EQ(again.stages[1].record, report.stages[1].record);
  EXPECT_FALSE(again.stages[0].record);
  EXPECT_EQ(again.config_file, report.config_file);
  EXPECT_EQ(again.overrides, report.overrides);
  EXPECT_EQ(again.plugins, report.plugins);
}

TEST(RecordJson, WhatMakesNoSenseIsRefused) {
  EXPECT_EQ(refusal([](Json&) {}), "");
  EXPECT_THAT(refusal([](Json& json) { json["turns"]["cpu_ns"] = 5; }), HasSubstr("cpu_ns"));
  EXPECT_THAT(refusal([](Json& json) { json["turns"]["cpu_ns"][0] = -1; }), HasSubstr("not a count"));
  EXPECT_THAT(refusal([](Json& json) { json["turns"]["io_ns"] = 1ULL << 60; }), HasSubstr("out of range"));
  EXPECT_THAT(refusal([](Json& json) { json["turns"]["kind"][0] = 3; }), HasSubstr("out of range"));
  EXPECT_THAT(refusal([](Json& json) { json["turns"]["calls"] = 0; }), HasSubstr("calls"));
  EXPECT_THAT(refusal([](Json& json) { json["turns"]["chunks_out"] = 33; }), HasSubstr("chunks_out"));
  EXPECT_THAT(refusal([](Json& json) { json["turns"]["at_ns"].erase(0); }), HasSubstr("at_ns"));
  EXPECT_THAT(refusal([](Json& json) { json["turns_made"] = 2; }), HasSubstr("turns_made"));
  EXPECT_THAT(refusal([](Json& json) { json["inputs"][0]["when_full"] = "burn"; }), HasSubstr("when_full"));
  EXPECT_THAT(refusal([](Json& json) { json.erase("turns"); }), HasSubstr("missing"));
  EXPECT_THAT(refusal([](Json& json) { json["parallel"] = 1; }), HasSubstr("neither true nor false"));
}

}  // namespace
}  // namespace millrace
