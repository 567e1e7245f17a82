#include "io/bgzf.h"

#include <gtest/gtest.h>
#include <libdeflate.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/support/byte_samples.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

struct Free {
  void operator()(libdeflate_decompressor* decompressor) const { libdeflate_free_decompressor(decompressor); }
};

std::size_t number_at(const std::string& file, std::size_t at, std::size_t bytes) {
  std::size_t number = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    number |= static_cast<std::size_t>(static_cast<unsigned char>(file[at + i])) << (8 * i);
  return number;
}

/// The contents of each block, found by what the blocks say of their length (SAM specification 4.1).
std::vector<std::string> blocks_of(const std::string& file) {
  const std::unique_ptr<libdeflate_decompressor, Free> decompressor(libdeflate_alloc_decompressor());
  std::vector<std::string> blocks;
  for (std::size_t at = 0; at < file.size();) {
    EXPECT_EQ(file.substr(at, 4), "\x1f\x8b\x08\x04");
    EXPECT_EQ(file.substr(at + 10, 6), std::string("\x06\0BC\x02\0", 6));
    const std::size_t length = number_at(file, at + 16, 2) + 1;
    std::string contents(number_at(file, at + length - 4, 4), '\0');
    std::size_t in = 0;
    std::size_t out = 0;
    EXPECT_EQ(libdeflate_gzip_decompress_ex(decompressor.get(), file.data() + at, length, contents.data(),
                                            contents.size(), &in, &out),
              LIBDEFLATE_SUCCESS);
    EXPECT_EQ(in, length);
    EXPECT_EQ(out, contents.size());
    EXPECT_LE(contents.size(), 65536U);
    if (testing::Test::HasFailure()) break;
    blocks.push_back(std::move(contents));
    at += length;
  }
  return blocks;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const auto& part : parts) all += part;
  return all;
}

std::string written(const std::vector<std::string>& pieces, int level) {
  const test::TempDirectory directory;
  OutputFile output(directory / "out.gz", WriteVia{});
  BgzfWriter writer(output, level);
  for (const auto& piece : pieces) writer.append(piece);
  writer.finish();
  output.publish();
  return test::contents_of(directory / "out.gz");
}

/// The end mark as the specification prints it.
const std::string kEndMark("\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0", 28);

TEST(BgzfWriter, GivesBackWhatItWasGivenAtEveryLevel) {
  for (const auto& sample : test::byte_samples(5, 300'000)) {
    const std::string contents(reinterpret_cast<const char*>(sample.data()), sample.size());
    for (const int level : {0, 1, 6, 12}) {
      const std::string file = written({contents}, level);
      const auto blocks = blocks_of(file);
      EXPECT_EQ(joined(blocks), contents) << "level " << level;
      EXPECT_EQ(blocks.size(), (contents.size() + 0xff00 - 1) / 0xff00 + 1);
    }
  }
}

TEST(BgzfWriter, TheCutsOfTheCallerDoNotShow) {
  std::mt19937_64 random(3);
  std::vector<std::string> pieces;
  for (int i = 0; i < 300; ++i) pieces.emplace_back(random() % 3000, static_cast<char>('a' + random() % 26));
  EXPECT_EQ(written(pieces, 6), written({joined(pieces)}, 6));
}

TEST(BgzfWriter, EndsWithTheMarkOfTheSpecification) {
  EXPECT_EQ(written({}, 6), kEndMark);
  EXPECT_TRUE(written({"ACGT"}, 6).ends_with(kEndMark));
}

TEST(BgzfStored, IsAsLongAsTheLengthOfItsContentsSays) {
  std::mt19937_64 random(4);
  for (const std::size_t bytes : {0UL, 1UL, 100UL, 0xff00UL, 0xff01UL, 200'000UL}) {
    std::string noise(bytes, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    const std::string blocks = bgzf_stored(noise);
    EXPECT_EQ(joined(blocks_of(blocks)), noise);
    EXPECT_EQ(blocks.size(), bgzf_stored(std::string(bytes, 'x')).size());
  }
}

}  // namespace
}  // namespace millrace::io
