#include "pipeline/experiment/holm.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace millrace {

std::vector<double> holm(std::span<const double> p_values) {
  std::vector<std::size_t> ascending(p_values.size());
  std::iota(ascending.begin(), ascending.end(), std::size_t{0});
  std::stable_sort(ascending.begin(), ascending.end(),
                   [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> result(p_values.size());
  double so_far = 0;
  for (std::size_t rank = 0; rank < ascending.size(); ++rank) {
    const double corrected = p_values[ascending[rank]] * static_cast<double>(p_values.size() - rank);
    so_far = std::max(so_far, std::min(1.0, corrected));
    result[ascending[rank]] = so_far;
  }
  return result;
}

}  // namespace millrace
