#include "io/faulty.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/support/scripted_io.h"
#include "tests/support/stage_driver.h"

namespace millrace::io {
namespace {

using test::bytes_of;
using test::error_of;
using test::ScriptedReader;
using test::ScriptedWriter;
using test::Written;
using testing::HasSubstr;

constexpr std::uint64_t kBlock = 1000;
constexpr std::uint64_t kBlocks = 10;

FaultyReader reader_with(Fault fault) {
  return {std::make_unique<ScriptedReader>(std::string(kBlock * kBlocks, 'x')), fault};
}

/// The block in which `at_bytes` lies fails, all others are read, before and after.
void expect_only_block_fails(Fault fault, std::uint64_t block) {
  FaultyReader reader = reader_with(fault);
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    if (i != block) {
      EXPECT_EQ(reader.read({i * kBlock, kBlock}).size(), kBlock);
      continue;
    }
    const auto error = error_of([&] { reader.read({i * kBlock, kBlock}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message(), "cannot read: Input/output error");
    EXPECT_EQ(error->offset(), fault.at_bytes);
    EXPECT_EQ(error->path(), "/scripted/input");
  }
}

TEST(FaultyReader, FailsInTheFirstTheMiddleAndTheLastBlock) {
  expect_only_block_fails({Fault::Kind::eio, 0, {}}, 0);
  expect_only_block_fails({Fault::Kind::eio, 999, {}}, 0);
  expect_only_block_fails({Fault::Kind::eio, 5000, {}}, 5);
  expect_only_block_fails({Fault::Kind::eio, 9999, {}}, 9);
}

TEST(FaultyReader, FailsAtACallNumber) {
  FaultyReader reader = reader_with({Fault::Kind::eio, 0, 3});
  reader.read({0, kBlock});
  reader.read({0, kBlock});
  EXPECT_EQ(error_of([&] { reader.read({7000, kBlock}); })->offset(), 7000U);
  EXPECT_NO_THROW(reader.read({7000, kBlock}));
}

TEST(FaultyReader, EndsAFileEarly) {
  FaultyReader reader = reader_with({Fault::Kind::truncate, 4500, {}});
  EXPECT_EQ(reader.size(), kBlock * kBlocks);
  EXPECT_NO_THROW(reader.read({4000, 500}));
  for (const Extent extent : {Extent{4000, kBlock}, Extent{8000, kBlock}}) {
    const auto error = error_of([&] { reader.read(extent); });
    EXPECT_THAT(error->message(), HasSubstr("truncated"));
    EXPECT_EQ(error->offset(), 4500U);
  }
  EXPECT_NO_THROW(reader.read({9000, 0}));
}

TEST(FaultyReader, NoFaultNoFailure) {
  FaultyReader reader = reader_with({});
  EXPECT_FALSE(Fault{}.active());
  for (std::uint64_t i = 0; i < kBlocks; ++i) EXPECT_NO_THROW(reader.read({i * kBlock, kBlock}));
  EXPECT_EQ(reader.stats().calls, kBlocks);
}

TEST(FaultyWriter, WritesWhatLiesBeforeTheFaultAndThenFailsForGood) {
  Written written;
  FaultyWriter writer(std::make_unique<ScriptedWriter>(written), {Fault::Kind::enospc, 1500, {}});
  writer.write(0, bytes_of(std::string(kBlock, 'a')));
  const auto error = error_of([&] { writer.write(kBlock, bytes_of(std::string(kBlock, 'b'))); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "cannot write: No space left on device");
  EXPECT_EQ(error->offset(), 1500U);
  EXPECT_EQ(error->path(), "/scripted/output");
  EXPECT_EQ(written.contents, std::string(kBlock, 'a') + std::string(500, 'b'));
  EXPECT_STREQ(error_of([&] { writer.write(0, bytes_of("x")); })->what(), error->what());
  EXPECT_STREQ(error_of([&] { writer.sync(); })->what(), error->what());
  EXPECT_EQ(written.syncs, 0);
}

TEST(FaultyWriter, FailsAtACallNumberWithEio) {
  Written written;
  FaultyWriter writer(std::make_unique<ScriptedWriter>(written), {Fault::Kind::eio, 0, 2});
  writer.write(0, bytes_of("abc"));
  const auto error = error_of([&] { writer.write(3, bytes_of("def")); });
  EXPECT_EQ(error->message(), "cannot write: Input/output error");
  EXPECT_EQ(error->offset(), 3U);
  EXPECT_EQ(written.contents, "abc");
}

TEST(FaultyWriter, AFailedSyncIsForGood) {
  Written written;
  FaultyWriter writer(std::make_unique<ScriptedWriter>(written), {Fault::Kind::fsync, 0, 2});
  writer.write(0, bytes_of("abc"));
  EXPECT_NO_THROW(writer.sync());
  EXPECT_EQ(error_of([&] { writer.sync(); })->message(), "cannot sync: Input/output error");
  EXPECT_THROW(writer.sync(), Error);
  EXPECT_THROW(writer.write(3, bytes_of("d")), Error);
  EXPECT_EQ(written.syncs, 1);
}

}  // namespace
}  // namespace millrace::io
