// What io/reader.h promises, run over every implementation: a new transport adds one line to implementations().

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

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

#include "io/advised.h"
#include "io/buffered_file.h"
#include "io/direct_file.h"
#include "io/dontcache_file.h"
#include "io/faulty.h"
#include "io/mapped_file.h"
#include "io/open_file.h"
#include "io/queued_reader.h"
#include "io/reader.h"
#include "io/throttled.h"
#include "io/timed.h"
#include "io/uring_reader.h"
#include "pipeline/core/clock.h"
#include "pipeline/core/error.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/scripted_io.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::error_of;
using test::TempDirectory;
using test::text_of;
using testing::HasSubstr;

struct Implementation {
  std::string name;
  std::function<std::unique_ptr<Reader>(const std::filesystem::path&)> open;
  Probe (*probe)(const std::filesystem::path& file) = nullptr;  // null = works everywhere
};

/// For the messages of GoogleTest.
void PrintTo(const Implementation& implementation, std::ostream* out) { *out << implementation.name; }

Clock& manual_clock() {
  static auto* const clock = new ManualClock;
  return *clock;
}

std::vector<Implementation> implementations() {
  const auto plain = [](const std::filesystem::path& path) { return std::make_unique<BufferedReader>(path); };
  constexpr Throttle kSlow{10'000'000, std::chrono::milliseconds(3)};
  return {
      {"buffered", plain},
      {"mmap", [](const auto& path) { return std::make_unique<MappedReader>(path); }, MappedReader::probe},
      {"mmap_consumer_faults",
       [](const auto& path) {
         ReadVia via;
         via.consumer_faults = true;
         return std::make_unique<MappedReader>(path, via);
       },
       MappedReader::probe},
      {"dontcache", [](const auto& path) { return std::make_unique<DontcacheReader>(path); }, DontcacheReader::probe},
      {"direct", [](const auto& path) { return std::make_unique<DirectReader>(path); }, probe_direct_read},
      {"uring", [](const auto& path) { return std::make_unique<UringReader>(path, ReadVia{}, false); },
       [](const auto& path) { return probe_uring_read(path, false); }},
      {"uring_direct", [](const auto& path) { return std::make_unique<UringReader>(path, ReadVia{}, true); },
       [](const auto& path) { return probe_uring_read(path, true); }},
      {"queued", [=](const auto& path) { return std::make_unique<QueuedReader>([=] { return plain(path); }, 3); }},
      {"timed", [=](const auto& path) { return std::make_unique<TimedReader>(plain(path), monotonic_clock()); }},
      {"throttled",
       [=](const auto& path) { return std::make_unique<ThrottledReader>(plain(path), kSlow, manual_clock()); }},
      {"faulty", [=](const auto& path) { return std::make_unique<FaultyReader>(plain(path), Fault{}); }},
      {"advised",
       [=](const auto& path) {
         const Advising advising{.policy = {AdvicePolicy::Kind::willneed, AdvicePolicy::Scope::window, 64U << 10, 0},
                                 .drop_behind = true};
         return std::make_unique<AdvisedReader>(plain(path), advising, 16U << 10);
       }},
      {"advised_uring",
       [](const auto& path) {
         const Advising advising{.policy = {AdvicePolicy::Kind::willneed, AdvicePolicy::Scope::window, 256U << 10, 0}};
         return std::make_unique<AdvisedReader>(std::make_unique<UringReader>(path, ReadVia{}, false), advising,
                                                16U << 10);
       },
       [](const auto& path) { return probe_uring_read(path, false); }},
      {"opened", [](const auto& path) { return open_reader(path, {}); }},
  };
}

class ReaderConformance : public testing::TestWithParam<Implementation> {
 protected:
  void SetUp() override {
    if (GetParam().probe != nullptr) {
      const Probe probe = GetParam().probe(TempDirectory().write("a", "abc"));
      if (!probe.works) GTEST_SKIP() << probe.reason;
    }
    monotonic_clock().thread_usage();  // opens a file that stays open for the thread
    descriptors_before_ = test::open_descriptors();
  }
  void TearDown() override {
    if (IsSkipped()) return;
    EXPECT_EQ(test::open_descriptors(), descriptors_before_) << "a descriptor was leaked";
  }

  std::unique_ptr<Reader> open(const std::filesystem::path& path) const { return GetParam().open(path); }

  TempDirectory directory_;
  std::ptrdiff_t descriptors_before_ = 0;
};

std::string noise(std::size_t bytes) {
  std::mt19937_64 random(bytes);
  std::string result(bytes, '\0');
  std::generate(result.begin(), result.end(), [&random] { return static_cast<char>(random()); });
  return result;
}

TEST_P(ReaderConformance, KnowsItsFile) {
  const auto path = directory_.write("a", "0123456789");
  const auto reader = open(path);
  EXPECT_EQ(reader->size(), 10U);
  EXPECT_EQ(reader->path(), path);
  EXPECT_FALSE(reader->stats().transport_used.empty());
  EXPECT_FALSE(reader->stats().transport_requested.empty());
}

TEST_P(ReaderConformance, ReadsAnyExtentExactly) {
  const std::string contents = noise(300'000);
  const auto reader = open(directory_.write("a", contents));
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t offset = random() % contents.size();
    const std::uint64_t length =
        random() % std::min<std::uint64_t>(contents.size() - offset + 1, 1ULL << (random() % 19));
    EXPECT_EQ(text_of(reader->read({offset, length})), contents.substr(offset, length)) << offset << " + " << length;
  }
  EXPECT_EQ(text_of(reader->read({0, contents.size()})), contents);
}

