#include "io/advised.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/buffered_file.h"
#include "io/file_system.h"
#include "io/mapped_file.h"
#include "io/page_cache.h"
#include "tests/support/scripted_io.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using Kind = AdvicePolicy::Kind;
using Scope = AdvicePolicy::Scope;
using testing::ElementsAre;

constexpr std::uint64_t kMiB = 1U << 20;

Advising advising(Kind kind, Scope scope = Scope::window, std::uint64_t window = 4 * kMiB, std::uint64_t step = 0) {
  return {.policy = {kind, scope, window, step}};
}

/// A reader that keeps a queue of `reads` transfers, over the descriptor of a real file; writes down what it hears.
class QueueingReader final : public Reader {
 public:
  using Log = std::vector<std::string>;

  QueueingReader(const std::filesystem::path& file, std::uint32_t reads, Log& log)
      : inner_(file), reads_(reads), log_(log) {}

  Buffer read(Extent extent) override {
    log_.push_back("read " + std::to_string(extent.offset));
    return inner_.read(extent);
  }
  Lookahead lookahead() const override { return {reads_, 0}; }
  void announce(Extent extent) override { log_.push_back("announce " + std::to_string(extent.offset)); }
  std::uint64_t size() const override { return inner_.size(); }
  const std::filesystem::path& path() const override { return inner_.path(); }
  int descriptor() const override { return inner_.descriptor(); }
  IoStats stats() const override { return inner_.stats(); }

 private:
  BufferedReader inner_;
  std::uint32_t reads_;
  Log& log_;
};

class Advised : public testing::Test {
 protected:
  /// A file of which nothing is cached; a test cannot go on where that cannot be had.
  bool write_cold(std::uint64_t bytes) {
    file_ = directory_.write("a", std::string(bytes, 'x'));
    return evict(file_) == 0U;
  }
  std::unique_ptr<AdvisedReader> open(const Advising& how, std::uint64_t step_limit = kMiB) const {
    return std::make_unique<AdvisedReader>(std::make_unique<BufferedReader>(file_), how, step_limit);
  }
  std::uint64_t cached(Extent extent) const {
    return resident_in(BufferedReader(file_).descriptor(), extent).value_or(0);
  }

  static constexpr const char* kKept = "the files of this place cannot be evicted";

  test::TempDirectory directory_;
  std::filesystem::path file_;
};

TEST_F(Advised, FetchesTheWindowAndNoMore) {
  if (!write_cold(16 * kMiB)) GTEST_SKIP() << kKept;
  const auto reader = open(advising(Kind::willneed, Scope::window, 4 * kMiB), 128U << 10);
  EXPECT_EQ(reader->lookahead().bytes, 4 * kMiB);
  EXPECT_EQ(reader->lookahead().reads, 0U);
  for (std::uint64_t i = 0; i < 8; ++i) reader->announce({i * kMiB, kMiB});
  EXPECT_EQ(cached({0, 4 * kMiB}), 4 * kMiB) << "there or under way";
  EXPECT_EQ(cached({4 * kMiB, 12 * kMiB}), 0U);
  EXPECT_EQ(reader->stats().advice.calls, 32U);
  reader->read({0, kMiB});
  EXPECT_GE(cached({4 * kMiB, kMiB}), kMiB);
  EXPECT_EQ(reader->stats().advice.calls, 40U);
  EXPECT_EQ(reader->stats().advice.errors, 0U);
  EXPECT_EQ(reader->stats().advice.window_bytes, 4 * kMiB);
  EXPECT_EQ(reader->stats().advice.step_bytes, 128U << 10);
}

TEST_F(Advised, SaysHowMuchWasThereInTime) {
  if (!write_cold(8 * kMiB)) GTEST_SKIP() << kKept;
  const auto reader = open(advising(Kind::willneed), 128U << 10);
  for (std::uint64_t i = 0; i < 8; ++i) reader->announce({i * kMiB, kMiB});
  for (std::uint64_t i = 0; i < 8; ++i) reader->read({i * kMiB, kMiB});
  const IoStats stats = reader->stats();
  EXPECT_GE(stats.advice.checked_bytes, kMiB);
  EXPECT_LE(stats.advice.checked_bytes, 2 * kMiB) << "a sample: single pages take long to count";
  EXPECT_EQ(stats.advice.resident_fraction(), 1.0);
}

