#include "pipeline/experiment/schedule.h"

#include <numeric>
#include <utility>

namespace millrace {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

/// Below `bound`, every number equally likely: the numbers that would favour the small ones are drawn again.
std::uint64_t below(std::uint64_t bound, std::uint64_t& state) {
  const std::uint64_t unfair = (0 - bound) % bound;
  for (;;) {
    state += kGolden;
    const std::uint64_t number = mixed(state);
    if (number >= unfair) return number % bound;
  }
}

}  // namespace

std::vector<std::size_t> block_order(std::uint64_t seed, std::uint32_t block, std::size_t arms) {
  std::vector<std::size_t> order(arms);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::uint64_t state = mixed(mixed(seed + kGolden) + block);
  for (std::size_t left = arms; left > 1; --left) std::swap(order[left - 1], order[below(left, state)]);
  return order;
}

}  // namespace millrace
