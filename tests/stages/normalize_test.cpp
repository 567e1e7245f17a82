#include "stages/normalize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "tests/support/allocation_count.h"
#include "tests/support/stage_driver.h"

namespace millrace {
namespace {

using Signal = std::vector<std::int16_t>;

const ChunkType kSignal{DType::i16, "signal", 1000};

/// The middle of `values`, or the mean of the two middle ones.
double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

std::vector<double> expected(const Signal& signal) {
  std::vector<double> values(signal.begin(), signal.end());
  if (values.empty()) return values;
  const double median = median_of(values);
  for (double& value : values) value -= median;
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value));
  const double mad = median_of(distances);
  for (double& value : values) value /= mad == 0 ? 1 : 1.4826 * mad;
  return values;
}

std::vector<float> normalized(Normalize& stage, const Signal& signal) {
  return test::values_of<float>(*stage.process(test::chunk_of(signal)));
}

void expect_formula(Normalize& stage, const Signal& signal) {
  const auto wanted = expected(signal);
  const auto got = normalized(stage, signal);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const float ulp =
        std::nextafter(static_cast<float>(std::abs(wanted[i])), INFINITY) - std::abs(static_cast<float>(wanted[i]));
    ASSERT_NEAR(got[i], wanted[i], 2 * ulp) << "sample " << i << " of " << got.size();
  }
}

class NormalizeTest : public testing::Test {
 protected:
  void SetUp() override { stage_.prepare(kSignal); }

  Normalize stage_{Options()};
};

TEST_F(NormalizeTest, SubtractsTheMedianAndDividesByTheScaledMad) {
  // Median 3; distances 2 1 0 1 97, their median 1.
  const auto result = normalized(stage_, {1, 2, 3, 4, 100});
  EXPECT_FLOAT_EQ(result[0], -2 / 1.4826F);
  EXPECT_FLOAT_EQ(result[2], 0);
  EXPECT_FLOAT_EQ(result[4], 97 / 1.4826F);
}

TEST_F(NormalizeTest, TakesTheMeanOfTheTwoMiddleValuesOfAnEvenNumber) {
  // Median 2.5; distances 2.5 0.5 0.5 7.5, their median 1.5.
  const auto result = normalized(stage_, {0, 2, 3, 10});
  EXPECT_FLOAT_EQ(result[0], -2.5F / (1.4826F * 1.5F));
  EXPECT_FLOAT_EQ(result[3], 7.5F / (1.4826F * 1.5F));
}

TEST_F(NormalizeTest, HasTheSamplesThatTheFormulaGives) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 400; ++round) {
    const int spread = 1 << random() % 16;
    const int center = static_cast<int>(random() % 40000) - 20000;
    Signal signal(1 + random() % (round % 10 == 0 ? 5000 : 40));
    for (auto& sample : signal) {
      const int value = center + static_cast<int>(random() % static_cast<unsigned>(spread)) - spread / 2;
      sample = static_cast<std::int16_t>(std::clamp(value, -32768, 32767));
    }
    expect_formula(stage_, signal);
  }
}

TEST_F(NormalizeTest, CoversTheWholeRangeOfSixteenBits) {
  Signal all;
  for (int value = -32768; value <= 32767; ++value) all.push_back(static_cast<std::int16_t>(value));
  expect_formula(stage_, all);
  expect_formula(stage_, {-32768, 32767});
  expect_formula(stage_, {-32768, -32768, 32767, 32767, 0});
}

TEST_F(NormalizeTest, DoesNotRememberTheReadBefore) {
  const Signal signal{5, 9, -3, 400, 7, 7, 8};
  Normalize fresh{Options()};
  fresh.prepare(kSignal);
  normalized(stage_, {-32768, 32767, 3, 3, 3, 3});
  normalized(stage_, {6, 7, 8});
  EXPECT_EQ(normalized(stage_, signal), normalized(fresh, signal));
}

