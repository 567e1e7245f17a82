#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pipeline/core/clock.h"
#include "pipeline/drift.h"
#include "pipeline/run.h"
#include "tests/support/plan_builder.h"
#include "tests/support/test_stages.h"

namespace millrace {
namespace {

using testing::Collected;
using testing::CollectingSink;
using testing::NumberSource;
using testing::PlanBuilder;

/// Lets a stage move the clock in step with what watches the run, so that the samples of the watch do not depend on who
/// gets a core: every ten seconds of the clock it stays inside its call until a whole look has fallen into it.
class Pace {
 public:
  explicit Pace(ManualClock& clock) : clock_(clock) {}

  /// Called by the run in every look that finds the clock 200 ms or more beyond the last such look.
  void looked() {
    const std::lock_guard lock(mutex_);
    ++looks_;
    seen_.notify_all();
  }
  /// `ns`: a second or more.
  void spend(std::int64_t ns) {
    std::unique_lock lock(mutex_);
    since_looked_at_ns_ += ns;
    if (since_looked_at_ns_ < 10'000'000'000) {
      clock_.advance_ns(ns);
      return;
    }
    since_looked_at_ns_ = 0;
    clock_.advance_ns(ns - kLooks * kLookNs);
    // The first of three may have begun before the clock stood here, the last ends after this call: the second lies in
    // it whole.
    for (int look = 0; look < kLooks; ++look) {
      const std::uint64_t before = looks_;
      clock_.advance_ns(kLookNs);
      seen_.wait(lock, [&] { return looks_ != before; });
    }
  }

 private:
  static constexpr int kLooks = 3;
  static constexpr std::int64_t kLookNs = 200'000'000;

  ManualClock& clock_;
  std::mutex mutex_;
  std::condition_variable seen_;
  std::uint64_t looks_ = 0;
  std::int64_t since_looked_at_ns_ = 0;
};

TEST(RunDrift, IsToldWhileARunGoesOnAndStandsInItsReport) {
  constexpr std::int64_t kFastNs = 1'000'000'000;
  constexpr std::uint64_t kFast = 300;
  constexpr std::uint64_t kSlow = 150;
  ManualClock clock;
  Pace pace(clock);
  Collected collected;
  std::vector<std::string> notices;
  RunSettings settings;
  settings.clock = &clock;
  settings.on_progress = [&](const Progress&) { pace.looked(); };
  settings.on_notice = [&](const std::string& text) { notices.push_back(text); };
  const RunOutcome outcome =
      run(PlanBuilder()
              .stage("read", 1, {}, [] { return std::make_unique<NumberSource>(kFast + kSlow); })
              .stage("write", 1, {"read"},
                     [&] {
                       return std::make_unique<CollectingSink>(collected, [&](const Chunk& chunk) {
                         pace.spend(testing::number_in(chunk) < kFast ? kFastNs : 2 * kFastNs);
                       });
                     },
                     {1, Bytes{1 << 20}})
              .build(),
          settings);
  EXPECT_EQ(outcome.report.status, "ok");
  ASSERT_EQ(outcome.report.drift.size(), 1U);
  EXPECT_EQ(outcome.report.drift[0].kind, "slower");
  EXPECT_NEAR(static_cast<double>(outcome.report.drift[0].at_ns), 300e9, 25e9);
  EXPECT_NEAR(outcome.report.drift[0].after_rate / outcome.report.drift[0].before_rate, .5, .1);
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(notices[0], drift_text(outcome.report.drift[0]));
  EXPECT_GT(outcome.report.samples.back().resident_bytes, 0U);
}

}  // namespace
}  // namespace millrace
