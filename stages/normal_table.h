#pragma once

#include <cstdint>
#include <vector>

namespace millrace {

/// Normal deviates by table, in integers, so that every machine draws the same: 16 random bits select one of 65536
/// equally likely values (the quantiles at the middle of each step; the largest is 4.32).
class NormalTable {
 public:
  static constexpr int kFractionBits = 12;

  NormalTable();

  /// The deviate for the low 16 bits of `random`, in units of 2^-kFractionBits.
  std::int32_t operator()(std::uint64_t random) const {
    const std::int32_t magnitude = magnitudes_[random & 0x7fffU];
    return (random & 0x8000U) != 0 ? -magnitude : magnitude;
  }
  double number(std::uint64_t random) const { return (*this)(random) / static_cast<double>(1 << kFractionBits); }

 private:
  std::vector<std::int16_t> magnitudes_;
};

}  // namespace millrace