TEST_F(NormalizeTest, OnlyCentersAReadWhoseMadIsZero) {
  EXPECT_EQ(normalized(stage_, {7, 7, 7}), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(normalized(stage_, {7, 7, 9, 7}), (std::vector<float>{0, 0, 2, 0}));
  EXPECT_EQ(normalized(stage_, {-5}), (std::vector<float>{0}));
}

TEST_F(NormalizeTest, RefusesAReadWhoseMadIsZeroWhenToldTo) {
  Normalize strict(test::options_of({{"flat_read", "error"}}));
  strict.prepare(kSignal);
  const auto error = test::error_of([&] { normalized(strict, {7, 7, 9, 7}); });
  EXPECT_STREQ(error->what(), "the MAD of a read of 4 samples is 0");
  EXPECT_EQ(normalized(strict, {1, 2, 3}).size(), 3);
}

TEST_F(NormalizeTest, PassesAnEmptyRead) {
  const auto result = stage_.process(test::chunk_of(Signal{}));
  EXPECT_EQ(result->dtype(), DType::f32);
  EXPECT_EQ(result->shape(), Shape({0}));
}

TEST_F(NormalizeTest, KeepsShapePlaceAndAttributes) {
  const auto attributes = std::make_shared<Attributes>();
  attributes->set("read_id", std::string("a"));
  Chunk input = test::chunk_of(Signal{1, 2, 3, 4, 5, 6}, attributes);
  input = input.with(Buffer(input.buffer()), DType::i16, {2, 3});
  input.set_sequence(17);
  input.set_origin({nullptr, 100, 12});
  const auto result = stage_.process(std::move(input));
  EXPECT_EQ(result->shape(), Shape({2, 3}));
  EXPECT_EQ(result->sequence(), 17);
  EXPECT_EQ(result->origin().offset, 100);
  EXPECT_EQ(result->shared_attributes(), attributes);
}

TEST_F(NormalizeTest, AnnouncesFourBytesForEveryTwo) {
  Normalize stage{Options()};
  EXPECT_EQ(stage.prepare(kSignal).text(), (ChunkType{DType::f32, "signal", 2000}).text());
  EXPECT_EQ(stage.prepare({DType::i16, "signal", 0}).max_bytes, 0);
  EXPECT_EQ(stage.state_bytes(), 65536 * 4);
}

TEST_F(NormalizeTest, RefusesWhatIsNoSignalOfSixteenBits) {
  Normalize stage{Options()};
  EXPECT_STREQ(test::error_of([&] {
                 stage.prepare({DType::f32, "signal", 8});
               })->what(),
               "needs i16 elements, but its input is f32 signal, up to 8 B");
  EXPECT_STREQ(test::error_of([&] {
                 stage.prepare({DType::i16, "events", 8});
               })->what(),
               "needs 'signal' chunks, but its input is i16 events, up to 8 B");
}

TEST_F(NormalizeTest, RefusesAnUnknownTreatmentOfFlatReads) {
  const auto error = test::error_of([] { Normalize(test::options_of({{"flat_read", "zero"}})); });
  EXPECT_EQ(error->kind(), ErrorKind::config);
  EXPECT_STREQ(error->what(), "test.toml:7:3: 'flat_read' is \"center\" or \"error\", not \"zero\"");
}

TEST_F(NormalizeTest, AllocatesNothingPerChunk) {
  test::RecyclingLender lender;
  const test::LendFrom use(lender);
  Signal signal(500);
  std::iota(signal.begin(), signal.end(), std::int16_t{-250});
  std::vector<Chunk> inputs;
  for (int i = 0; i < 20; ++i) inputs.push_back(test::chunk_of(signal));
  stage_.process(std::move(inputs.back()));
  inputs.pop_back();
  const auto before = test::allocations_of_this_thread();
  for (Chunk& input : inputs) stage_.process(std::move(input));
  EXPECT_EQ(test::allocations_of_this_thread(), before);
  EXPECT_LE(lender.largest_loan(), 2000);
}

}  // namespace
}  // namespace millrace
