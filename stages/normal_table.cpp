#include "stages/normal_table.h"

#include <cmath>
#include <numbers>

namespace millrace {
namespace {

constexpr int kMagnitudes = 1 << 15;

double density(double x) { return std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2; }
double upper_tail(double x) { return std::erfc(x / std::numbers::sqrt2) / 2; }

}  // namespace

NormalTable::NormalTable() {
  magnitudes_.reserve(kMagnitudes);
  double x = 0;
  for (int i = 0; i < kMagnitudes; ++i) {
    const double tail = 0.5 * (kMagnitudes - i - 0.5) / kMagnitudes;
    // Newton from the quantile before, which is close by.
    for (int step = 0; step < 6; ++step) x += (upper_tail(x) - tail) / density(x);
    magnitudes_.push_back(static_cast<std::int16_t>(std::lround(x * (1 << kFractionBits))));
  }
}

}  // namespace millrace
