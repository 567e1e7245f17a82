#include "pipeline/core/units.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace millrace {
namespace {

TEST(Units, SizesHaveDecimalAndBinaryUnits) {
  const std::vector<std::pair<std::string, std::uint64_t>> rows = {
      {"17 B", 17},
      {"100 kB", 100'000},
      {"3 MB", 3'000'000},
      {"2 GB", 2'000'000'000},
      {"1 TB", 1'000'000'000'000},
      {"1 KiB", 1024},
      {"4 MiB", 4ULL << 20U},
      {"2 GiB", 2ULL << 30U},
      {"1 TiB", 1ULL << 40U},
      {"4MiB", 4ULL << 20U},
      {"4   MiB", 4ULL << 20U},
      {"1.5 KiB", 1536},
      {"0.5 B", 1},
      {"0 B", 0},
      {"9007199254740993 B", 9007199254740993},  // not a double
      {"9223372036854775807 B", 9223372036854775807},
  };
  for (const auto& [text, bytes] : rows) {
    const auto parsed = parse_bytes(text);
    ASSERT_TRUE(parsed.has_value()) << text;
    EXPECT_EQ(parsed->count, bytes) << text;
  }
}

TEST(Units, WhatIsNoSizeIsNothing) {
  for (const auto* const text : {"",
                                 "4",
                                 "MiB",
                                 "4 mib",
                                 "4 MiB ",
                                 " 4 MiB",
                                 "-1 B",
                                 "+1 B",
                                 "4 M",
                                 "4,5 MiB",
                                 "1e3 B",
                                 "0x10 B",
                                 "nan B",
                                 "inf B",
                                 "4 MiB/s",
                                 "..5 B",
                                 ". B",
                                 "9223372036854775808 B",
                                 "8388608 TiB",
                                 "99999999999999999999 B",
                                 "9999999999999999999999.5 TiB"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
  }
}

TEST(Units, DurationsGoFromNanosecondsToHours) {
  const std::vector<std::pair<std::string, std::int64_t>> rows = {
      {"5 ns", 5},
      {"3 us", 3'000},
      {"250 ms", 250'000'000},
      {"10 s", 10'000'000'000},
      {"0.5 s", 500'000'000},
      {"2min", 120'000'000'000},
      {"1 h", 3'600'000'000'000},
      {"0 s", 0},
  };
  for (const auto& [text, ns] : rows) {
    const auto parsed = parse_duration(text);
    ASSERT_TRUE(parsed.has_value()) << text;
    EXPECT_EQ(parsed->count(), ns) << text;
  }
}

TEST(Units, WhatIsNoDurationIsNothing) {
  for (const auto* const text : {"", "5", "s", "5 sec", "5 S", "-5 s", "5 m", "1:30 min", "3000000 h"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

TEST(Units, SizesAreWrittenWithThreeDigits) {
  const std::vector<std::pair<std::uint64_t, std::string>> rows = {
      {0, "0 B"},
      {1023, "1023 B"},
      {1024, "1.00 KiB"},
      {1536, "1.50 KiB"},
      {10'239, "10.0 KiB"},
      {102'400, "100 KiB"},
      {1'023ULL << 10U, "1023 KiB"},
      {(1ULL << 20U) - 1, "1.00 MiB"},
      {(1ULL << 20U) - 100, "1.00 MiB"},  // 1023.9 KiB must not be rounded to 1024 KiB
      {4ULL << 20U, "4.00 MiB"},
      {8ULL << 30U, "8.00 GiB"},
      {UINT64_MAX, "16.0 EiB"},
  };
  for (const auto& [bytes, text] : rows) EXPECT_EQ(format_bytes(bytes), text) << bytes;
}

TEST(Units, DurationsAreWrittenWithThreeDigits) {
  const std::vector<std::pair<std::int64_t, std::string>> rows = {
      {0, "0 ns"},
      {999, "999 ns"},
      {1'000, "1.00 us"},
      {12'345, "12.3 us"},
      {999'499, "999 us"},
      {999'600, "1.00 ms"},
      {250'000'000, "250 ms"},
      {999'700'000, "1.00 s"},
      {12'410'000'000, "12.4 s"},
      {3'600'000'000'000, "3600 s"},
      {-12'345, "-12.3 us"},
      {-250'000'000, "-250 ms"},
  };
  for (const auto& [ns, text] : rows) EXPECT_EQ(format_duration_ns(ns), text) << ns;
}

TEST(Units, SpellingIsWhatOneWouldWriteInAConfig) {
  EXPECT_EQ(spell_bytes({64ULL << 20U}), "64 MiB");
  EXPECT_EQ(spell_bytes({100'000}), "100 kB");
  EXPECT_EQ(spell_bytes({100'001}), "100001 B");
  EXPECT_EQ(spell_bytes({1536}), "1536 B");
  EXPECT_EQ(spell_bytes({0}), "0 B");
  EXPECT_EQ(spell_duration(std::chrono::milliseconds(250)), "250 ms");
  EXPECT_EQ(spell_duration(std::chrono::minutes(10)), "10 min");
  EXPECT_EQ(spell_duration(std::chrono::seconds(90)), "90 s");
  EXPECT_EQ(spell_duration(Duration(0)), "0 ns");
}

TEST(Units, SpellingIsReadBackExactly) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t value = random() >> (1 + random() % 63);
    EXPECT_EQ(parse_bytes(spell_bytes({value})), Bytes{value});
    EXPECT_EQ(parse_duration(spell_duration(Duration(static_cast<std::int64_t>(value)))),
              Duration(static_cast<std::int64_t>(value)));
  }
}

}  // namespace
}  // namespace millrace
