// What io/writer.h promises, run over every implementation: a new transport adds one line to implementations().

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "io/buffered_file.h"
#include "io/direct_file.h"
#include "io/dontcache_file.h"
#include "io/faulty.h"
#include "io/mapped_file.h"
#include "io/open_file.h"
#include "io/throttled.h"
#include "io/timed.h"
#include "io/uring_writer.h"
#include "io/writer.h"
#include "pipeline/core/clock.h"
#include "pipeline/core/error.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/scripted_io.h"
#include "tests/support/small_disk.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::bytes_of;
using test::contents_of;
using test::error_of;
using test::TempDirectory;
using testing::HasSubstr;

struct Implementation {
  std::string name;
  std::function<std::unique_ptr<Writer>(const std::filesystem::path&)> create;
  Probe (*probe)(const std::filesystem::path& directory) = nullptr;  // null = works everywhere
};

/// For the messages of GoogleTest.
void PrintTo(const Implementation& implementation, std::ostream* out) { *out << implementation.name; }

Clock& manual_clock() {
  static auto* const clock = new ManualClock;
  return *clock;
}

std::vector<Implementation> implementations() {
  const auto plain = [](const std::filesystem::path& path) {
    return std::make_unique<BufferedWriter>(create_output(path), path);
  };
  constexpr Throttle kSlow{10'000'000, std::chrono::milliseconds(3)};
  return {
      {"buffered", plain},
      {"mmap", [](const auto& path) { return std::make_unique<MappedWriter>(create_output(path), path); },
       MappedWriter::probe},
      {"dontcache", [](const auto& path) { return std::make_unique<DontcacheWriter>(create_output(path), path); },
       DontcacheWriter::probe},
      {"direct", [](const auto& path) { return std::make_unique<DirectWriter>(create_output(path), path, WriteVia{}); },
       probe_direct_write},
      {"uring",
       [](const auto& path) { return std::make_unique<UringWriter>(create_output(path), path, WriteVia{}, false); },
       [](const auto& place) { return probe_uring_write(place, false); }},
      {"uring_direct",
       [](const auto& path) { return std::make_unique<UringWriter>(create_output(path), path, WriteVia{}, true); },
       [](const auto& place) { return probe_uring_write(place, true); }},
      {"timed", [=](const auto& path) { return std::make_unique<TimedWriter>(plain(path), monotonic_clock()); }},
      {"throttled",
       [=](const auto& path) { return std::make_unique<ThrottledWriter>(plain(path), kSlow, manual_clock()); }},
      {"faulty", [=](const auto& path) { return std::make_unique<FaultyWriter>(plain(path), Fault{}); }},
      {"created", [](const auto& path) { return open_writer(create_output(path), path, {}); }},
  };
}

class WriterConformance : public testing::TestWithParam<Implementation> {
 protected:
  void SetUp() override {
    const Probe probe = probe_in(directory_.path());
    if (!probe.works) GTEST_SKIP() << probe.reason;
    monotonic_clock().thread_usage();  // opens a file that stays open for the thread
    descriptors_before_ = test::open_descriptors();
  }
  void TearDown() override {
    if (IsSkipped()) return;
    EXPECT_EQ(test::open_descriptors(), descriptors_before_) << "a descriptor was leaked";
  }

  static Probe probe_in(const std::filesystem::path& directory) {
    return GetParam().probe == nullptr ? Probe{} : GetParam().probe(directory);
  }
  std::unique_ptr<Writer> create(const std::filesystem::path& path) const { return GetParam().create(path); }

  TempDirectory directory_;
  std::ptrdiff_t descriptors_before_ = 0;
};

TEST_P(WriterConformance, WritesAtAnyPlaceInAnyOrder) {
  const auto path = directory_ / "with space ä 名";
  std::string expected(200'000, '\0');
  {
    const auto writer = create(path);
    EXPECT_EQ(writer->path(), path);
    std::mt19937_64 random(3);
    writer->write(0, bytes_of(expected));
    for (int i = 0; i < 300; ++i) {
      const std::uint64_t offset = random() % expected.size();
      const std::string piece(random() % std::min<std::uint64_t>(expected.size() - offset + 1, 5000),
                              static_cast<char>('a' + i % 26));
      writer->write(offset, bytes_of(piece));
      expected.replace(offset, piece.size(), piece);
    }
    writer->sync();
  }
  EXPECT_EQ(contents_of(path), expected);
}

TEST_P(WriterConformance, AHoleReadsAsZeros) {
  {
    const auto writer = create(directory_ / "a");
    writer->write(5, bytes_of("x"));
    writer->write(1, bytes_of("y"));
    writer->sync();
  }
  EXPECT_EQ(contents_of(directory_ / "a"), std::string("\0y\0\0\0x", 6));
}

TEST_P(WriterConformance, NothingWrittenIsAnEmptyFile) {
  {
    const auto writer = create(directory_ / "a");
    writer->write(0, {});
    writer->sync();
  }
  EXPECT_EQ(contents_of(directory_ / "a"), "");
}

TEST_P(WriterConformance, CountsWhatItWrites) {
  const auto writer = create(directory_ / "a");
  writer->write(0, bytes_of("abc"));
  writer->write(3, bytes_of("de"));
  writer->sync();
  EXPECT_EQ(writer->stats().bytes, 5U);
  EXPECT_GE(writer->stats().calls, 1U);
  EXPECT_EQ(writer->stats().fsync_calls, 1U);
  EXPECT_FALSE(writer->stats().transport_used.empty());
}

TEST_P(WriterConformance, RefusesAnExistingFileAndAMissingDirectory) {
  directory_.write("a", "precious");
  for (const auto& path : {directory_ / "a", directory_ / "missing" / "b", directory_.path()}) {
    const auto error = error_of([&] { create(path); });
    ASSERT_TRUE(error) << path;
    EXPECT_EQ(error->path(), path);
  }
  EXPECT_EQ(contents_of(directory_ / "a"), "precious");
}

TEST_P(WriterConformance, AFullDiskIsForGood) {
  const test::SmallDisk disk(128 << 10);
  if (!disk.mounted()) GTEST_SKIP() << disk.reason();
  if (const Probe probe = probe_in(disk.directory().path()); !probe.works) GTEST_SKIP() << probe.reason;
  const auto path = disk.directory() / "a";
  const auto writer = create(path);
  const auto error = error_of([&] {
    for (std::uint64_t i = 0; i < 20; ++i) writer->write(i * 10'000, bytes_of(std::string(10'000, 'x')));
    writer->sync();
  });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("No space left on device"));
  EXPECT_EQ(error->path(), path);
  EXPECT_STREQ(error_of([&] { writer->write(0, bytes_of("x")); })->what(), error->what());
  EXPECT_STREQ(error_of([&] { writer->sync(); })->what(), error->what());
}

INSTANTIATE_TEST_SUITE_P(Every, WriterConformance, testing::ValuesIn(implementations()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace millrace::io
