#include "stages/kmer_hmm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/support/allocation_count.h"

namespace millrace {
namespace {

struct Levels {
  std::vector<float> means;
  std::vector<float> stdvs;
};

Levels random_levels(unsigned k, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> mean(90, 13);
  std::uniform_real_distribution<float> stdv(1.3F, 3);
  Levels levels;
  for (std::size_t i = 0; i < std::size_t{1} << (2 * k); ++i) {
    levels.means.push_back(mean(random));
    levels.stdvs.push_back(stdv(random));
  }
  return levels;
}

struct Walk {
  std::vector<std::uint16_t> kmers;
  std::vector<KmerHmm::Event> events;
};

/// Events of a strand that stays, steps and skips at random; `noise` multiplies the deviations.
Walk random_walk(const Levels& levels, std::size_t events, std::uint64_t seed, float noise) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  Walk walk;
  const std::size_t states = levels.means.size();
  std::size_t kmer = random() % states;
  for (std::size_t i = 0; i < events; ++i) {
    const auto draw = random() % 100;
    const int moves = draw < 40 ? 0 : draw < 98 ? 1 : 2;
    for (int move = 0; move < moves; ++move) kmer = (4 * kmer + random() % 4) % states;
    walk.kmers.push_back(static_cast<std::uint16_t>(kmer));
    const float precision = (0.5F + static_cast<float>(random() % 100) / 50) / (noise * noise);
    const float spread = levels.stdvs[kmer] / std::sqrt(precision);
    walk.events.push_back({levels.means[kmer] + spread * normal(random), precision});
  }
  return walk;
}

struct Result {
  std::vector<std::uint16_t> kmers;
  std::vector<float> posteriors;
  bool operator==(const Result&) const = default;
};

Result decode(KmerHmm& hmm, const std::vector<KmerHmm::Event>& events) {
  Result result{std::vector<std::uint16_t>(events.size()), std::vector<float>(events.size())};
  hmm.decode(events, result.kmers, result.posteriors);
  return result;
}

/// The model as its definition says, in double, over the whole series at once: row t has the posteriors of event t.
std::vector<std::vector<double>> reference_posteriors(const Levels& levels, const std::vector<KmerHmm::Event>& events,
                                                      const KmerHmm::Moves& moves) {
  const std::size_t n = levels.means.size();
  const double stay = moves.stay;
  const double skip = moves.skip;
  double mean_log = 0;
  for (const float stdv : levels.stdvs) mean_log += std::log2(stdv) / static_cast<double>(n);
  const auto likelihood = [&](std::size_t s, const KmerHmm::Event& event) {
    const double z = (event.level - levels.means[s]) / levels.stdvs[s];
    const double log = mean_log - std::log2(levels.stdvs[s]) - z * z * event.precision / 2 * std::log2(std::exp(1.0));
    return std::exp2(std::max<double>(log, KmerHmm::kFloorLog2));
  };
  const auto each_move = [&](std::size_t s, const auto& visit) {
    visit(s, stay);
    for (std::size_t a = 0; a < 4; ++a) visit((4 * s + a) % n, (1 - stay - skip) / 4);
    for (std::size_t a = 0; a < 16; ++a) visit((16 * s + a) % n, skip / 16);
  };
  const auto normalise = [](std::vector<double>& row) {
    double sum = 0;
    for (const double x : row) sum += x;
    for (double& x : row) x /= sum;
  };
  std::vector<std::vector<double>> forward;
  std::vector<double> before(n, 1.0);
  for (const auto& event : events) {
    std::vector<double> row(n);
    for (std::size_t s = 0; s < n; ++s) each_move(s, [&](std::size_t to, double p) { row[to] += before[s] * p; });
    for (std::size_t s = 0; s < n; ++s) row[s] *= likelihood(s, event);
    normalise(row);
    before = row;
    forward.push_back(std::move(row));
  }
  std::vector<double> after(n, 1.0);
  for (std::size_t t = events.size(); t-- > 0;) {
    for (std::size_t s = 0; s < n; ++s) forward[t][s] *= after[s];
    normalise(forward[t]);
    std::vector<double> row(n);
    for (std::size_t s = 0; s < n; ++s) {
      each_move(s, [&](std::size_t to, double p) { row[s] += after[to] * p * likelihood(to, events[t]); });
    }
    normalise(row);
    after = row;
  }
  return forward;
}

bool allowed(std::size_t from, std::size_t to, std::size_t states) {
  return from == to || 4 * from % states == to / 4 * 4 || 16 * from % states == to / 16 * 16;
}

double score_of(double posterior) { return std::log2(posterior + 1e-5); }

/// The largest sum of log posteriors that a path of allowed moves has.
double best_score(const std::vector<std::vector<double>>& posteriors) {
  const std::size_t n = posteriors.front().size();
  std::vector<double> best(n, 0.0);
  bool first = true;
  for (const auto& row : posteriors) {
    std::vector<double> next(n, -1e300);
    for (std::size_t s = 0; s < n; ++s) {
      const auto reach = [&](std::size_t to) { next[to] = std::max(next[to], best[s]); };
      reach(s);
      for (std::size_t a = 0; a < 4 && !first; ++a) reach((4 * s + a) % n);
      for (std::size_t a = 0; a < 16 && !first; ++a) reach((16 * s + a) % n);
    }
    for (std::size_t s = 0; s < n; ++s) next[s] += score_of(row[s]);
    best = next;
    first = false;
  }
  return *std::max_element(best.begin(), best.end());
}

TEST(KmerHmm, HasThePosteriorsOfItsDefinition) {
  const Levels levels = random_levels(4, 1);
  KmerHmm hmm(4, levels.means, levels.stdvs);
  const KmerHmm::Moves moves{0.35F, 0.06F};
  hmm.set_moves(moves);
  for (const std::size_t events : {1, 2, 3, 200}) {
    const Walk walk = random_walk(levels, events, events, 1);
    const Result found = decode(hmm, walk.events);
    const auto wanted = reference_posteriors(levels, walk.events, moves);
    for (std::size_t t = 0; t < events; ++t) {
      ASSERT_NEAR(found.posteriors[t], wanted[t][found.kmers[t]], 1e-3) << "event " << t << " of " << events;
    }
  }
}

TEST(KmerHmm, FindsTheBestPathOfAllowedMoves) {
  const Levels levels = random_levels(4, 2);
  KmerHmm hmm(4, levels.means, levels.stdvs);
  for (const float noise : {0.5F, 1.0F, 3.0F}) {
    const Walk walk = random_walk(levels, 250, 7, noise);
    const Result found = decode(hmm, walk.events);
    const auto posteriors = reference_posteriors(levels, walk.events, {});
    double score = 0;
    for (std::size_t t = 0; t < walk.events.size(); ++t) {
      ASSERT_TRUE(t == 0 || allowed(found.kmers[t - 1], found.kmers[t], levels.means.size())) << t;
      score += score_of(posteriors[t][found.kmers[t]]);
    }
    EXPECT_NEAR(score, best_score(posteriors), 0.05) << noise;
  }
}

TEST(KmerHmm, LosesNothingBetweenBlocks) {
  const Levels levels = random_levels(4, 3);
  KmerHmm hmm(4, levels.means, levels.stdvs);
  const Walk walk = random_walk(levels, 4 * KmerHmm::kBlock + 17, 8, 1);
  const Result found = decode(hmm, walk.events);
  const auto wanted = reference_posteriors(levels, walk.events, {});
  for (std::size_t t = 0; t < walk.events.size(); ++t) {
    ASSERT_NEAR(found.posteriors[t], wanted[t][found.kmers[t]], 5e-3) << t;
    ASSERT_TRUE(t == 0 || allowed(found.kmers[t - 1], found.kmers[t], levels.means.size())) << t;
  }
}

TEST(KmerHmm, FindsTheKmersOfCleanEvents) {
  for (const unsigned k : {4U, 5U, 6U, 7U}) {
    const Levels levels = random_levels(k, 4);
    KmerHmm hmm(k, levels.means, levels.stdvs);
    const Walk walk = random_walk(levels, 600, 9, 0.05F);
    const Result found = decode(hmm, walk.events);
    std::size_t wrong = 0;
    for (std::size_t t = 0; t < walk.kmers.size(); ++t) wrong += found.kmers[t] != walk.kmers[t] ? 1 : 0;
    EXPECT_LE(wrong, 12U) << k;  // a stay and a step into the same k-mer look alike
  }
}

TEST(KmerHmm, GoesOnAfterEventsThatFitNothing) {
  const Levels levels = random_levels(6, 5);
  KmerHmm hmm(6, levels.means, levels.stdvs);
  Walk walk = random_walk(levels, 400, 10, 0.3F);
  for (const std::size_t outlier : {50, 51, 200}) walk.events[outlier].level = 1e6F;
  const Result found = decode(hmm, walk.events);
  std::size_t wrong = 0;
  for (std::size_t t = 0; t < walk.kmers.size(); ++t) wrong += found.kmers[t] != walk.kmers[t] ? 1 : 0;
  EXPECT_LE(wrong, 20U);
  for (const float posterior : found.posteriors) {
    EXPECT_GE(posterior, 0);
    EXPECT_LE(posterior, 1.0001F);
  }
}

TEST(KmerHmm, EveryCodeGivesTheSameBits) {
  for (const unsigned k : {4U, 5U, 6U}) {
    const Levels levels = random_levels(k, 6);
    const Walk walk = random_walk(levels, 700, 11, 1.5F);
    KmerHmm plain(k, levels.means, levels.stdvs, KmerHmm::Code::plain);
    const Result wanted = decode(plain, walk.events);
    for (const auto code : {KmerHmm::Code::avx2, KmerHmm::Code::avx512}) {
      if (code > KmerHmm::fastest_code()) continue;
      KmerHmm fast(k, levels.means, levels.stdvs, code);
      EXPECT_EQ(decode(fast, walk.events), wanted) << k;
    }
  }
}

TEST(KmerHmm, RemembersNothingOfTheSeriesBefore) {
  const Levels levels = random_levels(5, 7);
  KmerHmm hmm(5, levels.means, levels.stdvs);
  const Walk one = random_walk(levels, 700, 12, 1);
  const Walk other = random_walk(levels, 90, 13, 1);
  const Result first = decode(hmm, one.events);
  decode(hmm, other.events);
  EXPECT_EQ(decode(hmm, one.events), first);
  EXPECT_EQ(decode(hmm, {}), Result{});
}

TEST(KmerHmm, TakesItsMemoryOnceAndSaysHowMuch) {
  const Levels levels = random_levels(6, 8);
  KmerHmm hmm(6, levels.means, levels.stdvs);
  const Walk walk = random_walk(levels, 1000, 14, 1);
  Result result{std::vector<std::uint16_t>(1000), std::vector<float>(1000)};
  const auto bytes = hmm.state_bytes();
  const auto made = test::allocations_of_this_thread();
  hmm.decode(walk.events, result.kmers, result.posteriors);
  EXPECT_EQ(test::allocations_of_this_thread(), made);
  EXPECT_EQ(hmm.state_bytes(), bytes);
  // Rows of floats and of sources, by far the most.
  EXPECT_GT(bytes, (KmerHmm::kBlock + KmerHmm::kLag) * 4096 * (sizeof(float) + 1));
  EXPECT_LT(bytes, (KmerHmm::kBlock + KmerHmm::kLag) * 4096 * (sizeof(float) + 2));
}

}  // namespace
}  // namespace millrace
