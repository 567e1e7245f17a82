#include "stages/attribute_store.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace millrace {
namespace {

/// Names, order, types and values; a NaN equals itself, and zero does not equal its negative.
void expect_same(const Attributes& got, const Attributes& wanted) {
  ASSERT_EQ(got.entries().size(), wanted.entries().size());
  for (std::size_t i = 0; i < wanted.entries().size(); ++i) {
    const auto& [name, value] = wanted.entries()[i];
    EXPECT_EQ(got.entries()[i].first, name);
    const auto& stored = got.entries()[i].second;
    ASSERT_EQ(stored.index(), value.index()) << name;
    if (const auto* const number = std::get_if<double>(&value)) {
      const double back = std::get<double>(stored);
      EXPECT_TRUE(std::isnan(*number) ? std::isnan(back) : back == *number) << name << ' ' << *number << ' ' << back;
      EXPECT_EQ(std::signbit(back), std::signbit(*number)) << name;
    } else {
      EXPECT_EQ(stored, value) << name;
    }
  }
}

TEST(AttributeStore, GivesBackEveryKindOfValue) {
  using Limits = std::numeric_limits<double>;
  const std::vector<Attributes> sets{
      {},
      {{"zero", std::int64_t{0}}, {"low", INT64_MIN}, {"high", INT64_MAX}, {"minus one", std::int64_t{-1}}},
      {{"whole", 8192.0},
       {"float", 0.5},
       {"double", 0.1},
       {"-0", -0.0},
       {"huge", 1e300},
       {"1e15", 1e15},
       {"next", 1e16}},
      {{"inf", Limits::infinity()}, {"-inf", -Limits::infinity()}, {"nan", Limits::quiet_NaN()}},
      {{"least", Limits::denorm_min()}, {"max", Limits::max()}, {"float max", 3.4028234663852886e38}},
      {{"empty", std::string()}, {"short", std::string("mux_change")}, {"long", std::string(100'000, 'x')}},
      {{"uuid", std::string("00213bd6-0b7d-4e96-862f-160852db369a")},
       {"capitals", std::string("00213BD6-0b7d-4e96-862f-160852db369a")},
       {"no dash", std::string("00213bd6x0b7d-4e96-862f-160852db369a")},
       {"a dash too many", std::string("00213bd6-0b7d-4e96-862f-160852d-369a")}},
      {{"bytes", std::string("a\0b\n\xff", 5)}},
  };
  AttributeStore store;
  for (int round = 0; round < 2; ++round) {
    for (const auto& set : sets) store.add(set);
  }
  store.complete();
  ASSERT_EQ(store.size(), 2 * sets.size());
  for (std::size_t i = 0; i < store.size(); ++i) expect_same(store.at(i), sets[i % sets.size()]);
}

TEST(AttributeStore, GivesBackRandomSetsAndManyDifferentTexts) {
  std::mt19937_64 random(3);
  std::vector<Attributes> sets;
  AttributeStore store;
  for (int i = 0; i < 10'000; ++i) {
    Attributes set;
    for (auto entries = random() % 6; entries > 0; --entries) {
      const std::string name(1, static_cast<char>('a' + random() % 5));
      switch (random() % 3) {
        case 0:
          set.set(name, static_cast<std::int64_t>(random() >> (random() % 64)) - 1000);
          break;
        case 1:
          set.set(name, std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 200) - 100));
          break;
        default:
          set.set(name, "text " + std::to_string(i));  // more than are kept once
      }
    }
    store.add(set);
    sets.push_back(set);
  }
  store.complete();
  for (std::size_t i = 0; i < sets.size(); ++i) expect_same(store.at(i), sets[i]);
}

TEST(AttributeStore, TakesLittleMemoryForTheReadsOfARun) {
  AttributeStore store;
  constexpr std::int64_t kReads = 10'000;
  for (std::int64_t i = 0; i < kReads; ++i) {
    std::string id = "00213bd6-0b7d-4e96-862f-000000000000";
    id.replace(id.size() - 6, 6, std::to_string(100'000 + i));
    store.add({{"read_id", id},
               {"samples", 40'000 + i},
               {"coding", std::string("pod5-vbz")},
               {"read_number", i},
               {"start_time", 1'000'000'000 + 4000 * i},
               {"median_before", 200.0 + 0.25 * static_cast<double>(i % 100)},
               {"channel_number", std::to_string(i % 512)},
               {"start_mux", i % 4},
               {"pore_type", std::string("not_set")},
               {"offset", 6.0},
               {"end_reason", std::string("signal_positive")},
               {"end_reason_forced", std::int64_t{0}},
               {"num_minknow_events", i % 5000},
               {"sampling_rate", 4000.0},
               {"digitisation", 8192.0},
               {"range", 1440.8011474609375}});
  }
  store.complete();
  EXPECT_LT(store.memory_bytes(), 120 * kReads);
}

}  // namespace
}  // namespace millrace
