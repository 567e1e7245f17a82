#include "pipeline/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/pipeline/verdict_scenario.h"

namespace millrace {
namespace {

using test::input_of;
using test::Scenario;
using test::Shares;
using testing::HasSubstr;
using testing::Not;

constexpr Role kSource = Role::source;
constexpr Role kTransform = Role::transform;
constexpr Role kSink = Role::sink;

struct Row {
  std::string what;
  std::string key;  ///< kind:stage
  Scenario run;
  std::vector<std::string> evidence = {};     ///< each part of some sentence
  std::vector<std::string> cannot_help = {};  ///< likewise
  std::string confidence = "";                ///< empty = any
  std::string second = "";
};

Shares source(double cpu, double io, double delay, double other, double blocked) {
  return {"read", kSource, cpu, io, delay, other, 0, blocked, 0, 1};
}
Shares stage(const std::string& name, double cpu, double delay, double starved, double blocked, double ready,
             std::uint32_t slots = 1) {
  return {name, kTransform, cpu, 0, delay, 0, starved, blocked, ready, slots};
}
Shares sink(double cpu, double io, double other, double starved) {
  return {"write", kSink, cpu, io, 0, other, starved, 0, 0, 1};
}

Scenario machine(Scenario run, std::uint32_t threads, std::uint32_t cores) {
  run.threads = threads;
  run.cores = cores;
  return run;
}
Scenario lasting(Scenario run, double wall_s, std::uint64_t chunks) {
  run.wall_s = wall_s;
  run.chunks = chunks;
  return run;
}
Scenario with_calls(Scenario run, double p50_of_mean, double p90_of_mean) {
  run.p50_of_mean = p50_of_mean;
  run.p90_of_mean = p90_of_mean;
  return run;
}
Scenario linked(Scenario run, std::vector<std::pair<std::size_t, std::size_t>> links) {
  run.links = std::move(links);
  return run;
}
Scenario dropping(Scenario run) {
  run.dropped_on_first_link = 100;
  return run;
}
Scenario sampled(Scenario run, std::uint32_t every) {
  run.cpu_sampled_every = every;
  return run;
}

std::vector<Row> io_rows() {
  return {
      {"a slow disk",
       "io-read:read",
       {{source(.06, .924, .001, 0, .01), stage("decode", .31, .002, .67, 0, .014, 2), sink(.02, .05, 0, .93)}},
       {"decode (each of its 2 slots) waited 6.70 s of 10.0 s for read", "92 % of its time waiting for the device"},
       {"more slots for decode: it starved 67 %", "a deeper link: read was in its calls 98 %",
        "a faster output or any write setting: write starved 93 %", "more cores or threads: 0.7 of 2 cores"},
       "sure",
       "compute:decode"},
      {"a slow disk, the machine loaded by others",
       "io-read:read",
       {{source(.06, .86, .07, 0, .01), stage("decode", .31, .20, .45, 0, .04), sink(.02, .05, 0, .93)}},
       {"so other processes had them"}},
      {"a reader that decodes a little",
       "io-read:read",
       {{source(.30, .69, 0, 0, .01), stage("f", .2, 0, .8, 0, 0), sink(.1, 0, 0, .9)}}},
      {"no part of the reader has the majority",
       "io-read:read",
       {{source(.35, .45, 0, .18, .02), stage("f", .2, 0, .8, 0, 0), sink(.1, 0, 0, .9)}},
       {},
       {},
       "unsure"},
      {"a reader with four slots on a slow device",
       "io-read:read",
       {{{"read", kSource, .05, .93, 0, 0, 0, .02, 0, 4}, stage("f", .4, 0, .6, 0, 0), sink(.1, 0, 0, .9)}}},
      {"only a reader and a writer",
       "io-read:read",
       {{source(.02, .97, 0, 0, .01), sink(.02, .03, 0, .95)}},
       {"write waited 9.50 s of 10.0 s for read"}},
      {"a slow output device",
       "io-write:write",
       {{source(.03, .07, 0, 0, .90), stage("encode", .2, 0, 0, .8, 0), sink(.03, .95, 0, .02)}},
       {"read was held up 9.00 s of 10.0 s, because write took no more", "95 % of its time waiting for the device"},
       {"any read setting, be it prefetch advice, transport or depth: write starved 2.0 %",
        "more slots for encode: it was blocked 80 %"},
       "sure"},
      {"a slow output device, the machine loaded by others",
       "io-write:write",
       {{source(.03, .07, .03, 0, .87), stage("encode", .2, .15, 0, .64, .01), sink(.03, .89, 0, .02)}}},
      {"a transform that reads through a map",
       "io-read:decode",
       {{source(.01, 0, 0, 0, .99), {"decode", kTransform, .2, .78, 0, 0, .01, .01, 0, 1}, sink(.1, 0, 0, .9)}},
       {"decode fetches the pages of a mapped file itself", "fault = \"reader\""}},
      {"io that waits for cores more than it works",
       "io-read:read",
       {{source(.10, .30, .58, 0, .02), stage("f", .1, .3, .6, 0, 0), sink(.05, 0, 0, .9)}},
       {},
       {},
       "unsure"},
  };
}

std::vector<Row> compute_rows() {
  return {
      {"one slow transform",
       "compute:basecall",
       {{source(.04, .06, 0, 0, .90), stage("basecall", .98, .01, 0, 0, .01), sink(.02, .01, 0, .97)}},
       {"read was held up 9.00 s of 10.0 s, because basecall took no more",
        "write waited 9.70 s of 10.0 s for basecall", "98 % of its time computing"},
       {"any read setting, be it prefetch advice, transport or depth: basecall never starved",
        "any write setting: write starved 97 %", "a deeper link: basecall was in its calls 99 %"},
       "sure"},
      {"one slow transform, half of its core taken by others",
       "compute:basecall",
       {{source(.04, .06, .03, 0, .87), stage("basecall", .50, .48, 0, 0, .02), sink(.02, .01, 0, .94)}},
       {"so other processes had them"}},
      {"both cores loaded by others",
       "compute:basecall",
       {{source(.04, .06, .05, 0, .85), stage("basecall", .40, .58, 0, 0, .02), sink(.02, .01, 0, .94)}}},
      {"trap: decoding inside the reader is not I/O",
       "compute:read",
       {{source(.93, .05, .01, 0, .01), stage("f", .1, 0, .9, 0, 0), sink(.02, 0, 0, .98)}},
       {"93 % of its time computing and only 5.0 % waiting for the device", "f waited 9.00 s of 10.0 s for read"},
       {"more slots for f: it starved 90 %"},
       "sure"},
      {"trap: decoding inside the reader, loaded machine",
       "compute:read",
       {{source(.60, .08, .31, 0, .01), stage("f", .1, .1, .8, 0, 0), sink(.02, 0, 0, .98)}}},
      {"a reader that copies from the page cache",
       "compute:read",
       {{source(.97, .01, .01, 0, .01), sink(.10, 0, 0, .90)}}},
      {"compressing inside the writer",
       "compute:write",
       {{source(.02, .03, 0, 0, .95), stage("f", .1, 0, 0, .9, 0), sink(.92, .06, 0, .02)}},
       {"not the I/O but the code around it"}},
      {"a parallel transform that takes every core",
       "compute:basecall",
       {{source(.02, .03, .02, 0, .93), stage("basecall", .95, .03, 0, 0, .02, 2), sink(.02, .01, 0, .96)}},
       {},
       {"more slots for basecall: all 2 cores are in use"}},
      {"more slots than cores, on as many threads", "compute:basecall",
       machine({{source(.02, .03, .05, 0, .9), stage("basecall", .48, .50, 0, 0, .02, 4), sink(.02, .01, 0, .96)}}, 4,
               2)},
      {"one worker, nearly all of it for one stage",
       "compute:basecall",
       machine({{source(.02, 0, 0, 0, .98), stage("basecall", .94, 0, 0, 0, .06), stage("f", .05, 0, .30, 0, .65),
                 sink(.02, 0, 0, .98)}},
               1, 2),
       {},
       {"more slots for basecall: no worker is free for them (threads = 1)"}},
      {"a slow transform behind light ones",
       "compute:c",
       {{source(.01, .04, 0, 0, .95), stage("a", .2, 0, 0, .8, 0), stage("b", .3, 0, 0, .7, 0),
         stage("c", .97, .01, .01, 0, .01), stage("d", .2, 0, .8, 0, 0), sink(.01, .02, 0, .97)}},
       {},
       {"more slots for b: it was blocked 70 %", "more slots for a: it was blocked 80 %"}},
      {"the next stage is close",
       "compute:a",
       {{source(.01, .04, 0, 0, .95), stage("a", .98, 0, 0, 0, .02), stage("b", .88, 0, .1, 0, .02),
         sink(.1, 0, 0, .9)}},
       {},
       {},
       "likely",
       "compute:b"},
      {"fan-out: one slow branch holds the other", "compute:slow",
       linked({{source(.05, .05, 0, 0, .9), stage("slow", .98, 0, .01, 0, .01), stage("fast", .2, 0, .8, 0, 0),
                sink(.05, 0, 0, .95)}},
              {{0, 1}, {0, 2}, {1, 3}, {2, 3}})},
      {"an instrument that drops: what it cannot deliver is no pace", "compute:f",
       dropping({{source(.01, 0, 0, .98, 0), stage("f", .97, .01, .01, 0, .01), sink(.05, 0, 0, .95)}})},
      {"a short run with its warm-up inside",
       "compute:f",
       lasting({{source(.01, .1, 0, 0, .3), stage("f", .62, 0, .36, 0, .02), sink(.05, 0, 0, .95)}}, .3, 50),
       {},
       {},
       "unsure"},
      {"busy four fifths of the time",
       "compute:f",
       {{source(.01, .1, 0, 0, .6), stage("f", .80, 0, .08, .02, .10), sink(.05, 0, 0, .95)}},
       {},
       {},
       "likely"},
      {"few samples of the CPU clock",
       "compute:f",
       sampled({{source(.01, .04, 0, 0, .95), stage("f", .98, 0, .01, 0, .01), sink(.05, 0, 0, .95)}}, 100),
       {},
       {},
       "likely"},
      {"few chunks",
       "compute:f",
       lasting({{source(.01, .04, 0, 0, .95), stage("f", .98, 0, .01, 0, .01), sink(.05, 0, 0, .95)}}, 10, 10),
       {},
       {},
       "likely"},
      {"three chunks",
       "compute:f",
       lasting({{source(.01, .04, 0, 0, .95), stage("f", .98, 0, .01, 0, .01), sink(.05, 0, 0, .95)}}, 10, 3),
       {},
       {},
       "unsure"},
  };
}

std::vector<Row> machine_rows() {
  return {
      {"three stages on two workers",
       "workers",
       {{source(.05, .05, .02, 0, .88), stage("a", .62, .03, 0, .1, .25), stage("b", .62, .03, .1, .05, .2),
         stage("c", .62, .03, .25, 0, .1), sink(.03, 0, 0, .97)}},
       {"no worker was free", "wanted 2.6 cores; the machine has 2"},
       {"any read setting, be it prefetch advice, transport or depth: read was blocked 88 %",
        "more slots for a: a slot was free and had work", "a deeper link"},
       "sure"},
      {"three stages on two workers, the machine loaded by others",
       "workers",
       {{source(.05, .05, .05, 0, .85), stage("a", .42, .22, 0, .1, .26), stage("b", .42, .22, .1, .05, .21),
         stage("c", .42, .22, .25, 0, .11), sink(.03, 0, 0, .97)}}},
      {"two slots each on two workers",
       "workers",
       {{source(.02, .02, 0, 0, .96), stage("a", .48, .01, 0, 0, .51, 2), stage("b", .48, .01, .51, 0, 0, 2),
         sink(.02, 0, 0, .98)}}},
      {"one worker on two cores",
       "workers",
       machine({{source(.02, .02, 0, 0, .96), stage("a", .5, 0, 0, 0, .5), stage("b", .48, 0, .5, 0, .02),
                 sink(.02, 0, 0, .98)}},
               1, 2),
       {"threads = 1 leaves 1 of 2 cores without a worker"}},
      {"more slots than workers for one stage",
       "workers",
       {{source(.02, .02, 0, 0, .96), stage("a", .47, .01, 0, 0, .52, 4), sink(.02, 0, 0, .98)}},
       {},
       {},
       "likely"},
      {"reader, worker and writer all compute on two cores",
       "workers",
       {{source(.5, 0, .46, 0, .04), stage("a", .5, .46, .02, .02, 0), stage("b", .5, .46, .02, .02, 0),
         sink(.5, 0, 0, .04)}}},
      {"two stages that need a core each, on two cores, are no shortage",
       "balanced",
       {{source(.02, .02, 0, 0, .96), stage("a", .97, .01, 0, .01, .01), stage("b", .97, .01, .01, 0, .01),
         sink(.02, 0, 0, .98)}},
       {"a and b are equally in demand"},
       {"speeding up only one of a and b",
        "any read setting, be it prefetch advice, transport or depth: read was blocked 96 %"}},
      {"two equal stages, the machine loaded by others",
       "balanced",
       {{source(.02, .02, 0, 0, .96), stage("a", .66, .26, 0, .06, .02), stage("b", .65, .2, .13, 0, .02),
         sink(.02, 0, 0, .98)}}},
      {"reading and writing as fast as each other",
       "balanced",
       {{source(.02, .96, 0, 0, .02), stage("f", .3, 0, .4, .3, 0), sink(.02, .94, 0, .04)}},
       {"read and write are equally in demand"}},
      {"three equal stages on four cores",
       "balanced",
       machine({{source(.02, .02, 0, 0, .96), stage("a", .93, 0, 0, .05, .02), stage("b", .92, 0, .03, .03, .02),
                 stage("c", .91, 0, .07, 0, .02), sink(.02, 0, 0, .98)}},
               4, 4),
       {"a, b and c are equally in demand"}},
  };
}

std::vector<Row> waiting_rows() {
  return {
      {"an instrument sets the pace",
       "source-paced:read",
       {{source(.01, 0, 0, .98, .01), stage("f", .3, 0, .7, 0, 0), sink(.05, .05, 0, .9)}},
       {"98 % of its time asleep until its next chunk was there", "could take 3.33x this rate"},
       {"any setting of this pipeline: read was blocked 1.0 % of its time"},
       "sure"},
      {"an instrument sets the pace, the machine loaded by others",
       "source-paced:read",
       {{source(.01, 0, .05, .93, .01), stage("f", .3, .25, .43, 0, .02), sink(.05, .05, 0, .9)}}},
      {"trap: a stage that sleeps inside its call is not compute",
       "latency:f",
       {{source(.01, 0, 0, 0, .99),
         stage("e", .1, 0, 0, .9, 0),
         {"f", kTransform, .03, 0, 0, .95, .01, .01, 0, 1},
         sink(.02, 0, 0, .98)}},
       {"off the CPU there for 95 %"},
       {"more cores or threads", "any read setting, be it prefetch advice, transport or depth: f starved 1.0 %"},
       "sure"},
      {"a stage that sleeps, the machine loaded by others",
       "latency:f",
       {{source(.01, 0, .01, 0, .98), {"f", kTransform, .05, 0, .10, .82, .01, .01, .01, 1}, sink(.02, 0, 0, .98)}}},
      {"a sink that waits for a network",
       "latency:write",
       {{source(.01, .02, 0, 0, .97), stage("f", .1, 0, 0, .9, 0), sink(.02, 0, .96, .02)}}},
      {"sleepers hold all workers",
       "latency:f",
       {{source(.02, 0, 0, 0, .98),
         stage("a", .1, 0, 0, .1, .8),
         {"f", kTransform, .02, 0, 0, .81, .02, 0, .15, 2},
         stage("b", .15, 0, .4, 0, .45),
         sink(.02, 0, 0, .98)}},
       {"All 2 workers were inside calls", "but computed only"}},
      {"bursts of the source through a short link",
       "link:read -> f",
       with_calls({{source(.01, 0, 0, .49, .5), stage("f", .5, 0, .5, 0, 0), sink(.02, 0, 0, .98)}}, .05, .1),
       {"ran full and empty in turn", "A deeper link can make the run up to 2.00x faster"},
       {"more slots for f: it starved 50 %"}},
      {"bursts of a transform through a short link",
       "link:f -> g",
       with_calls({{source(.02, .02, 0, 0, .96), stage("f", .6, 0, 0, .38, .02), stage("g", .6, 0, .38, 0, .02),
                    sink(.02, 0, 0, .98)}},
                  .2, 3),
       {},
       {"any read setting, be it prefetch advice, transport or depth: read was blocked 96 %"}},
      {"bursts, the machine loaded by others", "link:f -> g",
       with_calls({{source(.02, .02, 0, 0, .96), stage("f", .5, .15, 0, .31, .04), stage("g", .5, .13, .32, 0, .05),
                    sink(.02, 0, 0, .98)}},
                  .2, 3)},
      {"long even calls that yet miss each other", "link:f -> g",
       lasting({{source(.02, .02, 0, 0, .96), stage("f", .6, 0, 0, .38, .02), stage("g", .6, 0, .38, 0, .02),
                 sink(.02, 0, 0, .98)}},
               10, 1000)},
      {"tiny chunks ping-pong through a link of one",
       "latency",
       lasting({{source(.1, 0, 0, 0, .9), stage("f", .15, 0, .35, .3, .2), stage("g", .15, 0, .4, .25, .2),
                 sink(.1, 0, 0, .9)}},
               10, 1'000'000),
       {"Nothing is busy: the busiest stage, f, was in a call 15 %", "Larger chunks or deeper links"},
       {"a faster device, or faster code in any one stage"}},
      {"waking the worker takes longer than the work", "latency",
       lasting({{source(.1, 0, 0, 0, .9), stage("f", .3, 0, .1, 0, .6), sink(.1, 0, 0, .9)}}, 10, 1'000'000)},
  };
}

// Measured with a dozen other processes on two cores: what a stage needs, not how long it takes, tells the truth.
std::vector<Row> contended_rows() {
  return {
      {"a slow disk, work that takes as long for want of a core",
       "io-read:read",
       {{source(.033, .526, .386, 0, 0), stage("work", .181, .79, .026, 0, 0), sink(.001, 0, 0, .896)}},
       {"read waited 39 % of its time for a core", "so other processes had them"},
       {},
       "unsure"},
      {"a slow output device, likewise",
       "io-write:write",
       {{source(.057, 0, .011, 0, .229),
         stage("work", .144, .754, .001, 0, 0),
         {"write", kSink, .054, .35, .442, 0, .042, 0, .113, 1}}}},
      {"an instrument, likewise",
       "source-paced:read",
       {{source(.003, 0, .211, .578, .017), stage("work", .181, .816, .002, 0, 0), sink(0, 0, 0, .386)}}},
      {"bursts, likewise", "link:bursty -> steady",
       with_calls({{source(.002, 0, 0, 0, .884),
                    {"bursty", kTransform, .002, 0, .114, .314, 0, .392, .175, 1},
                    {"steady", kTransform, .003, 0, .447, .313, .237, 0, 0, 1},
                    sink(0, 0, 0, .928)}},
                  .4, 5)},
      {"equal stages, likewise",
       "balanced",
       {{source(0, 0, 0, 0, .772), stage("left", .074, .799, 0, .009, .091), stage("right", .069, .93, 0, 0, 0),
         sink(0, 0, 0, .798)}}},
      {"one slow stage and a light one, likewise",
       "compute:work",
       {{source(0, 0, 0, 0, .9), stage("light", .03, .5, 0, .3, .1), stage("work", .14, .85, 0, 0, .01),
         sink(0, 0, 0, .9)}}},
      {"three stages on one worker, likewise", "workers",
       machine({{source(0, 0, 0, 0, .9), stage("a", .03, .3, .0, .0, .67), stage("b", .03, .3, .1, .0, .57),
                 stage("c", .03, .3, .2, 0, .47), sink(0, 0, 0, .9)}},
               1, 2)},
      {"a sleeper, likewise",
       "latency:ask",
       {{source(0, 0, 0, 0, .9), {"ask", kTransform, .01, 0, .4, .57, .01, 0, .01, 1}, sink(0, 0, 0, .9)}}},
  };
}

std::vector<Row> empty_rows() {
  return {
      {"no time", "none", lasting({{source(.5, .5, 0, 0, 0), sink(1, 0, 0, 0)}}, 0, 0), {}, {}, "unsure"},
      {"too short", "none", lasting({{source(.5, .5, 0, 0, 0), sink(1, 0, 0, 0)}}, .002, 10)},
      {"no stages", "none", {}},
      {"nothing went through", "none", {{source(0, 0, 0, 0, 0), sink(0, 0, 0, 1)}}},
      {"one stage of unknown calls", "source-paced:read", {{source(0, 0, 0, .99, .01), sink(0, 0, 0, 1)}}},
  };
}

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const auto& group : {io_rows(), compute_rows(), machine_rows(), waiting_rows(), contended_rows(), empty_rows()})
    rows.insert(rows.end(), group.begin(), group.end());
  return rows;
}

