#include "pipeline/drift.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <utility>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// What a reader, a caller and a writer do in one second, in shares of it.
struct Second {
  double rate = 100;  ///< bytes of a thousandth of the unit below
  double read_io = .1;
  double call_cpu = .95;
  double write_io = .05;
};

const Second kComputing{100, .1, .95, .05};
const Second kBackedUp{66, .06, .4, .98};
constexpr double kUnit = 1e6;

/// A run that is made up second by second and shown to a detector.
class MadeUpRun {
 public:
  explicit MadeUpRun(std::int64_t step_s = 2) : step_s_(step_s), detector_(shape()) {
    now_.stages.resize(3);
    now_.link_chunks = {2, 2};
  }

  MadeUpRun& go(std::int64_t seconds, const std::function<Second(std::int64_t)>& at) {
    for (std::int64_t i = 0; i < seconds; ++i) {
      spend(at(i));
      if (++second_ % step_s_ != 0) continue;
      if (const auto found = detector_.add(now_)) told_.push_back(*found);
    }
    return *this;
  }
  MadeUpRun& go(std::int64_t seconds, const Second& always) {
    return go(seconds, [&](std::int64_t) { return always; });
  }
  MadeUpRun& source_done() {
    now_.stages[0].time.done_ns = 1;
    return *this;
  }

  const std::vector<DriftReport>& told() const { return told_; }
  std::vector<std::string> kinds() const {
    std::vector<std::string> result;
    for (const auto& drift : told_) result.push_back(drift.kind);
    return result;
  }

  static RunReport shape() {
    RunReport shape;
    shape.threads = 2;
    shape.environment.cpus = 4;
    for (const auto& [name, role] :
         {std::pair<const char*, Role>{"read", Role::source}, {"call", Role::transform}, {"write", Role::sink}}) {
      shape.stages.emplace_back();
      shape.stages.back().name = name;
      shape.stages.back().role = role;
    }
    for (std::size_t i = 1; i < 3; ++i) {
      shape.links.emplace_back();
      shape.links.back().from = shape.stages[i - 1].name;
      shape.links.back().to = shape.stages[i].name;
      shape.links.back().capacity_chunks = 4;
    }
    return shape;
  }

 private:
  static std::int64_t ns(double share) { return std::llround(share * 1e9); }

  void spend(const Second& second) {
    now_.at_ns += 1'000'000'000;
    const bool writing = second.write_io > second.call_cpu;
    auto& read = now_.stages[0];
    auto& call = now_.stages[1];
    auto& write = now_.stages[2];
    read.time.busy_ns += ns(second.read_io);
    read.busy.io_wait_ns += ns(second.read_io);
    read.time.blocked_ns += ns(1 - second.read_io);
    call.time.busy_ns += ns(second.call_cpu);
    call.busy.on_cpu_ns += ns(second.call_cpu);
    (writing ? call.time.blocked_ns : call.time.starved_ns) += ns(1 - second.call_cpu);
    write.time.busy_ns += ns(second.write_io);
    write.busy.io_wait_ns += ns(second.write_io);
    write.time.starved_ns += ns(1 - second.write_io);
    for (auto& stage : now_.stages) {
      const auto chunks = static_cast<std::uint64_t>(std::llround(std::max(0.0, second.rate)));
      const auto bytes = static_cast<std::uint64_t>(std::llround(std::max(0.0, second.rate) * kUnit));
      stage.chunks_in += &stage == &read ? 0 : chunks;
      stage.bytes_in += &stage == &read ? 0 : bytes;
      stage.chunks_out += &stage == &write ? 0 : chunks;
      stage.bytes_out += &stage == &write ? 0 : bytes;
    }
  }

  std::int64_t step_s_;
  std::int64_t second_ = 0;
  Sample now_;
  DriftDetector detector_;
  std::vector<DriftReport> told_;
};

Second scaled(Second second, double factor) {
  second.rate *= factor;
  return second;
}

constexpr std::int64_t kMinute = 60;
constexpr std::int64_t kHour = 3600;

TEST(DriftDetector, TellsOnceThatARunOfAnHourBacksUpAtTheWriter) {
  MadeUpRun run;
  run.go(kHour + 130, kComputing).go(30 * kMinute, kBackedUp);
  ASSERT_THAT(run.kinds(), ElementsAre("slower"));
  const DriftReport& drift = run.told().front();
  EXPECT_NEAR(static_cast<double>(drift.at_ns), 3730e9, 15e9);
  EXPECT_NEAR(drift.before_rate, 100 * kUnit, 2 * kUnit);
  EXPECT_NEAR(drift.after_rate, 66 * kUnit, 2 * kUnit);
  EXPECT_EQ(drift.before, "compute:call");
  EXPECT_EQ(drift.after, "io-write:write");
  EXPECT_THAT(drift_text(drift), HasSubstr("I/O-bound at 'write', was compute-bound at 'call'"));
}

