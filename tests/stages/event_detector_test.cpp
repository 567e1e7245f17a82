#include "stages/event_detector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/stages/reference_events.h"
#include "tests/support/allocation_count.h"
#include "tests/support/stage_driver.h"

namespace millrace {
namespace {

struct Event {
  std::uint64_t start;
  std::uint64_t length;
  float mean;
  float stdv;
};

template <typename Sample>
std::vector<Event> detect(EventDetector& detector, const std::vector<Sample>& signal) {
  std::vector<float> fields(detector.max_events(signal.size()) * EventDetector::kFieldsPerEvent);
  const std::uint64_t count = detector.detect(std::span<const Sample>(signal), fields);
  EXPECT_LE(count, detector.max_events(signal.size()));
  std::vector<Event> events;
  std::uint64_t start = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    EXPECT_GE(fields[3 * i], 1);
    events.push_back({start, static_cast<std::uint64_t>(fields[3 * i]), fields[3 * i + 1], fields[3 * i + 2]});
    start += events.back().length;
  }
  EXPECT_EQ(start, signal.size()) << "the events tile the signal";
  return events;
}

template <typename Sample>
std::vector<std::uint64_t> starts(const std::vector<Sample>& signal, const EventSettings& settings = {}) {
  EventDetector detector(settings);
  std::vector<std::uint64_t> result;
  for (const Event& event : detect(detector, signal)) result.push_back(event.start);
  return result;
}

/// Levels with normal noise, a pore's signal in raw units.
std::vector<std::int16_t> noisy_steps(std::mt19937_64& random, std::size_t samples, double noise, int spread) {
  std::vector<std::int16_t> signal;
  std::normal_distribution<double> deviation(0, noise);
  while (signal.size() < samples) {
    const double level = static_cast<double>(random() % static_cast<unsigned>(spread)) - spread / 2.0;
    for (std::size_t i = 2 + random() % 14; i > 0 && signal.size() < samples; --i) {
      signal.push_back(static_cast<std::int16_t>(std::clamp(level + deviation(random), -32768.0, 32767.0)));
    }
  }
  return signal;
}

template <typename Sample>
void expect_reference(const std::vector<Sample>& signal, const EventSettings& settings) {
  EventDetector detector(settings);
  const auto got = detect(detector, signal);
  const auto wanted = test::reference_events({signal.begin(), signal.end()}, settings);
  ASSERT_EQ(got.size(), wanted.size()) << signal.size() << " samples";
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].start, wanted[i].start) << "event " << i;
    ASSERT_EQ(got[i].length, wanted[i].length) << "event " << i;
    ASSERT_NEAR(got[i].mean, wanted[i].mean, 1e-6 * (1 + std::abs(wanted[i].mean))) << "event " << i;
    ASSERT_NEAR(got[i].stdv, wanted[i].stdv, 1e-5 * (1 + std::abs(wanted[i].stdv))) << "event " << i;
  }
}

const EventSettings kSettings[] = {
    {},
    {.window_short = 5, .window_long = 10, .threshold_short = 2.1F, .threshold_long = 13.5F},
    {.window_short = 7, .window_long = 12, .threshold_short = 2.8F, .threshold_long = 18.0F},
    {.window_short = 2, .window_long = 3, .threshold_short = 0, .threshold_long = 0, .peak_height = 0},
    {.window_short = 4, .window_long = 40, .threshold_short = 20, .threshold_long = 3, .peak_height = 1},
    {.window_short = 30, .window_long = 700, .threshold_short = 3, .threshold_long = 5, .peak_height = 0.5F},
};

TEST(EventDetector, FindsWhatTheReferenceFinds) {
  std::mt19937_64 random(11);
  for (const EventSettings& settings : kSettings) {
    for (int round = 0; round < 60; ++round) {
      const double noise = round % 3 == 0 ? 0 : 1 + static_cast<double>(random() % 40);
      const int spread = round % 5 == 0 ? 65535 : 500;
      expect_reference(noisy_steps(random, random() % (round % 4 == 0 ? 6000 : 300), noise, spread), settings);
    }
  }
}

TEST(EventDetector, FindsTheSameInAFloatSignal) {
  std::mt19937_64 random(12);
  for (const EventSettings& settings : kSettings) {
    for (int round = 0; round < 40; ++round) {
      const auto raw = noisy_steps(random, random() % 3000, 10, 500);
      std::vector<float> exact(raw.begin(), raw.end());
      EXPECT_EQ(starts(exact, settings), starts(raw, settings));
      for (float& sample : exact) sample = (sample - 430.5F) * 0.0123F;
      expect_reference(exact, settings);
    }
  }
}

TEST(EventDetector, AgreesWithTheReferenceOnEveryShortSignal) {
  for (std::size_t length = 0; length <= 9; ++length) {
    for (unsigned pattern = 0; pattern < 1U << length; ++pattern) {
      std::vector<std::int16_t> signal;
      for (std::size_t i = 0; i < length; ++i) signal.push_back((pattern >> i & 1U) != 0 ? 10 : 0);
      expect_reference(signal, {.window_short = 2, .window_long = 3, .threshold_short = 1, .threshold_long = 2});
    }
  }
}

