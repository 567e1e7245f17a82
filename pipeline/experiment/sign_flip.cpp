#include "pipeline/experiment/sign_flip.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <vector>

namespace millrace {
namespace {

/// Sums closer than this, as a part of the sum of all magnitudes, are the same sum added up in another order.
constexpr double kRounding = 1e-12;
constexpr std::uint64_t kSeed = 0x5eed'0f51'6e5;

/// All sums of +-differences, ascending: 2^size of them.
std::vector<double> all_sums(std::span<const double> differences) {
  std::vector<double> sums{0};
  std::vector<double> next;
  for (const double difference : differences) {
    const double step = std::abs(difference);
    std::vector<double> up(sums);
    for (double& sum : sums) sum -= step;
    for (double& sum : up) sum += step;
    next.clear();
    next.reserve(2 * sums.size());
    std::merge(sums.begin(), sums.end(), up.begin(), up.end(), std::back_inserter(next));
    sums.swap(next);
  }
  return sums;
}

/// How many pairs, one of each, add up to `limit` or more. Both ascending.
std::uint64_t pairs_at_least(const std::vector<double>& left, const std::vector<double>& right, double limit) {
  std::uint64_t pairs = 0;
  std::size_t below = right.size();  // of `right`: those too small for the sum at hand, fewer as that grows
  for (const double sum : left) {
    while (below > 0 && sum + right[below - 1] >= limit) --below;
    pairs += right.size() - below;
  }
  return pairs;
}

/// Both tails are equally large: every pattern has its mirror image.
SignFlip over_all_patterns(std::span<const double> differences, double limit) {
  const std::size_t half = differences.size() / 2;
  const std::uint64_t upper =
      pairs_at_least(all_sums(differences.first(half)), all_sums(differences.subspan(half)), limit);
  const double p = std::ldexp(static_cast<double>(upper), 1 - static_cast<int>(differences.size()));
  return {.p = std::min(1.0, p)};
}

SignFlip over_drawn_patterns(std::span<const double> differences, double limit) {
  std::mt19937_64 random(kSeed);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same data shall give the same p
  std::uint32_t found = 0;
  for (std::uint32_t pattern = 0; pattern < kDrawnPatterns; ++pattern) {
    double sum = 0;
    std::uint64_t signs = 0;
    for (std::size_t i = 0; i < differences.size(); ++i) {
      signs = i % 64 == 0 ? random() : signs >> 1U;
      sum += (signs & 1U) != 0 ? differences[i] : -differences[i];
    }
    found += std::abs(sum) >= limit ? 1 : 0;
  }
  const double p = (found + 1.0) / (kDrawnPatterns + 1.0);
  constexpr double kNinetyNinePercent = 2.576;
  return {.p = p, .exact = false, .uncertainty = kNinetyNinePercent * std::sqrt(p * (1 - p) / kDrawnPatterns)};
}

}  // namespace

SignFlip sign_flip(std::span<const double> differences) {
  std::vector<double> signed_ones;
  std::copy_if(differences.begin(), differences.end(), std::back_inserter(signed_ones),
               [](double difference) { return difference != 0; });
  double sum = 0;
  double magnitude = 0;
  for (const double difference : signed_ones) {
    sum += difference;
    magnitude += std::abs(difference);
  }
  const double limit = std::abs(sum) - kRounding * magnitude;
  if (limit <= 0) return {};  // no pattern is nearer to 0 than this one
  return signed_ones.size() <= kMostExactDifferences ? over_all_patterns(signed_ones, limit)
                                                     : over_drawn_patterns(signed_ones, limit);
}

}  // namespace millrace