TEST(Judge, NamesTheBottleneckOfEveryRow) {
  ASSERT_GE(all_rows().size(), 40U);
  for (const auto& row : all_rows()) {
    SCOPED_TRACE(row.what);
    const Verdict verdict = judge(input_of(row.run));
    EXPECT_EQ(verdict_key(verdict), row.key) << verdict.rule;
    for (const auto& part : row.evidence) EXPECT_THAT(verdict.evidence, testing::Contains(HasSubstr(part)));
    for (const auto& part : row.cannot_help) EXPECT_THAT(verdict.cannot_help, testing::Contains(HasSubstr(part)));
    if (!row.confidence.empty()) {
      EXPECT_EQ(verdict.confidence, row.confidence) << verdict.rule;
    }
    if (!row.second.empty()) {
      EXPECT_EQ(verdict.second, row.second);
    }
    EXPECT_THAT(verdict.rule, HasSubstr(row.key == "none" ? "nothing to judge" : "confidence: " + verdict.confidence));
    EXPECT_FALSE(verdict.evidence.empty());
  }
}

TEST(Judge, NeverRulesOutReadingForAStageThatWaitsForItsInputsFile) {
  for (const auto& row : all_rows()) {
    if (!row.key.starts_with("io-read")) continue;
    for (const auto& change : judge(input_of(row.run)).cannot_help) {
      EXPECT_THAT(change, Not(HasSubstr("read setting"))) << row.what;
    }
  }
}

