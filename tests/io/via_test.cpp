#include "io/via.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using namespace std::chrono_literals;
using test::error_of;
using test::options_of;
using test::TempDirectory;
using testing::HasSubstr;

using Values = std::initializer_list<std::pair<const std::string, decltype(OptionValue::value)>>;

/// Options of a stage with this `via` table.
Options with_via(Values values) {
  return options_of({{"via", OptionValue::Table(std::make_shared<const Options>(options_of(values)))}});
}

TEST(ReadVia, DefaultsWithoutATable) {
  const ReadVia via = read_via(options_of({}));
  EXPECT_EQ(via.transport_requested, "buffered");
  EXPECT_EQ(via.transport, "buffered");
  EXPECT_EQ(via.block_bytes, 16U << 20);
  EXPECT_FALSE(via.throttle.active());
  EXPECT_FALSE(via.fault.active());
}

TEST(ReadVia, TakesEveryKey) {
  const Options options = with_via({{"transport", "buffered"},
                                    {"block", "4 MiB"},
                                    {"throttle_rate", "100 MB"},
                                    {"latency", "2 ms"},
                                    {"inject", "truncate"},
                                    {"inject_at", "7 kB"}});
  const ReadVia via = read_via(options);
  EXPECT_EQ(via.block_bytes, 4U << 20);
  EXPECT_EQ(via.throttle.bytes_per_second, 100'000'000U);
  EXPECT_EQ(via.throttle.latency, 2ms);
  EXPECT_EQ(via.fault.kind, Fault::Kind::truncate);
  EXPECT_EQ(via.fault.at_bytes, 7000U);
  EXPECT_TRUE(options.unread().empty());
}

TEST(WriteVia, DefaultsAndEveryKey) {
  EXPECT_EQ(write_via(options_of({})).fsync, Fsync::close);
  const Options options = with_via({{"transport", "buffered"},
                                    {"fsync", "interval"},
                                    {"fsync_bytes", "1 MiB"},
                                    {"throttle_rate", "5 MB"},
                                    {"latency", "1 ms"},
                                    {"inject", "enospc"},
                                    {"inject_at", "1 B"}});
  const WriteVia via = write_via(options);
  EXPECT_EQ(via.fsync, Fsync::interval);
  EXPECT_EQ(via.fsync_bytes, 1U << 20);
  EXPECT_EQ(via.throttle.bytes_per_second, 5'000'000U);
  EXPECT_EQ(via.fault.kind, Fault::Kind::enospc);
  EXPECT_EQ(via.fault.at_bytes, 1U);
  EXPECT_TRUE(options.unread().empty());
  EXPECT_EQ(write_via(with_via({{"fsync", "never"}})).fsync, Fsync::never);
}

TEST(ReadVia, TakesEveryKeyOfAdvice) {
  const Options options = with_via({{"advice", "willneed"},
                                    {"scope", "window"},
                                    {"window", "32 MiB"},
                                    {"step", "1 MiB"},
                                    {"drop_behind", true},
                                    {"depth", std::int64_t{8}},
                                    {"fallback", "buffered"}});
  const ReadVia via = read_via(options);
  EXPECT_EQ(via.advice.kind, AdvicePolicy::Kind::willneed);
  EXPECT_EQ(via.advice.scope, AdvicePolicy::Scope::window);
  EXPECT_EQ(via.advice.window_bytes, 32U << 20);
  EXPECT_EQ(via.advice.step_bytes, 1U << 20);
  EXPECT_TRUE(via.drop_behind);
  EXPECT_EQ(via.depth, 8U);
  EXPECT_EQ(via.fallback, "buffered");
  EXPECT_TRUE(options.unread().empty());
  EXPECT_EQ(read_via(with_via({{"advice", "willneed"}, {"scope", "file"}})).advice.scope, AdvicePolicy::Scope::file);
  for (const std::string kind : {"none", "normal", "sequential", "random"}) {
    EXPECT_EQ(name_of(read_via(with_via({{"advice", kind}})).advice.kind), kind);
  }
}

TEST(WriteVia, TakesEveryKeyOfThePageCache) {
  const Options options = with_via(
      {{"write_behind", "8 MiB"}, {"preallocate", "1 GiB"}, {"drop_behind", true}, {"depth", std::int64_t{1}}});
  const WriteVia via = write_via(options);
  EXPECT_EQ(via.write_behind_bytes, 8U << 20);
  EXPECT_EQ(write_via(with_via({{"fsync", "never"}})).write_behind_bytes, 0U) << "the kernel decides";
  EXPECT_EQ(write_via(with_via({{"fsync", "never"}, {"write_behind", "8 MiB"}})).write_behind_bytes, 8U << 20);
  EXPECT_EQ(via.preallocate_bytes, 1U << 30);
  EXPECT_TRUE(via.drop_behind);
  EXPECT_EQ(via.depth, 1U);
  EXPECT_TRUE(options.unread().empty());
}

