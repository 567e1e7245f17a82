#include "io/open_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

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

TEST(OpenWriter, TheFaultIsInTheWriter) {
  const TempDirectory directory;
  WriteVia via;
  via.fault = {Fault::Kind::enospc, 2, {}};
  const auto writer = open_writer(create_output(directory / "a"), directory / "a", via);
  EXPECT_EQ(error_of([&] { writer->write(0, bytes_of("abc")); })->offset(), 2U);
  EXPECT_EQ(test::contents_of(directory / "a"), "ab");
}

TEST(BufferNeeds, ADepthKeepsAllButOneBuffer) {
  ReadVia via;
  EXPECT_EQ(buffer_needs(via).held, 0U);
  via.depth = 8;
  EXPECT_EQ(buffer_needs(via).held, 7U);
}

}  // namespace
}  // namespace millrace::io