TEST_F(Advised, CountsHitsAndMissesWhenItLooksAtEverything) {
  if (!write_cold(4 * kMiB)) GTEST_SKIP() << kKept;
  const auto reader = open(advising(Kind::random));
  reader->read({0, 2 * kMiB});
  reader->read({0, 4 * kMiB});
  EXPECT_EQ(reader->stats().advice.checked_bytes, 6 * kMiB);
  EXPECT_EQ(reader->stats().cache_hit_bytes, 2 * kMiB);
  EXPECT_EQ(reader->stats().cache_miss_bytes, 4 * kMiB);
}

TEST_F(Advised, OneCallForAWholeFileIsCalledOnceAndFetchesOneStep) {
  constexpr std::uint64_t kBytes = 64 * kMiB;
  if (!write_cold(kBytes)) GTEST_SKIP() << kKept;
  const auto reader = open(advising(Kind::willneed, Scope::file), 8 * kMiB);
  EXPECT_EQ(reader->lookahead().bytes, 0U);
  const std::uint64_t fetched = cached({0, kBytes});
  EXPECT_GT(fetched, 0U);
  if (file_system_of(file_).prefetch_limit_bytes() < kBytes) {
    EXPECT_LT(fetched, kBytes);
  }
  reader->announce({0, kMiB});
  reader->read({kBytes - kMiB, kMiB});
  const IoStats::Advice advice = reader->stats().advice;
  EXPECT_EQ(advice.calls, 1U);
  EXPECT_EQ(advice.scope, "file");
  EXPECT_EQ(advice.window_bytes, kBytes);
  EXPECT_EQ(advice.step_bytes, 8 * kMiB);
  EXPECT_EQ(advice.checked_bytes, kMiB);
  EXPECT_EQ(advice.resident_bytes, 0U);
}

TEST_F(Advised, SaysTheOtherKindsOnceForTheWholeFile) {
  file_ = directory_.write("a", std::string(kMiB, 'x'));
  for (const Kind kind : {Kind::normal, Kind::sequential, Kind::random}) {
    const auto reader = open(advising(kind));
    for (std::uint64_t i = 0; i < 4; ++i) reader->announce({i * 1000, 1000});
    for (std::uint64_t i = 0; i < 4; ++i) reader->read({i * 1000, 1000});
    EXPECT_EQ(reader->stats().advice.calls, 1U) << name_of(kind);
    EXPECT_EQ(reader->stats().advice.errors, 0U) << name_of(kind);
    EXPECT_EQ(reader->stats().advice.kind, name_of(kind));
    EXPECT_EQ(reader->lookahead().bytes, 0U);
  }
}

TEST_F(Advised, RandomTurnsReadAheadOff) {
  if (!write_cold(8 * kMiB)) GTEST_SKIP() << kKept;
  const auto reader = open(advising(Kind::random));
  reader->read({4 * kMiB, 4096});
  reader->read({4 * kMiB + 4096, 4096});
  EXPECT_EQ(cached({0, 8 * kMiB}), 2U * 4096);
}

TEST_F(Advised, LeavesTheCallsToAReaderThatAdvisesItself) {
  file_ = directory_.write("a", std::string(kMiB, 'x'));
  Advising how = advising(Kind::sequential);
  how.inner_advises = true;
  const auto reader = open(how);
  reader->read({0, kMiB});
  EXPECT_EQ(reader->stats().advice.calls, 0U);
  EXPECT_EQ(reader->stats().advice.checked_bytes, kMiB) << "but looks whether it helped";
}

TEST_F(Advised, LooksAtMostOnceInAMiB) {
  file_ = directory_.write("a", std::string(4 * kMiB, 'x'));
  const auto reader = open(advising(Kind::normal));
  for (std::uint64_t at = 0; at < 4 * kMiB; at += 4096) reader->read({at, 4096});
  const IoStats stats = reader->stats();
  EXPECT_LE(stats.advice.checked_bytes, 4 * 4096U);
  EXPECT_GT(stats.advice.checked_bytes, 0U);
  EXPECT_EQ(stats.cache_hit_bytes + stats.cache_miss_bytes, 0U) << "a sample is no count";
}