TEST(DriftDetector, TellsWithinTwoMinutesAndNotBeforeOne) {
  MadeUpRun run;
  run.go(20 * kMinute, kComputing).go(55, kBackedUp);
  EXPECT_THAT(run.kinds(), IsEmpty());
  run.go(65, kBackedUp);
  EXPECT_THAT(run.kinds(), ElementsAre("slower"));
}

TEST(DriftDetector, TellsThatADropIsOver) {
  MadeUpRun run;
  run.go(20 * kMinute, kComputing).go(10 * kMinute, kBackedUp).go(10 * kMinute, kComputing);
  ASSERT_THAT(run.kinds(), ElementsAre("slower", "recovered"));
  EXPECT_NEAR(static_cast<double>(run.told()[1].at_ns), 1800e9, 15e9);
  EXPECT_EQ(run.told()[1].after, "compute:call");
  EXPECT_NEAR(run.told()[1].after_rate, 100 * kUnit, 2 * kUnit);
}

TEST(DriftDetector, TellsEachStepOfAStaircaseAndTheWayBack) {
  MadeUpRun run;
  run.go(20 * kMinute, kComputing)
      .go(20 * kMinute, scaled(kComputing, .7))
      .go(20 * kMinute, scaled(kComputing, .4))
      .go(20 * kMinute, scaled(kComputing, .7))
      .go(20 * kMinute, kComputing);
  EXPECT_THAT(run.kinds(), ElementsAre("slower", "slower", "recovered", "recovered"));
}

TEST(DriftDetector, FindsASlideOverHours) {
  MadeUpRun run;
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(0, .05);
  run.go(8 * kHour, [&](std::int64_t s) {
    return scaled(kComputing, 1 - .5 * static_cast<double>(s) / (8 * kHour) + noise(random));
  });
  ASSERT_THAT(run.told(), Not(IsEmpty()));
  EXPECT_EQ(run.told().front().kind, "slower");
}

TEST(DriftDetector, TellsThatTheBottleneckMovedAtTheSameRate) {
  MadeUpRun run;
  Second writing = kBackedUp;
  writing.rate = 98;
  run.go(20 * kMinute, kComputing).go(20 * kMinute, writing);
  ASSERT_THAT(run.kinds(), ElementsAre("moved"));
  EXPECT_EQ(run.told()[0].before, "compute:call");
  EXPECT_EQ(run.told()[0].after, "io-write:write");
  EXPECT_NEAR(static_cast<double>(run.told()[0].at_ns), 1200e9, 62e9);
}

TEST(DriftDetector, SwingsOfTheBottleneckAreToldEverLess) {
  MadeUpRun run;
  Second writing = kBackedUp;
  writing.rate = 98;
  for (int i = 0; i < 100; ++i) run.go(5 * kMinute, kComputing).go(5 * kMinute, writing);
  EXPECT_GE(run.told().size(), 1U);
  EXPECT_LE(run.told().size(), 3U);
}

TEST(DriftDetector, SaysNothingOfStartAndEnd) {
  MadeUpRun run;
  run.go(10, scaled(kComputing, 5)).go(10 * kMinute, kComputing);
  run.source_done().go(10 * kMinute, scaled(kComputing, 0));
  EXPECT_THAT(run.kinds(), IsEmpty());
}

TEST(DriftDetector, SaysNothingOfAPauseThatIsOver) {
  MadeUpRun run;
  for (int i = 0; i < 5; ++i) run.go(10 * kMinute, kComputing).go(40, scaled(kComputing, 0));
  run.go(10 * kMinute, kComputing);
  EXPECT_THAT(run.kinds(), IsEmpty());
}

TEST(DriftDetector, FindsTheSameInRareSamples) {
  for (const std::int64_t step : {1, 7, 30, 90, 300}) {
    MadeUpRun run(step);
    run.go(2 * kHour, kComputing).go(2 * kHour, kBackedUp);
    ASSERT_THAT(run.kinds(), ElementsAre("slower")) << step;
    EXPECT_NEAR(static_cast<double>(run.told()[0].at_ns), 7200e9, (15 + static_cast<double>(step)) * 1e9);
  }
}

TEST(DriftDetector, FindsADropAfterDays) {
  MadeUpRun run(30);
  run.go(72 * kHour, kComputing).go(kHour, kBackedUp);
  EXPECT_THAT(run.kinds(), ElementsAre("slower"));
}

TEST(DriftDetector, CountsChunksWhereThereAreNoBytes) {
  DriftDetector detector(MadeUpRun::shape());
  Sample sample;
  sample.stages.resize(3);
  sample.link_chunks = {0, 0};
  std::vector<DriftReport> told;
  for (int s = 1; s <= 1200; ++s) {
    sample.at_ns += 1'000'000'000;
    for (auto& stage : sample.stages) {
      stage.time.busy_ns += 500'000'000;
      stage.chunks_in += s <= 600 ? 10 : 5;
      stage.chunks_out = stage.chunks_in;
    }
    if (const auto found = detector.add(sample)) told.push_back(*found);
  }
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].unit, "chunks");
  EXPECT_THAT(drift_text(told[0]), HasSubstr("50 % slower (5 chunks/s, was "));
}