TEST(Judge, DoublingAllTimesChangesNothing) {
  for (const auto& row : all_rows()) {
    SCOPED_TRACE(row.what);
    const Verdict once = judge(input_of(row.run));
    if (once.kind == "none") continue;
    Scenario twice = row.run;
    twice.wall_s *= 2;
    const Verdict verdict = judge(input_of(twice));
    EXPECT_EQ(verdict_key(verdict), verdict_key(once));
    EXPECT_EQ(verdict.second, once.second);
    EXPECT_NEAR(verdict.ceiling, once.ceiling, 1e-6);
  }
}

TEST(Judge, OrderOfStagesChangesNothing) {
  for (const auto& row : all_rows()) {
    SCOPED_TRACE(row.what);
    VerdictInput input = input_of(row.run);
    const Verdict before = judge(input);
    std::reverse(input.stages.begin(), input.stages.end());
    for (auto& link : input.links) {
      link.from = input.stages.size() - 1 - link.from;
      link.to = input.stages.size() - 1 - link.to;
    }
    EXPECT_EQ(verdict_key(judge(input)), verdict_key(before));
  }
}

TEST(Judge, MoreWaitingForTheDeviceNeverMakesAReaderComputeBound) {
  bool was_io = false;
  for (double io = .05; io < .95; io += .05) {
    const Scenario run{{source(.98 - io, io, 0, 0, .02), stage("f", .2, 0, .8, 0, 0), sink(.1, 0, 0, .9)}};
    const Verdict verdict = judge(input_of(run));
    const bool is_io = verdict_key(verdict) == "io-read:read";
    EXPECT_TRUE(is_io || verdict_key(verdict) == "compute:read");
    EXPECT_TRUE(is_io || !was_io) << io;
    EXPECT_EQ(is_io, io > .49) << io;
    was_io = is_io;
  }
  EXPECT_TRUE(was_io);
}

