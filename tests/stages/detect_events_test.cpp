#include "stages/detect_events.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "stages/decode_signal.h"
#include "stages/fast5_reader.h"
#include "stages/normalize.h"
#include "tests/stages/reference_events.h"
#include "tests/support/allocation_count.h"
#include "tests/support/stage_driver.h"

namespace millrace {
namespace {

using Signal = std::vector<std::int16_t>;

const ChunkType kSignal{DType::i16, "signal", 1 << 20};

/// The signals of a SLOW5 text file.
std::vector<Signal> slow5_signals(const std::filesystem::path& file) {
  std::vector<Signal> signals;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#' || line[0] == '@') continue;
    std::size_t at = 0;
    for (int column = 0; column < 7; ++column) at = line.find('\t', at) + 1;  // raw_signal is the eighth
    Signal& signal = signals.emplace_back();
    const char* next = line.data() + at;
    const char* const end = line.data() + line.size();
    while (true) {
      std::int16_t sample = 0;
      next = std::from_chars(next, end, sample).ptr;
      signal.push_back(sample);
      if (next == end || *next != ',') break;
      ++next;
    }
  }
  return signals;
}

Signal random_signal(std::uint64_t seed, std::size_t samples) {
  std::mt19937_64 random(seed);
  Signal signal;
  std::int16_t level = 500;
  for (std::size_t i = 0; i < samples; ++i) {
    if (random() % 9 == 0) level = static_cast<std::int16_t>(300 + random() % 400);
    signal.push_back(static_cast<std::int16_t>(level + static_cast<int>(random() % 17) - 8));
  }
  return signal;
}

class DetectEventsTest : public testing::Test {
 protected:
  void SetUp() override { stage_.prepare(kSignal); }

  std::vector<float> events_of(const Signal& signal) {
    return test::values_of<float>(*stage_.process(test::chunk_of(signal)));
  }