TEST_F(Advised, PassesOnAnnouncementsAsFarAsTheInnerReaderWants) {
  file_ = directory_.write("a", std::string(8 * kMiB, 'x'));
  QueueingReader::Log log;
  AdvisedReader reader(std::make_unique<QueueingReader>(file_, 1, log), advising(Kind::willneed), kMiB);
  EXPECT_EQ(reader.lookahead().reads, 1U);
  for (std::uint64_t i = 0; i < 5; ++i) reader.announce({i, 1});
  EXPECT_THAT(log, ElementsAre("announce 0", "announce 1"));
  log.clear();
  reader.read({0, 1});
  EXPECT_THAT(log, ElementsAre("read 0"));
  reader.announce({5, 1});
  reader.read({1, 1});
  EXPECT_THAT(log, ElementsAre("read 0", "announce 2", "read 1"));
  log.clear();
  reader.read({100, 1});
  EXPECT_THAT(log, ElementsAre("announce 3", "read 100")) << "not announced: nothing is given up";
  log.clear();
  reader.read({4, 1});
  EXPECT_THAT(log, ElementsAre("announce 4", "read 4")) << "those before it are given up";
  log.clear();
  reader.read({5, 1});
  EXPECT_THAT(log, ElementsAre("announce 5", "read 5"));
}

TEST_F(Advised, WithAQueueAsksOnlyForWhatIsNotInFlight) {
  if (!write_cold(8 * kMiB)) GTEST_SKIP() << kKept;
  QueueingReader::Log log;
  AdvisedReader reader(std::make_unique<QueueingReader>(file_, 1, log),
                       advising(Kind::willneed, Scope::window, 4 * kMiB), 128U << 10);
  for (std::uint64_t i = 0; i < 6; ++i) reader.announce({i * kMiB, kMiB});
  EXPECT_EQ(cached({0, 2 * kMiB}), 0U) << "transfers of these are in flight (this reader only says so)";
  EXPECT_EQ(cached({2 * kMiB, 2 * kMiB}), 2 * kMiB) << "the window is counted from the reader";
  EXPECT_EQ(cached({4 * kMiB, 4 * kMiB}), 0U);
}

TEST_F(Advised, DropsWhatWasReadInWholeFolios) {
  if (!write_cold(9 * kMiB)) GTEST_SKIP() << kKept;
  Advising how = advising(Kind::none);
  how.drop_behind = true;
  {
    const auto reader = open(how);
    for (std::uint64_t i = 0; i < 5; ++i) reader->read({i * kMiB, kMiB});
    EXPECT_EQ(reader->stats().dropped_cache_bytes, 4 * kMiB);
    EXPECT_EQ(cached({0, 4 * kMiB}), 0U);
    EXPECT_EQ(cached({4 * kMiB, kMiB}), kMiB) << "its folio is still wanted";
    EXPECT_EQ(reader->stats().drop_errors, 0U);
    EXPECT_EQ(reader->stats().advice.kind, "none");
    EXPECT_EQ(reader->stats().advice.checked_bytes, 0U);
  }
  EXPECT_EQ(cached({0, 6 * kMiB}), 0U) << "the rest goes with the reader";
}

TEST_F(Advised, DropsWhatAMapShowedOnceItsBuffersAreGone) {
  if (!write_cold(8 * kMiB)) GTEST_SKIP() << kKept;
  ReadVia via;
  via.transport = "mmap";
  via.drop_behind = true;
  Advising how = advising(Kind::none);
  how.drop_behind = true;
  how.drops_late = true;
  AdvisedReader reader(std::make_unique<MappedReader>(file_, via), how, kMiB);
  Buffer kept = reader.read({0, 2 * kMiB});
  reader.read({2 * kMiB, 2 * kMiB});
  EXPECT_EQ(cached({0, 2 * kMiB}), 2 * kMiB) << "somebody looks at it";
  kept = {};
  reader.read({4 * kMiB, 2 * kMiB});
  EXPECT_EQ(cached({0, 2 * kMiB}), 0U);
  EXPECT_EQ(reader.stats().dropped_cache_bytes, 6 * kMiB) << "each byte is counted once";
}

TEST_F(Advised, CountsRefusalsAndGoesOn) {
  // A reader that has no file the kernel knows: every piece of advice is refused.
  Advising how = advising(Kind::willneed);
  how.drop_behind = true;
  AdvisedReader reader(std::make_unique<test::ScriptedReader>(std::string(4 * kMiB, 'x')), how, kMiB);
  for (std::uint64_t i = 0; i < 4; ++i) reader.announce({i * kMiB, kMiB});
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(reader.read({i * kMiB, kMiB}).size(), kMiB);
  const IoStats stats = reader.stats();
  EXPECT_EQ(stats.advice.calls, 4U);
  EXPECT_EQ(stats.advice.errors, 4U);
  EXPECT_LT(stats.advice.resident_fraction(), 0) << "nothing could be looked at";
  EXPECT_EQ(stats.drop_errors, 2U);
  EXPECT_EQ(stats.dropped_cache_bytes, 0U);
}

}  // namespace
}  // namespace millrace::io
