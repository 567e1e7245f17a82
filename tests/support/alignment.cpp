#include "tests/support/alignment.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "pipeline/core/error.h"

namespace millrace::test {
namespace {

constexpr std::size_t kMaxLetters = std::size_t{1} << 26;
constexpr std::size_t kMaxTable = std::size_t{1} << 28;
/// One edit; the bits below it count mismatches, so that of two alignments with equal edits the one with fewer
/// mismatches costs less.
constexpr std::uint64_t kEdit = std::uint64_t{1} << 32;

enum class Move : std::uint8_t { pair, skip_one, skip_other };

/// The least cost of all of `one` against all of `other`. `visit(i, j, move)` is told how the first i and j letters are
/// aligned best.
template <typename Visit>
std::uint64_t least_cost(std::string_view one, std::string_view other, const Visit& visit) {
  if (one.size() > kMaxLetters || other.size() > kMaxLetters) {
    throw Error("sequences of " + std::to_string(one.size()) + " and " + std::to_string(other.size()) +
                " letters are too long to align");
  }
  std::vector<std::uint64_t> costs(other.size() + 1);  // of the letters of `one` so far, and the first j of `other`
  for (std::size_t j = 0; j < costs.size(); ++j) costs[j] = j * kEdit;
  for (std::size_t i = 1; i <= one.size(); ++i) {
    std::uint64_t diagonal = costs[0];
    costs[0] += kEdit;
    for (std::size_t j = 1; j < costs.size(); ++j) {
      const std::uint64_t pair = diagonal + (other[j - 1] == one[i - 1] ? 0 : kEdit + 1);
      const std::uint64_t skip_one = costs[j] + kEdit;
      const std::uint64_t skip_other = costs[j - 1] + kEdit;
      diagonal = costs[j];
      costs[j] = std::min({pair, skip_one, skip_other});
      visit(i, j, costs[j] == pair ? Move::pair : costs[j] == skip_one ? Move::skip_one : Move::skip_other);
    }
  }
  return costs.back();
}

}  // namespace

Alignment align(std::string_view one, std::string_view other) {
  const std::uint64_t cost = least_cost(one, other, [](std::size_t, std::size_t, Move) {});
  Alignment result;
  result.mismatches = cost % kEdit;
  result.gaps = cost / kEdit - result.mismatches;
  result.matches = (one.size() + other.size() - 2 * result.mismatches - result.gaps) / 2;
  return result;
}

std::vector<bool> matched_letters(std::string_view one, std::string_view other) {
  std::vector<bool> matched(one.size(), false);
  if (one.empty() || other.empty()) return matched;
  if (one.size() > kMaxTable / other.size()) throw Error("the sequences are too long for a table of their alignment");
  std::vector<Move> moves(one.size() * other.size());
  least_cost(one, other, [&moves, &other](std::size_t i, std::size_t j, Move move) {
    moves[(i - 1) * other.size() + j - 1] = move;
  });
  std::size_t i = one.size();
  std::size_t j = other.size();
  while (i > 0 && j > 0) {
    const Move move = moves[(i - 1) * other.size() + j - 1];
    if (move == Move::pair) matched[i - 1] = one[i - 1] == other[j - 1];
    i -= move == Move::skip_other ? 0 : 1;
    j -= move == Move::skip_one ? 0 : 1;
  }
  return matched;
}

}  // namespace millrace::test
