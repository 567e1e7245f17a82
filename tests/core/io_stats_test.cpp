#include "pipeline/core/io_stats.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(IoStats, AddsEveryCountAndKeepsItsOwnWords) {
  IoStats one;
  one.transport_used = "mmap";
  one.calls = 1;
  one.bytes = 2;
  one.retries = 3;
  one.registered_calls = 4;
  one.cache_hit_bytes = 5;
  one.cache_miss_bytes = 6;
  one.dropped_cache_bytes = 7;
  one.drop_errors = 8;
  one.fsync_calls = 9;
  one.fsync_ns = 10;
  one.advice = {"willneed", "window", 11, 12, 13, 14, 15, 16};
  IoStats more = one;
  more.transport_requested = "direct";
  more.transport_used = "buffered";
  more.detail = "as usual";
  one.add(more);
  EXPECT_EQ(one.transport_used, "mmap");
  EXPECT_EQ(one.transport_requested, "direct") << "it had none";
  EXPECT_EQ(one.detail, "as usual");
  EXPECT_EQ(one.calls, 2U);
  EXPECT_EQ(one.bytes, 4U);
  EXPECT_EQ(one.retries, 6U);
  EXPECT_EQ(one.registered_calls, 8U);
  EXPECT_EQ(one.cache_hit_bytes, 10U);
  EXPECT_EQ(one.cache_miss_bytes, 12U);
  EXPECT_EQ(one.dropped_cache_bytes, 14U);
  EXPECT_EQ(one.drop_errors, 16U);
  EXPECT_EQ(one.fsync_calls, 18U);
  EXPECT_EQ(one.fsync_ns, 20);
  EXPECT_EQ(one.advice.window_bytes, 11U) << "a setting and no count";
  EXPECT_EQ(one.advice.calls, 26U);
  EXPECT_EQ(one.advice.errors, 28U);
  EXPECT_EQ(one.advice.checked_bytes, 30U);
  EXPECT_EQ(one.advice.resident_bytes, 32U);
}

TEST(IoStats, TakesTheAdviceOfTheFirstThatGaveAny) {
  IoStats sum;
  IoStats advised;
  advised.advice = {"sequential", "file", 1, 2, 3, 0, 0, 0};
  sum.add(advised);
  EXPECT_EQ(sum.advice.kind, "sequential");
  EXPECT_EQ(sum.advice.scope, "file");
  EXPECT_EQ(sum.advice.calls, 3U);
}

TEST(IoStats, AFractionNeedsSomethingToBeAFractionOf) {
  IoStats stats;
  EXPECT_LT(stats.advice.resident_fraction(), 0);
  stats.advice.checked_bytes = 8;
  stats.advice.resident_bytes = 2;
  EXPECT_EQ(stats.advice.resident_fraction(), 0.25);
}

}  // namespace
}  // namespace millrace