TEST(Judge, RunDelayAloneNeverChangesTheVerdict) {
  for (double taken = 0; taken < .6; taken += .05) {
    const Scenario io{{source(.1 * (1 - taken), .88 * (1 - taken), .98 * taken, 0, .02), stage("f", .2, 0, .8, 0, 0),
                       sink(.1, 0, 0, .9)}};
    EXPECT_EQ(verdict_key(judge(input_of(io))), "io-read:read") << taken;
    const Scenario compute{
        {source(.05, .05, 0, 0, .9), stage("f", .98 * (1 - taken), .98 * taken, 0, 0, .02), sink(.1, 0, 0, .9)}};
    EXPECT_EQ(verdict_key(judge(input_of(compute))), "compute:f") << taken;
  }
}

TEST(Judge, CeilingIsWhatTheNextStageAllows) {
  const Scenario run{{source(.05, .94, 0, 0, .01), stage("f", .5, 0, .5, 0, 0), sink(.1, .1, 0, .8)}};
  const Verdict verdict = judge(input_of(run));
  EXPECT_NEAR(verdict.ceiling, 2.0, 1e-6);
  EXPECT_EQ(verdict.second, "compute:f");
}

TEST(Judge, CeilingIsCutByTheCores) {
  // Four slots of f on eight threads need 1.6 cores of the two: the cores allow 1.25x, the slots alone 2.5x.
  Scenario run = machine({{source(.0, .99, 0, 0, .01), stage("f", .4, 0, .6, 0, 0, 4), sink(0, .1, 0, .9)}}, 8, 2);
  const Verdict verdict = judge(input_of(run));
  EXPECT_EQ(verdict_key(verdict), "io-read:read");
  EXPECT_NEAR(verdict.ceiling, 1.25, 1e-6);
  EXPECT_EQ(verdict.second, "workers");
}