TEST(EventDetector, PutsBoundariesOnTheEdgesOfSteps) {
  std::vector<std::int16_t> signal;
  std::vector<std::uint64_t> edges;
  const int levels[] = {400, 520, 380, 390, 700, 10, 11};
  for (int step = 0; step < 200; ++step) {
    edges.push_back(signal.size());
    signal.insert(signal.end(), static_cast<std::size_t>(6 + step % 40), static_cast<std::int16_t>(levels[step % 7]));
  }
  EXPECT_EQ(starts(signal), edges);
  EXPECT_EQ(starts(std::vector<float>(signal.begin(), signal.end())), edges);

  EventDetector detector{EventSettings{}};
  const auto events = detect(detector, signal);
  for (std::size_t step = 0; step < events.size(); ++step) {
    EXPECT_EQ(events[step].mean, static_cast<float>(levels[step % 7]));
    EXPECT_EQ(events[step].stdv, 0);
  }
}

TEST(EventDetector, FindsNoBoundaryInAConstantSignal) {
  for (const std::size_t length : {1, 2, 5, 6, 11, 12, 13, 511, 512, 513, 5000}) {
    EXPECT_EQ(starts(std::vector<std::int16_t>(length, -32768)), std::vector<std::uint64_t>{0});
    EXPECT_EQ(starts(std::vector<float>(length, 0.1F)), std::vector<std::uint64_t>{0}) << length;
    EXPECT_EQ(starts(std::vector<float>(length, 1e30F)), std::vector<std::uint64_t>{0}) << length;
  }
}

TEST(EventDetector, GivesNoEventForAnEmptySignal) {
  EXPECT_TRUE(starts(std::vector<std::int16_t>{}).empty());
  EXPECT_TRUE(starts(std::vector<float>{}).empty());
}

TEST(EventDetector, GivesOneEventForASignalShorterThanTwoWindows) {
  EventDetector detector{EventSettings{}};
  const auto events = detect(detector, std::vector<std::int16_t>{0, 0, 300, 300, 300});
  ASSERT_EQ(events.size(), 1);
  EXPECT_EQ(events[0].length, 5);
  EXPECT_FLOAT_EQ(events[0].mean, 180);
  EXPECT_FLOAT_EQ(events[0].stdv, std::sqrt(0.4F * 180 * 180 + 0.6F * 120 * 120));
}

TEST(EventDetector, DoesNotDependOnOffsetAndScale) {
  std::mt19937_64 random(13);
  const auto signal = noisy_steps(random, 5000, 8, 300);
  auto moved = signal;
  for (auto& sample : moved) sample = static_cast<std::int16_t>(20000 - 3 * sample);
  EXPECT_EQ(starts(moved), starts(signal));
  std::vector<float> tiny(signal.begin(), signal.end());
  for (float& sample : tiny) sample *= 0x1p-50F;
  EXPECT_EQ(starts(tiny), starts(signal));
  for (float& sample : tiny) sample *= 0x1p+120F;
  EXPECT_EQ(starts(tiny), starts(signal));
}

TEST(EventDetector, LosesNothingFarFromTheStart) {
  std::mt19937_64 random(14);
  const auto tail = noisy_steps(random, 2000, 8, 300);
  std::vector<float> signal(3'000'000, 1000.0F);
  for (const auto sample : tail) signal.push_back(1000.0F + static_cast<float>(sample) / 16);
  std::vector<float> alone(100, 1000.0F);
  for (const auto sample : tail) alone.push_back(1000.0F + static_cast<float>(sample) / 16);
  const auto wanted = starts(alone);
  const auto got = starts(signal);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 1; i < got.size(); ++i) EXPECT_EQ(got[i] - signal.size(), wanted[i] - alone.size());
}

TEST(EventDetector, DoesNotRememberTheSignalBefore) {
  std::mt19937_64 random(15);
  EventDetector detector{EventSettings{}};
  for (int round = 0; round < 50; ++round) {
    const auto signal = noisy_steps(random, 400, 5, 300);
    const auto events = detect(detector, signal);
    EXPECT_EQ(events.size(), starts(signal).size());
  }
}

TEST(EventDetector, CutsEventsLongerThanAFloatCounts) {
  constexpr std::uint64_t kLongest = EventDetector::kMaxEventSamples;
  EXPECT_EQ(starts(std::vector<std::int16_t>(kLongest, 5)), (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(starts(std::vector<std::int16_t>(kLongest + 1, 5)), (std::vector<std::uint64_t>{0, kLongest}));
}

TEST(EventDetector, RefusesASampleThatIsNoNumber) {
  EventDetector detector{EventSettings{}};
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> signal(2000, 1.0F);
    signal[1234] = bad;
    const auto error = test::error_of([&] { detect(detector, signal); });
    EXPECT_STREQ(error->what(), "sample 1234 of the read is not a finite number");
  }
}

TEST(EventDetector, AllocatesInItsConstructorOnly) {
  std::mt19937_64 random(16);
  const auto signal = noisy_steps(random, 20000, 8, 300);
  EventDetector detector{EventSettings{}};
  std::vector<float> events(detector.max_events(signal.size()) * EventDetector::kFieldsPerEvent);
  const auto before = test::allocations_of_this_thread();
  detector.detect(std::span<const std::int16_t>(signal), events);
  EXPECT_EQ(test::allocations_of_this_thread(), before);
  EXPECT_GT(detector.state_bytes(), 8000);
  EXPECT_LT(detector.state_bytes(), 20000);
}

}  // namespace
}  // namespace millrace
