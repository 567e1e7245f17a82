#include "io/open_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/core/call_context.h"
#include "tests/support/scripted_io.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using namespace std::chrono_literals;
using test::bytes_of;
using test::error_of;
using test::options_of;
using test::TempDirectory;
using test::text_of;
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
                                    {"fault", "truncate"},
                                    {"fault_at", "7 kB"}});
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
                                    {"fault", "enospc"},
                                    {"fault_at", "1 B"}});
  const WriteVia via = write_via(options);
  EXPECT_EQ(via.fsync, Fsync::interval);
  EXPECT_EQ(via.fsync_bytes, 1U << 20);
  EXPECT_EQ(via.throttle.bytes_per_second, 5'000'000U);
  EXPECT_EQ(via.fault.kind, Fault::Kind::enospc);
  EXPECT_EQ(via.fault.at_bytes, 1U);
  EXPECT_TRUE(options.unread().empty());
  EXPECT_EQ(write_via(with_via({{"fsync", "never"}})).fsync, Fsync::never);
}

TEST(Via, ATransportThatIsNotThereYetNeedsAFallback) {
  for (const std::string transport : {"mmap", "direct", "uring", "uring_direct", "dontcache"}) {
    const auto error = error_of([&] { read_via(with_via({{"transport", transport}})); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), HasSubstr("'" + transport + "' is not in this version, which has: buffered"));
    EXPECT_EQ(error->kind(), ErrorKind::config);
    EXPECT_EQ(error->position().line, 7U);
    EXPECT_THROW(write_via(with_via({{"transport", transport}})), Error);

    const ReadVia via = read_via(with_via({{"transport", transport}, {"fallback", "buffered"}}));
    EXPECT_EQ(via.transport_requested, transport);
    EXPECT_EQ(via.transport, "buffered");
  }
}

TEST(Via, AFallbackHasNoUseForTheKeysOfTheWantedTransportAndSaysSo) {
  const Options options = with_via({{"transport", "mmap"},
                                    {"advice", "willneed"},
                                    {"window", "16 MiB"},
                                    {"step", "1 MiB"},
                                    {"block", "4 MiB"},
                                    {"depth", std::int64_t{8}},
                                    {"fallback", "buffered"}});
  const ReadVia via = read_via(options);
  EXPECT_TRUE(options.unread().empty());
  EXPECT_EQ(via.block_bytes, 4U << 20);
  EXPECT_EQ(
      via.note,
      "via: 'mmap' is not in this version, 'buffered' runs instead and has no use for advice, depth, step, window");
  EXPECT_EQ(write_via(with_via({{"transport", "direct"}, {"fallback", "buffered"}})).note,
            "via: 'direct' is not in this version, 'buffered' runs instead");
  EXPECT_EQ(read_via(options_of({})).note, "");
  const Options buffered = with_via({{"advice", "willneed"}});
  read_via(buffered);
  EXPECT_EQ(buffered.unread().size(), 1U);
}

TEST(Via, RefusesWhatCannotBe) {
  const std::vector<std::pair<Options, std::string>> both{
      {with_via({{"transport", "bufered"}}), "there is no transport 'bufered'; is 'buffered' meant?"},
      {with_via({{"fallback", "tape"}}), "there is no transport 'tape'"},
      {with_via({{"transport", "mmap"}, {"fallback", "direct"}}), "'direct' is not in this version"},
      {with_via({{"fault", "flood"}}), "there is no fault 'flood'"},
      {with_via({{"fault_at", "1 B"}}), "'fault_at' needs a 'fault'"},
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
  EXPECT_THAT(error_of([] { read_via(with_via({{"fault", "enospc"}})); })->message(), HasSubstr("eio, truncate"));
  EXPECT_THAT(error_of([] {
                write_via(with_via({{"fault", "truncate"}}));
              })->message(),
              HasSubstr("eio, enospc, fsync"));
  EXPECT_THAT(error_of([] {
                write_via(with_via({{"fsync", "often"}}));
              })->message(),
              HasSubstr("never, close or interval"));
  EXPECT_THAT(error_of([] {
                write_via(with_via({{"fsync_bytes", "1 B"}}));
              })->message(),
              HasSubstr("needs fsync = \"interval\""));
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

TEST(OpenReader, TheFaultIsInTheReader) {
  const TempDirectory directory;
  const auto path = directory.write("a", std::string(1000, 'x'));
  ReadVia via;
  via.fault = {Fault::Kind::eio, 500, {}};
  const auto reader = open_reader(path, via);
  EXPECT_EQ(reader->read({0, 500}).size(), 500U);
  EXPECT_EQ(error_of([&] { reader->read({500, 1}); })->message(), "cannot read: Input/output error");
}

TEST(OpenReader, AThrottledReadCountsAsWaitingForTheDevice) {
  const TempDirectory directory;
  const auto path = directory.write("a", std::string(1000, 'x'));
  ReadVia via;
  via.throttle.latency = 5ms;
  const auto reader = open_reader(path, via);
  call_context().tally = {};
  reader->read({0, 1000});
  EXPECT_GE(call_context().tally.io_wait_ns, 4'000'000);  // 5 ms less what the call computed
  call_context().tally = {};
}

TEST(OpenReader, ReportsTheTransportThatWasAskedForAndTheOneThatRan) {
  const TempDirectory directory;
  const auto path = directory.write("a", "abc");
  const auto reader = open_reader(path, read_via(with_via({{"transport", "mmap"}, {"fallback", "buffered"}})));
  EXPECT_EQ(reader->stats().transport_requested, "mmap");
  EXPECT_EQ(reader->stats().transport_used, "buffered");
}

TEST(CreateWriter, TheFaultIsInTheWriter) {
  const TempDirectory directory;
  WriteVia via;
  via.fault = {Fault::Kind::enospc, 2, {}};
  const auto writer = create_writer(directory / "a", via);
  EXPECT_EQ(error_of([&] { writer->write(0, bytes_of("abc")); })->offset(), 2U);
  EXPECT_EQ(test::contents_of(directory / "a"), "ab");
}

TEST(CurrentReader, KeepsTheSumOverItsFiles) {
  const TempDirectory directory;
  const auto a = directory.write("a", "aaaa");
  const auto b = directory.write("b", "bb");
  CurrentReader current((ReadVia()));
  EXPECT_EQ(current.stats().calls, 0U);
  EXPECT_EQ(current.stats().transport_used, "buffered");
  Reader* const first = &current.at(a);
  EXPECT_EQ(text_of(first->read({0, 4})), "aaaa");
  EXPECT_EQ(&current.at(a), first);
  EXPECT_EQ(text_of(current.at(b).read({0, 2})), "bb");
  EXPECT_EQ(text_of(current.at(a).read({0, 1})), "a");
  EXPECT_EQ(current.stats().calls, 3U);
  EXPECT_EQ(current.stats().bytes, 7U);
}

TEST(CurrentReader, CanGoOnAfterAFileThatIsMissing) {
  const TempDirectory directory;
  const auto a = directory.write("a", "aaaa");
  CurrentReader current((ReadVia()));
  current.at(a).read({0, 4});
  EXPECT_THROW(current.at(directory / "missing"), Error);
  EXPECT_EQ(current.stats().bytes, 4U);
  EXPECT_EQ(text_of(current.at(a).read({0, 4})), "aaaa");
}

}  // namespace
}  // namespace millrace::io