TEST(Judge, CeilingIsUnknownWhenNothingElseDoesAnything) {
  const Scenario run{{source(.05, .94, 0, 0, .01), sink(0, 0, 0, 1)}};
  const Verdict verdict = judge(input_of(run));
  EXPECT_NEAR(verdict.ceiling, 0, 1e-6);
  EXPECT_EQ(verdict.second, "");
}

/// 'call' waits nearly all the time in its slots, while 'work' and the workers have little to do.
VerdictInput waiting_call(std::uint32_t slots, double child_cores) {
  Shares call{"call", kTransform, .02, 0, 0, .96, .02, 0, 0, slots};
  VerdictInput input = input_of(
      machine({{source(.05, .05, 0, 0, .9), call, stage("work", .1, 0, .9, 0, 0), sink(.05, 0, 0, .95)}}, 2, 2));
  input.stages[1].own_threads = true;
  input.stages[1].child_cpu_ns = std::llround(child_cores * static_cast<double>(input.wall_ns));
  return input;
}

TEST(Judge, AStageThatWaitsOnThreadsOfItsOwnIsLatencyWhateverTheWorkersDo) {
  const Verdict verdict = judge(waiting_call(8, 0));
  EXPECT_EQ(verdict_key(verdict), "latency:call");
  // Its eight slots are no load of the two workers: without it, 'work' allows 10x.
  EXPECT_NEAR(verdict.ceiling, 10, 1e-6);
  for (const auto& sentence : verdict.evidence) EXPECT_THAT(sentence, Not(HasSubstr("workers were inside calls")));
}

