#include "pipeline/replay/change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pipeline/core/error.h"
#include "tests/replay/run_builder.h"

namespace millrace {
namespace {

using test::RunBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using What = Change::What;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "";
}

TEST(Change, EveryFormIsReadAndWrittenAgain) {
  const std::vector<std::pair<std::string, Change>> forms{
      {"decode.slots=4", {What::slots, "decode", 4, 1}},
      {"decode.link.chunks=64", {What::link_chunks, "decode", 64, 1}},
      {"decode.link.bytes=64 MiB", {What::link_bytes, "decode", 64ULL << 20, 1}},
      {"read.rate=2x", {What::rate, "read", 0, 2}},
      {"read.cpu=1.5x", {What::cpu, "read", 0, 1.5}},
      {"read.wait=0.5x", {What::wait, "read", 0, .5}},
      {"pipeline.threads=8", {What::threads, "", 8, 1}},
      {"cores=16", {What::cores, "", 16, 1}},
  };
  for (const auto& [text, change] : forms) {
    EXPECT_THAT(parse_changes(text), ElementsAre(change)) << text;
    EXPECT_EQ(text_of(change), text);
  }
}

TEST(Change, SeveralAreSeparatedByCommasAndSpacesDoNotMatter) {
  const auto changes = parse_changes(" decode.slots = 4 , read.rate=2x");
  EXPECT_THAT(changes, ElementsAre(Change{What::slots, "decode", 4, 1}, Change{What::rate, "read", 0, 2}));
  EXPECT_EQ(text_of(changes), "decode.slots=4,read.rate=2x");
}

TEST(Change, WhatMakesNoSenseIsRefused) {
  for (const char* const text : {"",
                                 ",",
                                 "decode",
                                 "decode.slots",
                                 "decode.slots=",
                                 "decode.slots=0",
                                 "decode.slots=-1",
                                 "decode.slots=2.5",
                                 "decode.slots=2x",
                                 "decode.slots=4000000000",
                                 "decode.rate=2",
                                 "decode.rate=0x",
                                 "decode.rate=-2x",
                                 "decode.rate=nanx",
                                 "decode.rate=infx",
                                 "decode.rate=1000x",
                                 "decode.link=4",
                                 "decode.link.bytes=64",
                                 "decode.link.bytes=0 B",
                                 "decode.speed=2x",
                                 ".slots=2",
                                 "pipeline.slots=2",
                                 "pipeline.memory=1GiB",
                                 "cores=0",
                                 "cores=",
                                 "threads=4",
                                 "a.slots=2,,b.slots=2",
                                 "a.slots=2,"})
    EXPECT_NE(message_of([&] { parse_changes(text); }), "") << text;
  EXPECT_THAT(message_of([] { parse_changes("a.slots=2,a.slots=3"); }), HasSubstr("given twice"));
}

RecordedRun three_stages() {
  RunBuilder builder =
      RunBuilder::chain(10, 4, {RunBuilder::waits(1'000), RunBuilder::computes(1'000), RunBuilder::waits(1'000)});
  builder.run().stages[0].name = "read";
  builder.run().stages[1].name = "decode";
  builder.run().stages[2].name = "write";
  return builder.run();
}

RecordedRun with(const std::string& text) {
  RecordedRun run = three_stages();
  for (const Change& change : parse_changes(text)) apply(run, change);
  return run;
}

TEST(Change, IsMadeInTheRecordedRun) {
  EXPECT_EQ(with("decode.slots=4").stages[1].slots, 4U);
  EXPECT_EQ(with("decode.link.chunks=9").links[0].bounds.chunks, 9U);
  EXPECT_EQ(with("write.link.bytes=1MiB").links[1].bounds.bytes, 1U << 20);
  EXPECT_EQ(with("pipeline.threads=3").threads, 3U);
  EXPECT_EQ(with("cores=3").cores, 3U);
  EXPECT_EQ(with("read.rate=2x").stages[0].cpu_factor, .5);
  EXPECT_EQ(with("read.rate=2x").stages[0].wait_factor, .5);
  EXPECT_EQ(with("read.cpu=4x").stages[0].cpu_factor, .25);
  EXPECT_EQ(with("read.cpu=4x").stages[0].wait_factor, 1);
  EXPECT_EQ(with("read.wait=4x,read.rate=2x").stages[0].wait_factor, .125);
}

TEST(Change, OfAStageThatDoesNotExistNamesTheNearest) {
  EXPECT_THAT(message_of([] { with("decod.slots=2"); }), HasSubstr("did you mean 'decode'?"));
}

TEST(Change, SlotsNeedAParallelStageAndLinksAConsumer) {
  RecordedRun run = three_stages();
  run.stages[1].parallel = false;
  EXPECT_THAT(message_of([&] { apply(run, parse_changes("decode.slots=2").front()); }), HasSubstr("one slot only"));
  EXPECT_EQ(message_of([&] { apply(run, parse_changes("decode.slots=1").front()); }), "");
  EXPECT_THAT(message_of([] { with("read.link.chunks=4"); }), HasSubstr("is a source"));
}

std::vector<std::string> overrides(const std::string& change, const std::string& config, std::string& why) {
  return overrides_of(parse_changes(change).front(), config, why);
}

TEST(Change, BecomesAnOverrideWhereTheConfigHasAKeyForIt) {
  const std::string config =
      R"({"stage":[{"name":"read","via":{"throttle_rate":"200 MB","latency":"5 ms"}},{"name":"decode"}]})";
  std::string why;
  EXPECT_THAT(overrides("decode.slots=2", config, why), ElementsAre("decode.slots=2"));
  EXPECT_THAT(overrides("decode.link.chunks=2", config, why), ElementsAre("decode.link.chunks=2"));
  EXPECT_THAT(overrides("decode.link.bytes=2MiB", config, why), ElementsAre("decode.link.bytes=\"2097152 B\""));
  EXPECT_THAT(overrides("pipeline.threads=2", config, why), ElementsAre("pipeline.threads=2"));
  EXPECT_THAT(overrides("read.rate=2x", config, why),
              ElementsAre("read.via.throttle_rate=\"400000000 B\"", "read.via.latency=\"2500000 ns\""));
  EXPECT_EQ(why, "");
  EXPECT_THAT(overrides("decode.rate=2x", config, why), IsEmpty());
  EXPECT_THAT(why, HasSubstr("no key of the config"));
  EXPECT_THAT(overrides("read.cpu=2x", config, why), IsEmpty());
  EXPECT_NE(why, "");
  EXPECT_THAT(overrides("cores=4", config, why), IsEmpty());
  EXPECT_THAT(why, HasSubstr("the machine's"));
}

}  // namespace
}  // namespace millrace