  DetectEvents stage_{Options()};
};

TEST_F(DetectEventsTest, GivesLengthMeanAndDeviationOfEveryEvent) {
  const auto out = stage_.process(test::chunk_of(Signal{9, 11, 9, 11, 9, 11, 99, 99, 101, 99, 99, 101, 99, 99}));
  EXPECT_EQ(out->dtype(), DType::f32);
  ASSERT_EQ(out->shape(), Shape({2, 3}));
  const auto events = test::values_of<float>(*out);
  EXPECT_EQ(events[0], 6);
  EXPECT_EQ(events[1], 10);
  EXPECT_EQ(events[2], 1);
  EXPECT_EQ(events[3], 8);
  EXPECT_EQ(events[4], 99.5F);
  EXPECT_FLOAT_EQ(events[5], std::sqrt(0.75F));
}

TEST_F(DetectEventsTest, GivesNoEventsForAnEmptyRead) {
  EXPECT_EQ(stage_.process(test::chunk_of(Signal{}))->shape(), Shape({0, 3}));
}

TEST_F(DetectEventsTest, KeepsPlaceAndAttributes) {
  const auto attributes = std::make_shared<Attributes>();
  Chunk input = test::chunk_of(Signal(100, 7), attributes);
  input.set_sequence(9);
  input.set_origin({nullptr, 64, 200});
  const auto out = stage_.process(std::move(input));
  EXPECT_EQ(out->sequence(), 9);
  EXPECT_EQ(out->origin().offset, 64);
  EXPECT_EQ(out->shared_attributes(), attributes);
}

TEST_F(DetectEventsTest, FindsTheSameBoundariesInANormalizedRead) {
  const Signal signal = random_signal(31, 20000);
  Normalize normalize{Options()};
  DetectEvents on_floats{Options()};
  on_floats.prepare(normalize.prepare(kSignal));
  const auto raw = events_of(signal);
  const auto out = on_floats.process(*normalize.process(test::chunk_of(signal)));
  const auto normalized = test::values_of<float>(*out);
  ASSERT_EQ(normalized.size(), raw.size());
  for (std::size_t i = 0; i < raw.size(); i += 3) ASSERT_EQ(normalized[i], raw[i]) << "event " << i / 3;
}

TEST_F(DetectEventsTest, TakesTheNumbersOfItsPreset) {
  const std::vector<std::pair<std::string, EventSettings>> cases = {
      {"r9_450bps", {3, 6, 1.4F, 9.0F, 0.2F}},
      {"rna_130bps", {5, 10, 2.1F, 13.5F, 0.2F}},
      {"rna_70bps", {7, 12, 2.8F, 18.0F, 0.2F}},
  };
  const Signal signal = random_signal(32, 3000);
  for (const auto& [preset, settings] : cases) {
    DetectEvents stage(test::options_of({{"preset", preset}}));
    stage.prepare(kSignal);
    const auto events = test::values_of<float>(*stage.process(test::chunk_of(signal)));
    const auto wanted = test::reference_events({signal.begin(), signal.end()}, settings);
    ASSERT_EQ(events.size(), 3 * wanted.size()) << preset;
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(events[3 * i], wanted[i].length) << preset;
  }
}

TEST_F(DetectEventsTest, TakesSingleNumbersOverThePreset) {
  DetectEvents stage(test::options_of({{"preset", "rna_70bps"},
                                       {"window_short", std::int64_t{4}},
                                       {"window_long", std::int64_t{8}},
                                       {"threshold_short", 3.5},
                                       {"threshold_long", std::int64_t{11}},
                                       {"peak_height", 0.5}}));
  stage.prepare(kSignal);
  const Signal signal = random_signal(33, 3000);
  const auto events = test::values_of<float>(*stage.process(test::chunk_of(signal)));
  const auto wanted = test::reference_events({signal.begin(), signal.end()}, {4, 8, 3.5F, 11, 0.5F});
  ASSERT_EQ(events.size(), 3 * wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(events[3 * i], wanted[i].length);
}

TEST_F(DetectEventsTest, RefusesNumbersThatMakeNoDetector) {
  struct Case {
    std::string key;
    decltype(OptionValue::value) value;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"preset", "r9_450bp", "there is no preset 'r9_450bp'; did you mean 'r9_450bps'?"},
      {"preset", "x", "there is no preset 'x'; there are r9_450bps, rna_130bps and rna_70bps"},
      {"window_short", std::int64_t{1}, "'window_short' must be at least 2"},
      {"window_short", std::int64_t{6}, "'window_long' (6) must be above 'window_short' (6)"},
      {"window_long", std::int64_t{3}, "'window_long' (3) must be above 'window_short' (3)"},
      {"window_long", std::int64_t{1025}, "'window_long' must be at most 1024"},
      {"threshold_short", -0.5, "'threshold_short' must not be negative"},
      {"threshold_long", -0.5, "'threshold_long' must not be negative"},
      {"peak_height", -0.5, "'peak_height' must not be negative"},
  };
  for (const Case& wrong : cases) {
    const auto error = test::error_of([&wrong] { DetectEvents(test::options_of({{wrong.key, wrong.value}})); });
    EXPECT_EQ(error->kind(), ErrorKind::config);
    EXPECT_EQ(error->what(), "test.toml:7:3: " + wrong.message);
  }
}

TEST_F(DetectEventsTest, RefusesWhatIsNoSignal) {
  DetectEvents stage{Options()};
  EXPECT_STREQ(test::error_of([&] {
                 stage.prepare({DType::u16, "signal", 8});
               })->what(),
               "needs i16 or f32 elements, but its input is u16 signal, up to 8 B");
  EXPECT_STREQ(test::error_of([&] {
                 stage.prepare({DType::i16, "bytes", 8});
               })->what(),
               "needs 'signal' chunks, but its input is i16 bytes, up to 8 B");
}

TEST_F(DetectEventsTest, AnnouncesMemoryForTheMostEventsThereCanBe) {
  DetectEvents stage{Options()};
  EXPECT_EQ(stage.prepare({DType::i16, "signal", 0}).max_bytes, 0);
  // Boundaries of the smallest windows are at least 2 samples apart, those of the preset 3.
  EXPECT_EQ(stage.prepare({DType::i16, "signal", 600}).text(),
            (ChunkType{DType::f32, "events", std::uint64_t{101} * 12}).text());
  EXPECT_EQ(stage.prepare({DType::f32, "signal", 600}).max_bytes, 51 * 12);

  test::RecyclingLender lender;
  const test::LendFrom use(lender);
  stage.process(test::chunk_of(Signal(300)));
  EXPECT_EQ(lender.largest_loan(), 101 * 12);
}

TEST_F(DetectEventsTest, AllocatesNothingPerChunk) {
  test::RecyclingLender lender;
  const test::LendFrom use(lender);
  const Signal signal = random_signal(34, 5000);
  stage_.process(test::chunk_of(signal));
  Chunk input = test::chunk_of(signal);
  const auto before = test::allocations_of_this_thread();
  stage_.process(std::move(input));
  EXPECT_EQ(test::allocations_of_this_thread(), before);
}

TEST_F(DetectEventsTest, FindsAboutFiveSamplesPerEventInARealR94Read) {
  const auto file = test::test_data() / "blow5" / "s5t_exp_1_lossless.slow5";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no " << file;
  const auto signals = slow5_signals(file);
  ASSERT_EQ(signals.size(), 1);
  ASSERT_EQ(signals[0].size(), 59676);
  const auto events = events_of(signals[0]);
  const std::size_t count = events.size() / 3;
  const double samples_per_event = 59676.0 / static_cast<double>(count);
  EXPECT_GT(samples_per_event, 4);
  EXPECT_LT(samples_per_event, 8);
  RecordProperty("samples_per_event", std::to_string(samples_per_event));

  const auto wanted = test::reference_events({signals[0].begin(), signals[0].end()}, {});
  ASSERT_EQ(events.size(), 3 * wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(events[3 * i], wanted[i].length) << "event " << i;
    ASSERT_FLOAT_EQ(events[3 * i + 1], static_cast<float>(wanted[i].mean)) << "event " << i;
  }
}

/// The samples of the only read of a FAST5 file.
Signal fast5_signal(const std::filesystem::path& file) {
  Fast5Reader reader(test::options_of({{"path", file.string()}}));
  DecodeSignal decoder{Options()};
  decoder.prepare(reader.prepare());
  EXPECT_EQ(reader.total_chunks(), 1);
  return test::values_of<std::int16_t>(*decoder.process(*reader.produce(0)));
}

TEST_F(DetectEventsTest, FindsAboutSevenEventsForEveryFourBasesOfARealRead) {
  const std::string name = "MINICOL228_20161012_FNFAB42578_MN17976_mux_scan_HG_52221_ch174_read172_strand";
  const auto directory = test::test_data() / "basecall_truth";
  if (!std::filesystem::exists(directory)) GTEST_SKIP() << "no " << directory;
  std::ifstream fasta(directory / (name + ".fa"));
  std::size_t bases = 0;
  for (std::string line; std::getline(fasta, line);) {
    if (!line.empty() && line[0] != '>') bases += line.size();
  }
  ASSERT_GT(bases, 1000);
  const Signal signal = fast5_signal(directory / (name + ".fast5"));
  ASSERT_EQ(signal.size(), 81106);
  const auto events = events_of(signal).size() / 3;
  const double per_base = static_cast<double>(events) / static_cast<double>(bases);
  EXPECT_GT(per_base, 1.4);
  EXPECT_LT(per_base, 2.0);
  RecordProperty("events_per_base", std::to_string(per_base));
}

}  // namespace
}  // namespace millrace