TEST(Judge, SaysWhetherChildProcessesComputeOrWait) {
  const auto own_time = [](double child_cores) {
    for (const auto& sentence : judge(waiting_call(1, child_cores)).evidence)
      if (sentence.find("child processes") != std::string::npos) return sentence;
    return std::string();
  };
  EXPECT_EQ(own_time(0), "");
  EXPECT_THAT(own_time(0.9), HasSubstr("they compute"));
  EXPECT_THAT(own_time(0.1), HasSubstr("they mostly wait too"));
}

TEST(Judge, WhatChildProcessesComputeIsPartOfTheCores) {
  // Two slots whose processes have a core each: the machine of two cores is full, so cores are not said to be spare.
  const Verdict idle = judge(waiting_call(2, 0));
  const Verdict full = judge(waiting_call(2, 1.9));
  const auto spares_cores = [](const Verdict& verdict) {
    return std::any_of(verdict.cannot_help.begin(), verdict.cannot_help.end(),
                       [](const auto& change) { return change.find("more cores or threads") != std::string::npos; });
  };
  EXPECT_TRUE(spares_cores(idle));
  EXPECT_FALSE(spares_cores(full));
}

TEST(VerdictTitle, SaysEveryKindInWords) {
  EXPECT_EQ(verdict_title(std::string("io-read:read")), "I/O-bound at 'read'");
  EXPECT_EQ(verdict_title(std::string("io-write:write")), "I/O-bound at 'write'");
  EXPECT_EQ(verdict_title(std::string("compute:f")), "compute-bound at 'f'");
  EXPECT_EQ(verdict_title(std::string("workers")), "out of cores");
  EXPECT_EQ(verdict_title(std::string("latency")), "latency-bound: nothing is busy");
  EXPECT_EQ(verdict_title(std::string("latency:f")), "latency-bound at 'f'");
  EXPECT_THAT(verdict_title(std::string("source-paced:read")), HasSubstr("keeps up"));
  EXPECT_THAT(verdict_title(std::string("link:a -> b")), HasSubstr("'a -> b'"));
  EXPECT_THAT(verdict_title(std::string("balanced")), HasSubstr("no single stage"));
  EXPECT_EQ(verdict_title(std::string("none")), "no verdict");
}

}  // namespace
}  // namespace millrace
