#include "io/open_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "io/aligned_writer.h"
#include "io/file_system.h"
#include "pipeline/core/call_context.h"
#include "tests/support/scripted_io.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using namespace std::chrono_literals;
using test::bytes_of;
using test::error_of;
using test::TempDirectory;

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

TEST(OpenReader, AdviceIsGivenOnlyWhenItIsAskedFor) {
  const TempDirectory directory;
  const auto path = directory.write("a", std::string(1000, 'x'));
  EXPECT_EQ(open_reader(path, {})->stats().advice.calls, 0U);
  ReadVia via;
  via.advice.kind = AdvicePolicy::Kind::sequential;
  via.fault = {Fault::Kind::eio, 500, {}};
  via.throttle.bytes_per_second = 1'000'000'000;
  const auto advised = open_reader(path, via);
  EXPECT_EQ(advised->stats().advice.calls, 1U);
  EXPECT_EQ(advised->stats().advice.kind, "sequential");
  EXPECT_EQ(advised->stats().advice.errors, 0U);
}

TEST(OpenReader, EveryDescriptorOfAQueueIsAdvised) {
  const TempDirectory directory;
  const auto path = directory.write("a", std::string(8000, 'x'));
  ReadVia via;
  via.advice.kind = AdvicePolicy::Kind::random;
  via.depth = 2;
  const auto reader = open_reader(path, via);
  for (std::uint64_t i = 0; i < 8; ++i) reader->announce({i * 1000, 1000});
  for (std::uint64_t i = 0; i < 8; ++i) reader->read({i * 1000, 1000});
  const IoStats::Advice advice = reader->stats().advice;
  EXPECT_EQ(advice.kind, "random");
  EXPECT_GE(advice.calls, 1U);
  EXPECT_LE(advice.calls, 2U) << "one for each reader";
  EXPECT_GT(advice.checked_bytes, 0U);
}

TEST(OpenReader, OneQueueHasOneWindow) {
  const TempDirectory directory;
  const auto path = directory.write("a", std::string(64'000, 'x'));
  ReadVia via;
  via.advice = {AdvicePolicy::Kind::willneed, AdvicePolicy::Scope::window, 16'384, 8192};
  via.depth = 2;
  const auto reader = open_reader(path, via);
  EXPECT_EQ(reader->lookahead().reads, 1U);
  EXPECT_EQ(reader->lookahead().bytes, 16'384U);
  for (std::uint64_t i = 0; i < 8; ++i) reader->announce({i * 8000, 8000});
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_EQ(reader->read({i * 8000, 8000}).size(), 8000U);
  EXPECT_EQ(reader->stats().advice.kind, "willneed");
  EXPECT_GT(reader->stats().advice.calls, 0U);
}

TEST(OpenReader, AnUnsettledWindowStillHasTheStepOfItsDevice) {
  const TempDirectory directory;
  const auto path = directory.write("a", std::string(1000, 'x'));
  ReadVia via;
  via.advice.kind = AdvicePolicy::Kind::willneed;
  const auto reader = open_reader(path, via);
  EXPECT_EQ(reader->lookahead().bytes, via.advice.window_bytes);
  EXPECT_EQ(reader->stats().advice.step_bytes,
            std::min(via.advice.window_bytes, file_system_of(path).prefetch_limit_bytes()));
}

TEST(OpenReader, DropsBehindItself) {
  const TempDirectory directory;
  const auto path = directory.write("a", std::string(3U << 20, 'x'));
  ReadVia via;
  via.drop_behind = true;
  const auto reader = open_reader(path, via);
  reader->read({0, 1U << 20});
  reader->read({1U << 20, 2U << 20});
  EXPECT_EQ(reader->stats().dropped_cache_bytes, 3U << 20);
  EXPECT_EQ(reader->stats().advice.kind, "none");
}

TEST(OpenWriter, TheFaultIsInTheWriter) {
  const TempDirectory directory;
  WriteVia via;
  via.fault = {Fault::Kind::enospc, 2, {}};
  const auto writer = open_writer(create_output(directory / "a"), directory / "a", via);
  EXPECT_EQ(error_of([&] { writer->write(0, bytes_of("abc")); })->offset(), 2U);
  EXPECT_EQ(test::contents_of(directory / "a"), "ab");
}

TEST(StateBytes, CoverTheStagingMemoryOfDirectWriters) {
  WriteVia via;
  EXPECT_EQ(state_bytes(via), 0U);
  via.transport = "direct";
  EXPECT_EQ(state_bytes(via), AlignedWriter::kStagingBytes);
  via.transport = "uring_direct";
  via.depth = 6;
  EXPECT_EQ(state_bytes(via), 7 * AlignedWriter::kStagingBytes);
}

TEST(BufferNeeds, ADepthKeepsAllButOneBuffer) {
  ReadVia via;
  EXPECT_EQ(buffer_needs(via).held, 0U);
  via.depth = 8;
  EXPECT_EQ(buffer_needs(via).held, 7U);
  via.transport = "mmap";
  EXPECT_EQ(buffer_needs(via).held, 0U) << "a map loans nothing";
  WriteVia out;
  out.depth = 4;
  EXPECT_EQ(buffer_needs(out).held, 0U) << "buffered has no queue of writes";
  out.transport = "uring_direct";
  EXPECT_EQ(buffer_needs(out).held, 3U);
}

}  // namespace
}  // namespace millrace::io
