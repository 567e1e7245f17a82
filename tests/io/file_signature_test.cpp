#include "io/file_signature.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/scripted_io.h"

namespace millrace::io {
namespace {

using namespace std::string_literals;

std::string name_of(const std::string& head) { return name_by_signature(test::bytes_of(head)); }

TEST(FileSignature, NamesWhatItsStartTells) {
  EXPECT_EQ(name_of("\x89HDF\r\n\x1A\n..."), "HDF5");
  EXPECT_EQ(name_of(std::string(512, '\0') + "\x89HDF\r\n\x1A\n"), "HDF5") << "behind a user block";
  EXPECT_EQ(name_of(std::string(2048, '\0') + "\x89HDF\r\n\x1A\n"), "HDF5");
  EXPECT_EQ(name_of("\x8BPOD\r\n\x1A\n..."), "POD5");
  EXPECT_EQ(name_of("BLOW5\1\0\2"s), "BLOW5");
  EXPECT_EQ(name_of("#slow5_version\t0.2.0"), "SLOW5");
  EXPECT_EQ(name_of("\x93NUMPY\1\0v\0"s), "npy");
  EXPECT_EQ(name_of("\x1F\x8B\x08\x04\0\0\0\0\0\xFF\6\0BC\2\0"s), "BGZF");
  EXPECT_EQ(name_of("\x1F\x8B\x08\x00\0\0\0\0\0\xFF\6\0BC\2\0"s), "gzip") << "no extra field";
  EXPECT_EQ(name_of("\x28\xB5\x2F\xFD.."), "zstd");
  EXPECT_EQ(name_of("II*\0...."s), "TIFF");
  EXPECT_EQ(name_of("SIMPLE  =                    T"), "FITS");
}

TEST(FileSignature, CompletesAMessageThatRefusesAFile) {
  const auto words = [](const std::string& head) { return but_it_starts_like(test::bytes_of(head)); };
  EXPECT_EQ(words("BLOW5\1\0\2"s), "; it starts like BLOW5");
  EXPECT_EQ(words("hello"), "");
}

TEST(FileSignature, IsNotGuessed) {
  for (const auto& head : {""s, "\x89"s, "\x89HDF"s, std::string(511, '\0') + "\x89HDF\r\n\x1A\n", "hello"s, "\x1F"s}) {
    EXPECT_EQ(name_of(head), "");
  }
}

}  // namespace
}  // namespace millrace::io
