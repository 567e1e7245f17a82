#include "stages/builtin.h"

#include <gtest/gtest.h>

#include "pipeline/core/registry.h"

namespace millrace {
namespace {

TEST(BuiltinStages, HaveTheTypesThatTheContractNames) {
  Registry registry;
  add_builtin_stages(registry);
  for (const auto* const type : {"raw_reader", "raw_writer", "null_writer", "synthetic_reader", "spin", "fast5_reader",
                                 "pod5_reader", "slow5_reader", "decode_signal", "signal_qc_writer", "encode_zstd"}) {
    EXPECT_TRUE(registry.contains(type)) << type;
  }
}

TEST(BuiltinStages, SayWhatTheyAreAndWhereTheyComeFrom) {
  Registry registry;
  add_builtin_stages(registry);
  for (const auto& [type, entry] : registry.entries()) {
    EXPECT_FALSE(entry.summary.empty()) << type;
    EXPECT_EQ(entry.from, "millrace") << type;
  }
}

}  // namespace
}  // namespace millrace
