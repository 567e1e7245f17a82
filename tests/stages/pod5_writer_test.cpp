#include "stages/pod5_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/pod5_files.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::error_of;
using test::options_of;
using test::TempDirectory;

std::vector<Chunk> chunks_of(const std::vector<test::MadeRead>& reads) {
  std::vector<Chunk> chunks;
  for (const auto& read : reads) {
    chunks.push_back(test::chunk_of(read.samples, std::make_shared<const Attributes>(read.attributes)));
  }
  return chunks;
}

TEST(Pod5Writer, WritesTheFileOfItsFormat) {
  const TempDirectory directory;
  const auto made = test::made_reads({100, 0, 3000});
  Pod5Writer writer(options_of({{"path", (directory / "out.pod5").string()}}));
  writer.prepare({DType::i16, "signal", 6000});
  test::drive(writer, chunks_of(made));
  EXPECT_EQ(test::contents_of(directory / "out.pod5"), test::pod5_of(made));
  EXPECT_EQ(directory.names().size(), 1U);
}

TEST(Pod5Writer, WritesUncompressedSignalWhenAsked) {
  const TempDirectory directory;
  const auto made = test::made_reads({100});
  Pod5Writer writer(options_of({{"path", (directory / "out.pod5").string()}, {"compression", "none"}}));
  writer.prepare({DType::i16, "signal", 6000});
  test::drive(writer, chunks_of(made));
  io::Pod5Writer::Settings settings;
  settings.compress = false;
  EXPECT_EQ(test::contents_of(directory / "out.pod5"), test::pod5_of(made, settings));
}

TEST(Pod5Writer, LeavesNothingWhenItIsAbandoned) {
  const TempDirectory directory;
  Pod5Writer writer(options_of({{"path", (directory / "out.pod5").string()}}));
  writer.prepare({DType::i16, "signal", 6000});
  for (auto& chunk : chunks_of(test::made_reads({100, 200}))) writer.consume(std::move(chunk));
  writer.abandon();
  EXPECT_TRUE(directory.names().empty());
}

TEST(Pod5Writer, RefusesOptionsAndInputThatItCannotServe) {
  const auto refused = [](const std::string& key, decltype(OptionValue::value) value) {
    return error_of([&] { Pod5Writer(options_of({{"path", "x.pod5"}, {key, std::move(value)}})); })->kind();
  };
  EXPECT_EQ(refused("compression", "gzip"), ErrorKind::config);
  EXPECT_EQ(refused("level", std::int64_t{0}), ErrorKind::config);
  const TempDirectory directory;
  Pod5Writer writer(options_of({{"path", (directory / "out.pod5").string()}}));
  EXPECT_THROW(writer.prepare({DType::f32, "signal", 100}), Error);
  EXPECT_THROW(writer.prepare({DType::i16, "bytes", 100}), Error);
}

}  // namespace
}  // namespace millrace