TEST(Via, RefusesWhatCannotBe) {
  const std::vector<std::pair<Options, std::string>> both{
      {with_via({{"transport", "bufered"}}), "is 'buffered' meant?"},
      {with_via({{"fallback", "tape"}}), "there is no transport 'tape'"},
      {with_via({{"inject", "flood"}}), "not 'flood'"},
      {with_via({{"inject_at", "1 B"}}), "'inject_at' needs an 'inject'"},
      {with_via({{"depth", std::int64_t{5000}}}), "'depth' must be at most 1024"},
      {with_via({{"throttle_rate", std::int64_t{5}}}), "must be a size with its unit"},
      {with_via({{"latency", "5"}}), "must be a time with its unit"},
  };
  for (const auto& [options, message] : both) {
    for (const bool reading : {true, false}) {
      const auto error = error_of([&options = options, reading] {
        if (reading) {
          read_via(options);
        } else {
          write_via(options);
        }
      });
      ASSERT_TRUE(error);
      EXPECT_THAT(error->message(), HasSubstr(message));
      EXPECT_EQ(error->kind(), ErrorKind::config);
      EXPECT_TRUE(error->position().known());
    }
  }
  EXPECT_THAT(error_of([] { read_via(with_via({{"block", "0 B"}})); })->message(), HasSubstr("at least 1 B"));
  EXPECT_THAT(error_of([] { read_via(with_via({{"inject", "enospc"}})); })->message(), HasSubstr("eio, truncate"));
  EXPECT_THAT(error_of([] {
                write_via(with_via({{"inject", "truncate"}}));
              })->message(),
              HasSubstr("eio, enospc, fsync"));
  EXPECT_THAT(error_of([] {
                write_via(with_via({{"fsync", "often"}}));
              })->message(),
              HasSubstr("never, close, interval"));
  EXPECT_THAT(error_of([] {
                write_via(with_via({{"fsync_bytes", "1 B"}}));
              })->message(),
              HasSubstr("needs fsync = \"interval\""));
  EXPECT_THAT(error_of([] {
                write_via(with_via({{"transport", "direct"}, {"depth", std::int64_t{4}}}));
              })->message(),
              HasSubstr("'depth' needs a transport with a queue of writes"));
  for (const auto& [options, message] : std::vector<std::pair<Options, std::string>>{
           {with_via({{"advice", "wilneed"}}), "is 'willneed' meant?"},
           {with_via({{"window", "1 MiB"}}), "'window' needs advice = \"willneed\""},
           {with_via({{"scope", "file"}, {"advice", "random"}}), "'scope' needs advice = \"willneed\""},
           {with_via({{"scope", "file"}, {"advice", "willneed"}, {"step", "1 MiB"}}),
            "'step' needs scope = \"window\""},
           {with_via({{"advice", "willneed"}, {"window", "0 B"}}), "'window' must be at least 1 B"},
           {with_via({{"advice", "populate"}}), "needs transport = \"mmap\""},
           {with_via({{"fault", "consumer"}}), "'fault' needs transport = \"mmap\""}}) {
    EXPECT_THAT(error_of([&options = options] { read_via(options); })->message(), HasSubstr(message));
  }
}

TEST(Via, LeavesUnknownKeysForTheConfigToRefuse) {
  const Options options = with_via({{"blokc", "1 MiB"}});
  read_via(options);
  ASSERT_EQ(options.unread().size(), 1U);
  EXPECT_EQ(options.unread().front().first, "via.blokc");
}

TEST(Via, EveryOptionIsExplained) {
  for (const bool reading : {true, false}) {
    const Options recorder = Options::recorder();
    if (reading) {
      read_via(recorder);
    } else {
      write_via(recorder);
    }
    EXPECT_GE(recorder.described().size(), 7U);
    for (const auto& option : recorder.described()) {
      EXPECT_FALSE(option.help.empty()) << option.key;
      EXPECT_TRUE(option.key.starts_with("via.")) << option.key;
    }
  }
}

TEST(Settle, TakesTheFileSystemsOfAllFilesAndLeavesMissingOnesToTheirReader) {
  const TempDirectory directory;
  ReadVia via;
  settle(via, {directory.write("a", "x"), directory / "missing"});
  EXPECT_EQ(via.transport, "buffered");
  EXPECT_EQ(via.note, "");
  WriteVia out;
  settle(out, directory.path());
  EXPECT_EQ(out.note, "");
}

}  // namespace
}  // namespace millrace::io
