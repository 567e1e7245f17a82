#include "stages/raw_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::chunk_of;
using test::options_of;
using test::TempDirectory;
using testing::ElementsAre;
using testing::IsEmpty;

RawWriter writer_to(const std::filesystem::path& path) { return RawWriter(options_of({{"path", path.string()}})); }

std::vector<Chunk> chunks() {
  std::vector<Chunk> result;
  result.push_back(chunk_of(std::vector<std::int16_t>{0x4142, 0x4344}));
  result.push_back(chunk_of(std::vector<std::uint8_t>{}));
  result.push_back(chunk_of(std::vector<std::uint8_t>{'x', 'y'}));
  return result;
}

TEST(RawWriter, AppendsTheBytesOfEveryChunk) {
  const TempDirectory directory;
  RawWriter writer = writer_to(directory / "out");
  writer.prepare({});
  test::drive(writer, chunks());
  EXPECT_EQ(test::contents_of(directory / "out"), "BADCxy");
  ASSERT_EQ(writer.outputs().size(), 1U);
  EXPECT_EQ(writer.outputs().front().bytes, 6U);
  EXPECT_EQ(writer.io_stats()->bytes, 6U);
  EXPECT_EQ(writer.io_stats()->transport_used, "buffered");
}

TEST(RawWriter, KeepsAnInterruptedOutputAsPartial) {
  const TempDirectory directory;
  RawWriter writer = writer_to(directory / "out");
  writer.prepare({});
  test::drive(writer, chunks(), Sink::End::interrupted);
  EXPECT_THAT(directory.names(), ElementsAre("out.partial"));
}

TEST(RawWriter, CreatesNothingUntilTheFirstByte) {
  const TempDirectory directory;
  {
    RawWriter writer = writer_to(directory / "out");
    EXPECT_FALSE(writer.io_stats());
    EXPECT_THAT(writer.outputs(), IsEmpty());
    writer.abandon();
    writer.prepare({});
    EXPECT_THAT(directory.names(), IsEmpty());
  }
  EXPECT_THAT(directory.names(), IsEmpty());
}

TEST(RawWriter, RefusesAMissingDirectoryBeforeTheRun) {
  const TempDirectory directory;
  RawWriter writer = writer_to(directory / "missing" / "out");
  EXPECT_THROW(writer.prepare({}), Error);
}

}  // namespace
}  // namespace millrace
