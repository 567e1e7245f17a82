#include "stages/read_caller.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "stages/pore_model.h"
#include "tests/support/alignment.h"
#include "tests/support/allocation_count.h"
#include "tests/support/simulated_read.h"
#include "tests/support/stage_driver.h"
#include "tests/support/truth_read.h"

namespace millrace {
namespace {

using Signal = std::vector<std::int16_t>;

constexpr std::uint64_t kMaxSamples = 200'000;

struct Called {
  ReadCaller::Call call;
  std::string bases;
  std::vector<std::uint8_t> qualities;
};

Called called(ReadCaller& caller, const Signal& samples) {
  std::vector<std::uint8_t> bases(caller.max_bases(samples.size()));
  std::vector<std::uint8_t> qualities(bases.size());
  Called result{caller.call(samples, bases, qualities), {}, {}};
  result.bases.assign(bases.begin(), bases.begin() + static_cast<std::ptrdiff_t>(result.call.bases));
  result.qualities.assign(qualities.begin(), qualities.begin() + static_cast<std::ptrdiff_t>(result.call.bases));
  return result;
}

double identity(const Called& read, const std::string& truth) { return test::align(read.bases, truth).identity(); }

TEST(ReadCaller, CallsSimulatedReadsAtNinetyFivePercent) {
  const PoreModel model = synthetic_pore_model();
  ReadCaller caller(model, {}, kMaxSamples);
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const auto read = test::simulated_read(model, seed, 1500);
    EXPECT_GE(identity(called(caller, read.samples), read.bases), 0.95) << seed;
  }
}

TEST(ReadCaller, CallsReadsSimulatedFromARealTableAtNinetyFivePercent) {
  const auto file = test::test_data() / "pore_models" / "r9.4_180mv_450bps_6mer_template.model";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no " << file;
  const PoreModel model = read_pore_model(file);
  ReadCaller caller(model, {}, kMaxSamples);
  for (const std::uint64_t seed : {5, 6, 7, 8}) {
    const auto read = test::simulated_read(model, seed, 2000);
    EXPECT_GE(identity(called(caller, read.samples), read.bases), 0.95) << seed;
  }
}

TEST(ReadCaller, CallsARealReadWellAboveChance) {
  const auto file = test::test_data() / "pore_models" / "r9.4_180mv_450bps_6mer_template.model";
  const auto read = test::r94_truth_read();
  if (!read || !std::filesystem::exists(file)) GTEST_SKIP() << "no real read in " << test::test_data();
  ReadCaller caller(read_pore_model(file), {}, kMaxSamples);
  const Called call = called(caller, read->samples);
  // Two random sequences have 0.54.
  EXPECT_GE(identity(call, read->bases), 0.72);
  RecordProperty("identity", std::to_string(identity(call, read->bases)));
}

TEST(ReadCaller, TurnsTheEventsOfRnaRound) {
  const PoreModel model = synthetic_pore_model();
  ReadCaller::Settings settings;
  settings.reversed = true;
  ReadCaller caller(model, settings, kMaxSamples);
  const auto read = test::simulated_read(model, 9, 1500, 1, 9, true);
  EXPECT_GE(identity(called(caller, read.samples), read.bases), 0.95);
  ReadCaller forward(model, {}, kMaxSamples);
  EXPECT_LT(identity(called(forward, read.samples), read.bases), 0.6);
}

TEST(ReadCaller, CallsRnaWithTheTableOfThePoreAndSlowerEvents) {
  const auto file = test::test_data() / "pore_models" / "r9.4_200mv_70bps_5mer_RNA_template.model";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no " << file;
  const PoreModel model = read_pore_model(file);
  ReadCaller::Settings settings;
  settings.events = {.window_short = 7, .window_long = 12, .threshold_short = 2.8F, .threshold_long = 18.0F};
  settings.reversed = true;
  ReadCaller caller(model, settings, kMaxSamples);
  const auto read = test::simulated_read(model, 10, 1500, 1, 43, true);
  EXPECT_GE(identity(called(caller, read.samples), read.bases), 0.8);
}

TEST(ReadCaller, FindsShiftAndScaleOfTheRead) {
  const PoreModel model = synthetic_pore_model();
  ReadCaller caller(model, {}, kMaxSamples);
  for (const double gain : {1.0, 0.3, 4.0}) {
    auto read = test::simulated_read(model, 11, 1500);
    for (auto& sample : read.samples) sample = static_cast<std::int16_t>(std::lround(gain * sample - 700));
    const Called call = called(caller, read.samples);
    const double scale = gain * test::SimulatedRead::kDigitisation / test::SimulatedRead::kRangePa;
    EXPECT_NEAR(call.call.scaling.scale / scale, 1, 0.02);
    // At the mean level, where shift and scale cannot make up for each other.
    const double expected = 90 * scale - gain * test::SimulatedRead::kOffset - 700;
    EXPECT_NEAR((call.call.scaling.shift + 90 * call.call.scaling.scale - expected) / scale, 0, 0.5);
    EXPECT_GE(identity(call, read.bases), 0.94) << gain;
  }
}

TEST(ReadCaller, NoiseIsFoundAndCostsIdentity) {
  const PoreModel model = synthetic_pore_model();
  ReadCaller caller(model, {}, kMaxSamples);
  const auto quiet = test::simulated_read(model, 12, 1500, 1);
  const auto loud = test::simulated_read(model, 12, 1500, 2.5);
  const Called of_quiet = called(caller, quiet.samples);
  const Called of_loud = called(caller, loud.samples);
  EXPECT_GT(of_loud.call.scaling.noise, 2 * of_quiet.call.scaling.noise);
  EXPECT_LT(of_loud.call.mean_quality, of_quiet.call.mean_quality);
  EXPECT_LT(identity(of_loud, loud.bases), identity(of_quiet, quiet.bases));
}

TEST(ReadCaller, HigherQualitiesMeanFewerErrors) {
  const PoreModel model = synthetic_pore_model();
  ReadCaller caller(model, {}, kMaxSamples);
  constexpr std::array<int, 6> kBins{0, 6, 8, 11, 15, 20};  // a bin ends where the next begins
  std::array<double, kBins.size()> bases{};
  std::array<double, kBins.size()> errors{};
  for (std::uint64_t seed = 20; seed < 28; ++seed) {
    const auto read = test::simulated_read(model, seed, 1500, seed % 2 == 0 ? 1 : 1.5);
    const Called call = called(caller, read.samples);
    const auto matched = test::matched_letters(call.bases, read.bases);
    for (std::size_t i = 0; i < call.bases.size(); ++i) {
      const auto bin = static_cast<std::size_t>(
          std::upper_bound(kBins.begin(), kBins.end(), static_cast<int>(call.qualities[i])) - kBins.begin() - 1);
      ++bases[bin];
      errors[bin] += matched[i] ? 0 : 1;
    }
  }
  for (std::size_t bin = 0; bin < kBins.size(); ++bin) {
    ASSERT_GT(bases[bin], 200) << "of quality " << kBins[bin];
    if (bin == 0) continue;
    EXPECT_LT(errors[bin] / bases[bin], errors[bin - 1] / bases[bin - 1]) << "of quality " << kBins[bin];
  }
  EXPECT_GT(errors[0] / bases[0], 0.1);
  EXPECT_LT(errors.back() / bases.back(), 0.01);
}

TEST(ReadCaller, MeanQualityIsThatOfTheMeanError) {
  const PoreModel model = synthetic_pore_model();
  ReadCaller caller(model, {}, kMaxSamples);
  const Called call = called(caller, test::simulated_read(model, 30, 1000).samples);
  double errors = 0;
  for (const auto quality : call.qualities) {
    EXPECT_GE(quality, 3);
    EXPECT_LE(quality, ReadCaller::kMaxCalledQuality);
    errors += std::pow(10, -quality / 10.0);
  }
  EXPECT_NEAR(call.call.mean_quality, -10 * std::log10(errors / static_cast<double>(call.bases.size())), 0.3);
}

TEST(ReadCaller, LeavesOutAStallAtTheStart) {
  const PoreModel model = synthetic_pore_model();
  ReadCaller caller(model, {}, kMaxSamples);
  const auto read = test::simulated_read(model, 31, 1000);
  const Called without = called(caller, read.samples);
  EXPECT_EQ(without.call.trimmed_samples, 0);
  Signal stalled;
  for (int i = 0; i < 1000; ++i) stalled.push_back(static_cast<std::int16_t>(600 + i * 7919 % 11));
  stalled.insert(stalled.end(), read.samples.begin(), read.samples.end());
  const Called call = called(caller, stalled);
  EXPECT_EQ(call.call.trimmed_samples, 1000);
  EXPECT_EQ(call.bases, without.bases);

  ReadCaller::Settings settings;
  settings.trim_stall = false;
  ReadCaller whole(model, settings, kMaxSamples);
  EXPECT_EQ(called(whole, stalled).call.trimmed_samples, 0);
  settings.trim_start = 1000;
  ReadCaller from(model, settings, kMaxSamples);
  EXPECT_EQ(called(from, stalled).bases, without.bases);
}

TEST(ReadCaller, GivesNoCallForWhatIsNoRead) {
  const PoreModel model = synthetic_pore_model();
  ReadCaller caller(model, {}, kMaxSamples);
  const auto read = test::simulated_read(model, 32, 40);
  for (const Signal& samples : {Signal{}, Signal{400}, Signal(10'000, 400), Signal(150, 400),
                                Signal(read.samples.begin(), read.samples.begin() + 100)}) {
    const Called call = called(caller, samples);
    EXPECT_EQ(call.call.bases, 0) << samples.size();
    EXPECT_EQ(call.call.mean_quality, 0);
    EXPECT_EQ(call.call.scaling.scale, 0);
  }
  ReadCaller::Settings settings;
  settings.trim_start = 1'000'000;
  ReadCaller trimming(model, settings, kMaxSamples);
  EXPECT_EQ(called(trimming, read.samples).call.trimmed_samples, read.samples.size());
}

TEST(ReadCaller, IsAFunctionOfTheReadAlone) {
  const PoreModel model = synthetic_pore_model();
  const auto read = test::simulated_read(model, 33, 1500, 1.5);
  const auto other = test::simulated_read(model, 34, 700);
  ReadCaller::Settings settings;
  settings.code = KmerHmm::Code::plain;
  ReadCaller plain(model, settings, kMaxSamples);
  const Called wanted = called(plain, read.samples);
  for (const auto code : {KmerHmm::Code::plain, KmerHmm::Code::avx2, KmerHmm::Code::avx512}) {
    if (code > KmerHmm::fastest_code()) continue;
    settings.code = code;
    ReadCaller caller(model, settings, 2 * kMaxSamples);
    called(caller, other.samples);
    const Called call = called(caller, read.samples);
    EXPECT_EQ(call.bases, wanted.bases);
    EXPECT_EQ(call.qualities, wanted.qualities);
    EXPECT_EQ(call.call.scaling.shift, wanted.call.scaling.shift);
  }
}

TEST(ReadCaller, NeverWritesMoreThanItAnnounces) {
  PoreModel model;
  model.k = 4;
  std::mt19937_64 random(35);
  for (int i = 0; i < 256; ++i) model.levels.push_back({60 + static_cast<double>(random() % 600) / 10, 0});
  ReadCaller caller(model, {}, 20'000);
  for (int round = 0; round < 30; ++round) {
    Signal samples(random() % 20'000);
    const auto period = 1 + random() % 7;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      samples[i] = static_cast<std::int16_t>(round % 3 == 0 ? random() : (i / period * 7919) % 50'000 - 25'000);
    }
    const Called call = called(caller, samples);
    EXPECT_LE(call.bases.size(), caller.max_bases(samples.size()));
    EXPECT_EQ(call.bases.find_first_not_of("ACGT"), std::string::npos);
  }
}

TEST(ReadCaller, AllocatesNothingPerReadAndSaysWhatItKeeps) {
  const PoreModel model = synthetic_pore_model();
  ReadCaller caller(model, {}, kMaxSamples);
  const auto read = test::simulated_read(model, 36, 500);
  std::vector<std::uint8_t> bases(caller.max_bases(read.samples.size()));
  std::vector<std::uint8_t> qualities(bases.size());
  const auto before = test::allocations_of_this_thread();
  caller.call(read.samples, bases, qualities);
  EXPECT_EQ(test::allocations_of_this_thread(), before);
  ReadCaller larger(model, {}, 2 * kMaxSamples);
  const auto more = static_cast<double>(larger.state_bytes() - caller.state_bytes());
  EXPECT_NEAR(more / kMaxSamples, 26.0 / 3, 0.1) << "26 bytes per event, up to one event in 3 samples";
}

}  // namespace
}  // namespace millrace