TEST_P(ReaderConformance, AnnouncedExtentsAreReadLikeOthers) {
  const std::string contents = noise(600'000);
  const auto reader = open(directory_.write("a", contents));
  std::mt19937_64 random(2);
  std::vector<Extent> extents;
  for (std::uint64_t at = 0; at + 30'000 < contents.size(); at += random() % 20'000) {
    extents.push_back({at, random() % 30'000});
  }
  const Lookahead reach = reader->lookahead();
  std::size_t announced = 0;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::size_t ahead = i + 1 + std::max<std::size_t>(reach.reads, 5 * (reach.bytes > 0 ? 1 : 0));
    for (; announced < std::min(ahead, extents.size()); ++announced) reader->announce(extents[announced]);
    if (i % 7 == 3) continue;  // announced, and given up by the next
    const auto [offset, length] = extents[i];
    EXPECT_EQ(text_of(reader->read(extents[i])), contents.substr(offset, length)) << offset << " + " << length;
    if (i % 5 == 2) {
      EXPECT_EQ(text_of(reader->read({i, 1000})), contents.substr(i, 1000)) << "not announced";
    }
  }
  reader->announce({0, 10});  // never read: its transfer must not outlive the reader
}

TEST_P(ReaderConformance, BuffersAreTheirHoldersOwn) {
  auto reader = open(directory_.write("a", "0123456789"));
  const Buffer first = reader->read({0, 5});
  const Buffer second = reader->read({5, 5});
  const Buffer again = reader->read({0, 5});
  reader.reset();
  EXPECT_EQ(text_of(first), "01234");
  EXPECT_EQ(text_of(second), "56789");
  EXPECT_EQ(text_of(again), "01234");
}

TEST_P(ReaderConformance, AnEmptyExtentGivesAnEmptyBuffer) {
  const auto reader = open(directory_.write("a", "0123456789"));
  for (const std::uint64_t offset : {0, 5, 10}) EXPECT_TRUE(reader->read({offset, 0}).empty());
}

TEST_P(ReaderConformance, FilesOfZeroAndOneByte) {
  const auto empty = open(directory_.write("empty", ""));
  EXPECT_EQ(empty->size(), 0U);
  EXPECT_TRUE(empty->read({0, 0}).empty());
  EXPECT_THROW(empty->read({0, 1}), Error);
  const auto one = open(directory_.write("one", "x"));
  EXPECT_EQ(text_of(one->read({0, 1})), "x");
  EXPECT_TRUE(one->read({1, 0}).empty());
}

TEST_P(ReaderConformance, BeyondTheEndIsTruncatedWithPathAndOffset) {
  const auto path = directory_.write("a", "0123456789");
  const auto reader = open(path);
  for (const Extent extent : {Extent{0, 11}, Extent{9, 2}, Extent{10, 1}, Extent{1ULL << 40, 1}, Extent{0, ~0ULL},
                              Extent{~0ULL, 1}, Extent{~0ULL, ~0ULL}}) {
    const auto error = error_of([&] { reader->read(extent); });
    ASSERT_TRUE(error) << extent.offset << " + " << extent.length;
    EXPECT_THAT(error->message(), HasSubstr("truncated"));
    EXPECT_EQ(error->path(), path);
    EXPECT_TRUE(error->offset().has_value());
  }
  EXPECT_EQ(text_of(reader->read({0, 10})), "0123456789");
}

TEST_P(ReaderConformance, AFileThatShrinksIsTruncatedWhereItEnds) {
  const auto path = directory_.write("a", noise(100'000));
  const auto reader = open(path);
  std::filesystem::resize_file(path, 50'001);
  EXPECT_EQ(reader->read({0, 50'001}).size(), 50'001U);
  const auto error = error_of([&] { reader->read({40'000, 20'000}); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("truncated"));
  EXPECT_EQ(error->offset(), 50'001U);
}

TEST_P(ReaderConformance, ReadsBeyondFourGiBOfASparseFile) {
  const auto path = directory_.write("large", "");
  constexpr std::uint64_t kBytes = (4ULL << 30) + 4097;
  std::filesystem::resize_file(path, kBytes);
  const auto reader = open(path);
  EXPECT_EQ(reader->size(), kBytes);
  EXPECT_EQ(text_of(reader->read({kBytes - 5000, 5000})), std::string(5000, '\0'));
}

TEST_P(ReaderConformance, PathsWithSpacesAndUtf8) {
  const auto path = directory_.write("with space/ä 名 .bin", "abc");
  const auto reader = open(path);
  EXPECT_EQ(text_of(reader->read({0, 3})), "abc");
}

TEST_P(ReaderConformance, RefusesWhatIsNoRegularFile) {
  ASSERT_EQ(::mkfifo((directory_ / "pipe").c_str(), 0600), 0);
  for (const auto& path :
       {directory_ / "missing", directory_.path(), directory_ / "pipe", std::filesystem::path("/dev/null")}) {
    const auto error = error_of([&] { open(path); });
    ASSERT_TRUE(error) << path;
    EXPECT_EQ(error->path(), path);
    EXPECT_FALSE(error->message().empty());
  }
}

TEST_P(ReaderConformance, CountsWhatItReads) {
  const auto reader = open(directory_.write("a", noise(1000)));
  reader->read({0, 600});
  reader->read({600, 400});
  EXPECT_GE(reader->stats().bytes, 1000U);
  EXPECT_GE(reader->stats().calls, 1U);
}

TEST_P(ReaderConformance, TakesItsMemoryFromTheOutputLinkOrFromNobody) {
  const auto reader = open(directory_.write("a", noise(1000)));
  test::RecyclingLender lender;
  const test::LendFrom lend(lender);
  for (int i = 0; i < 10; ++i) reader->read({0, 1000});
  EXPECT_LE(lender.blocks(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Every, ReaderConformance, testing::ValuesIn(implementations()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace millrace::io
