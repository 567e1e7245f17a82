#include "tests/support/alignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "tests/support/simulated_read.h"
#include "tests/support/stage_driver.h"

namespace millrace::test {
namespace {

struct Case {
  const char* one;
  const char* other;
  std::uint64_t matches;
  std::uint64_t mismatches;
  std::uint64_t gaps;
};

class AlignmentTable : public testing::TestWithParam<Case> {};

TEST_P(AlignmentTable, HasTheFewestEditsAndThenTheFewestMismatches) {
  const Case& wanted = GetParam();
  const Alignment found = align(wanted.one, wanted.other);
  EXPECT_EQ(found.matches, wanted.matches);
  EXPECT_EQ(found.mismatches, wanted.mismatches);
  EXPECT_EQ(found.gaps, wanted.gaps);
}

INSTANTIATE_TEST_SUITE_P(Pairs, AlignmentTable,
                         testing::Values(Case{"", "", 0, 0, 0}, Case{"ACGT", "", 0, 0, 4}, Case{"", "AC", 0, 0, 2},
                                         Case{"ACGT", "ACGT", 4, 0, 0}, Case{"ACGT", "AGGT", 3, 1, 0},
                                         Case{"ACGT", "ACT", 3, 0, 1}, Case{"ACT", "ACGT", 3, 0, 1},
                                         Case{"AAAA", "TTTT", 0, 4, 0},
                                         // Two mismatches or two gaps: both are two edits, the gaps keep a match.
                                         Case{"AC", "CA", 1, 0, 2}, Case{"GATTACA", "GCATGCA", 5, 1, 2}));

/// The same by trying everything.
Alignment best_of_all(std::string_view one, std::string_view other) {
  if (one.empty() || other.empty()) return {0, 0, one.size() + other.size()};
  Alignment pair = best_of_all(one.substr(1), other.substr(1));
  ++(one[0] == other[0] ? pair.matches : pair.mismatches);
  Alignment skip_one = best_of_all(one.substr(1), other);
  ++skip_one.gaps;
  Alignment skip_other = best_of_all(one, other.substr(1));
  ++skip_other.gaps;
  const auto better = [](const Alignment& a, const Alignment& b) {
    return a.edits() != b.edits() ? a.edits() < b.edits() : a.mismatches < b.mismatches;
  };
  return std::min({pair, skip_one, skip_other}, better);
}

TEST(Alignment, IsTheBestOfAllThereAre) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    const std::string one = random_bases(random, random() % 7);
    const std::string other = random_bases(random, random() % 7);
    const Alignment found = align(one, other);
    const Alignment wanted = best_of_all(one, other);
    EXPECT_EQ(found.edits(), wanted.edits()) << one << " " << other;
    EXPECT_EQ(found.matches, wanted.matches) << one << " " << other;
    EXPECT_EQ(2 * found.matches + 2 * found.mismatches + found.gaps, one.size() + other.size());
  }
}

TEST(Alignment, DoesNotDependOnWhichIsWhich) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20; ++i) {
    const std::string one = random_bases(random, 200);
    const std::string other = random_bases(random, 150 + random() % 100);
    EXPECT_EQ(align(one, other).identity(), align(other, one).identity());
  }
}

TEST(Alignment, CountsWhatWasChanged) {
  std::mt19937_64 random(3);
  const std::string truth = random_bases(random, 2000);
  std::string called = truth;
  for (std::size_t i = 50; i < called.size(); i += 100) called[i] = called[i] == 'A' ? 'C' : 'A';  // 20 mismatches
  called.erase(1000, 5);
  const Alignment found = align(called, truth);
  EXPECT_EQ(found.edits(), 25);
  EXPECT_NEAR(found.identity(), 1975.0 / 2000, 0.001);
}

TEST(Alignment, OfRandomSequencesIsTheFloorOfIdentity) {
  std::mt19937_64 random(4);
  const std::string one = random_bases(random, 4000);
  EXPECT_NEAR(align(one, random_bases(random, 4000)).identity(), 0.542, 0.01);
}

TEST(Alignment, RefusesWhatIsTooLong) {
  EXPECT_THROW(align(std::string((std::size_t{1} << 26) + 1, 'A'), "A"), Error);
  EXPECT_THROW(matched_letters(std::string(20'000, 'A'), std::string(20'000, 'A')), Error);
}

TEST(MatchedLetters, AreThoseOfAnAlignment) {
  EXPECT_EQ(matched_letters("ACGT", "ACGT"), (std::vector<bool>{true, true, true, true}));
  EXPECT_EQ(matched_letters("ACGT", "AGGT"), (std::vector<bool>{true, false, true, true}));
  EXPECT_EQ(matched_letters("AACGT", "ACGT")[4], true);
  EXPECT_EQ(matched_letters("", "A"), std::vector<bool>{});
  EXPECT_EQ(matched_letters("A", ""), std::vector<bool>{false});
  std::mt19937_64 random(5);
  for (int i = 0; i < 50; ++i) {
    const std::string one = random_bases(random, random() % 60);
    const std::string other = random_bases(random, random() % 60);
    const auto matched = matched_letters(one, other);
    EXPECT_EQ(static_cast<std::uint64_t>(std::count(matched.begin(), matched.end(), true)), align(one, other).matches);
  }
}

}  // namespace
}  // namespace millrace::test