TEST(DriftDetector, IgnoresSamplesThatDoNotFit) {
  DriftDetector detector(MadeUpRun::shape());
  EXPECT_FALSE(detector.add(Sample{}));
}

/// Rates of four hours that go up and down without ever getting slower.
struct Noise {
  const char* name;
  std::function<std::function<double(std::int64_t)>(std::uint64_t seed)> make;
};

class DriftDetectorOnNoise : public testing::TestWithParam<Noise> {};

TEST_P(DriftDetectorOnNoise, RaisesNoAlarm) {
  std::size_t alarms = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    MadeUpRun run;
    const auto factor = GetParam().make(seed);
    run.go(4 * kHour, [&](std::int64_t s) { return scaled(kComputing, factor(s)); });
    alarms += run.told().size();
  }
  EXPECT_EQ(alarms, 0U) << "in twenty hours";
}

std::function<double(std::int64_t)> normal(std::uint64_t seed, double cv, double memory) {
  auto random = std::make_shared<std::mt19937_64>(seed);
  auto state = std::make_shared<double>(0);
  return [=](std::int64_t) {
    std::normal_distribution<double> noise(0, cv);
    *state = memory * *state + std::sqrt(1 - memory * memory) * noise(*random);
    return std::max(0.0, 1 + *state);
  };
}

/// Now and then nothing for up to half a minute, then what was missed.
std::function<double(std::int64_t)> bursts(std::uint64_t seed) {
  auto random = std::make_shared<std::mt19937_64>(seed);
  auto quiet = std::make_shared<std::int64_t>(0);
  auto owed = std::make_shared<double>(0);
  return [=](std::int64_t) {
    if (*quiet == 0 && (*random)() % 60 == 0) *quiet = static_cast<std::int64_t>((*random)() % 30);
    if (*quiet > 0) {
      --*quiet;
      *owed += 1;
      return 0.0;
    }
    return 1.0 + std::exchange(*owed, 0.0);
  };
}

std::function<double(std::int64_t)> batches(std::uint64_t seed, std::int64_t period) {
  auto random = std::make_shared<std::mt19937_64>(seed);
  return [=](std::int64_t s) {
    std::uniform_real_distribution<double> size(.9, 1.1);
    return s % period < period / 3 ? 3 * size(*random) : 0.0;
  };
}

INSTANTIATE_TEST_SUITE_P(
    Rates, DriftDetectorOnNoise,
    testing::Values(Noise{"Even", [](std::uint64_t) { return [](std::int64_t) { return 1.0; }; }},
                    Noise{"TenPercent", [](std::uint64_t seed) { return normal(seed, .1, 0); }},
                    Noise{"HalfAsMuchAgain", [](std::uint64_t seed) { return normal(seed, .5, 0); }},
                    Noise{"SlowWaves", [](std::uint64_t seed) { return normal(seed, .2, .95); }},
                    Noise{"VerySlowWaves", [](std::uint64_t seed) { return normal(seed, .08, .98); }},
                    Noise{"Bursts", [](std::uint64_t seed) { return bursts(seed); }},
                    Noise{"BatchesOfSixSeconds", [](std::uint64_t seed) { return batches(seed, 6); }},
                    Noise{"BatchesOfHalfAMinute", [](std::uint64_t seed) { return batches(seed, 30); }},
                    Noise{"BatchesOfAMinute", [](std::uint64_t seed) { return batches(seed, 60); }}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(DriftText, SaysWhenHowMuchAndWhatChanged) {
  EXPECT_EQ(drift_text({"slower", 3'730'000'000'000, 1e9, 66e7, "bytes", "compute:call", "io-write:write"}),
            "since 1:02:10 the run is 34 % slower (629 MiB/s, was 954 MiB/s): I/O-bound at 'write', was compute-bound "
            "at 'call'");
  EXPECT_EQ(drift_text({"slower", 60'000'000'000, 10, 0, "chunks", "compute:call", "compute:call"}),
            "since 0:01:00 the run is 100 % slower (0 chunks/s, was 10 chunks/s): still compute-bound at 'call'");
  EXPECT_EQ(drift_text({"recovered", 400'000'000'000'000, 10, 20, "chunks", "io-write:write", "workers"}),
            "since 111:06:40 the run is as fast as before again (20 chunks/s, was 10 chunks/s): out of cores, was "
            "I/O-bound at 'write'");
  EXPECT_EQ(drift_text({"moved", 0, 10, 10, "chunks", "io-write:write", "io-read:read"}),
            "since 0:00:00 another stage sets the pace (10 chunks/s, was 10 chunks/s): I/O-bound at 'read', was "
            "I/O-bound at 'write'");
}

}  // namespace
}  // namespace millrace
