#include "apps/progress.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace millrace::apps {
namespace {

struct Line {
  Progress progress;
  double rate;
  std::string text;
};
void PrintTo(const Line& line, std::ostream* out) { *out << line.text; }

class ProgressText : public testing::TestWithParam<Line> {};

TEST_P(ProgressText, SaysWhatIsKnown) {
  EXPECT_EQ(progress_text(GetParam().progress, GetParam().rate), GetParam().text);
}

constexpr std::uint64_t kGiB = 1ULL << 30;

Progress bytes(std::uint64_t done, std::uint64_t total, const std::string& bottleneck = "", bool draining = false) {
  Progress progress;
  progress.bytes_done = done;
  progress.bytes_total = total;
  progress.bottleneck = bottleneck;
  progress.draining = draining;
  return progress;
}

Progress chunks(std::uint64_t done, std::uint64_t total) {
  Progress progress;
  progress.chunks_done = done;
  progress.chunks_total = total;
  return progress;
}

INSTANTIATE_TEST_SUITE_P(
    Table, ProgressText,
    testing::Values(Line{bytes(0, 4 * kGiB), 0, "0 B of 4.00 GiB (0 %)"},
                    Line{bytes(kGiB, 4 * kGiB, "encode"), 0.5 * kGiB,
                         "1.00 GiB of 4.00 GiB (25 %)  512 MiB/s  6 s left  busiest: encode"},
                    Line{bytes(kGiB, 101 * kGiB), 0.25 * kGiB, "1.00 GiB of 101 GiB (1 %)  256 MiB/s  6 min 40 s left"},
                    Line{bytes(0, 20000 * kGiB), kGiB, "0 B of 19.5 TiB (0 %)  1.00 GiB/s  5 h 33 min left"},
                    Line{bytes(kGiB, 0), kGiB, "1.00 GiB  1.00 GiB/s"},
                    Line{bytes(5 * kGiB, 4 * kGiB), 0, "4.00 GiB of 4.00 GiB (100 %)"},
                    Line{bytes(kGiB, 4 * kGiB, "write", true), kGiB,
                         "1.00 GiB of 4.00 GiB (25 %)  1.00 GiB/s  draining  busiest: write"},
                    Line{chunks(30, 120), 15, "30 of 120 (25 %) chunks  15/s  6 s left"},
                    Line{chunks(0, 0), 0, "0 chunks"}));

}  // namespace
}  // namespace millrace::apps
