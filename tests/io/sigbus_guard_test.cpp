#include "io/sigbus_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "io/file_descriptor.h"
#include "pipeline/core/call_context.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::TempDirectory;

constexpr std::size_t kPage = 4096;

/// A file of 'x' in memory, with or without a guard.
class MappedText {
 public:
  MappedText(const std::filesystem::path& path, std::size_t bytes, int protection = PROT_READ)
      : file_(create_output(path)) {
    std::filesystem::resize_file(path, bytes);
    void* const memory = ::mmap(nullptr, bytes, protection, MAP_SHARED, file_.get(), 0);
    if (memory != MAP_FAILED) memory_ = {static_cast<std::byte*>(memory), bytes};
  }
  MappedText(const MappedText&) = delete;
  MappedText& operator=(const MappedText&) = delete;
  ~MappedText() { ::munmap(memory_.data(), memory_.size()); }

  std::span<std::byte> memory() const { return memory_; }

 private:
  FileDescriptor file_;
  std::span<std::byte> memory_;
};

class SigbusGuardTest : public testing::Test {
 protected:
  void SetUp() override { call_context().tally = {}; }
  void TearDown() override { call_context().tally = {}; }
  const LostPage* lost() const { return call_context().tally.lost_page; }

  TempDirectory directory_;
  std::filesystem::path path_ = directory_ / "a";
};

TEST_F(SigbusGuardTest, PutsZerosWhereTheFileEndedAndNotesTheFirstPage) {
  const MappedText mapped(path_, 8 * kPage);
  const SigbusGuard guard(mapped.memory(), path_, 100 * kPage, false);
  touch_pages(mapped.memory());
  EXPECT_EQ(lost(), nullptr);
  std::filesystem::resize_file(path_, 3 * kPage + 5);
  touch_pages(mapped.memory().first(4 * kPage));
  EXPECT_EQ(lost(), nullptr) << "the rest of the last page can be read";
  EXPECT_EQ(mapped.memory()[6 * kPage + 1], std::byte{0});
  ASSERT_NE(lost(), nullptr);
  EXPECT_STREQ(lost()->path.data(), path_.c_str());
  EXPECT_EQ(lost()->offset, 106 * kPage);
  EXPECT_EQ(guard.lost_page(), lost());
  touch_pages(mapped.memory());
  EXPECT_EQ(lost()->offset, 106 * kPage) << "the first one is kept";
}

TEST_F(SigbusGuardTest, NotesItForTheThreadThatTouchedThePage) {
  const MappedText mapped(path_, 2 * kPage);
  const SigbusGuard guard(mapped.memory(), path_, 0, false);
  std::filesystem::resize_file(path_, 0);
  const LostPage* seen = nullptr;
  std::thread([&] {
    call_context().tally = {};
    touch_pages(mapped.memory());
    seen = call_context().tally.lost_page;
  }).join();
  EXPECT_NE(seen, nullptr);
  EXPECT_EQ(lost(), nullptr);
}

TEST_F(SigbusGuardTest, WritesToALostPageGoNowhere) {
  const MappedText mapped(path_, 4 * kPage, PROT_READ | PROT_WRITE);
  const SigbusGuard guard(mapped.memory(), path_, 0, true);
  std::filesystem::resize_file(path_, kPage);
  std::memset(mapped.memory().data(), 'y', mapped.memory().size());
  ASSERT_NE(lost(), nullptr);
  EXPECT_EQ(lost()->offset, kPage);
  EXPECT_EQ(test::contents_of(path_), std::string(kPage, 'y'));
}

TEST_F(SigbusGuardTest, ManyThreadsMayComeAndGoWhilePagesAreLost) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      for (int i = 0; i < 50; ++i) {
        call_context().tally = {};
        const auto path = directory_ / ("thread " + std::to_string(number) + "-" + std::to_string(i));
        const MappedText mapped(path, 4 * kPage);
        const SigbusGuard guard(mapped.memory(), path, 0, false);
        std::filesystem::resize_file(path, 2 * kPage);
        touch_pages(mapped.memory());
        const LostPage* const page = guard.lost_page();
        if (page == nullptr || call_context().tally.lost_page != page) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(SigbusGuardTest, RecordsOutliveTheirGuardAndLongPathsAreCut) {
  const LostPage* kept = nullptr;
  const std::string long_path(2000, 'p');
  {
    const MappedText mapped(path_, kPage);
    const SigbusGuard guard(mapped.memory(), long_path, 0, false);
    std::filesystem::resize_file(path_, 0);
    touch_pages(mapped.memory());
    kept = lost();
  }
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(std::strlen(kept->path.data()), kept->path.size() - 1);
  EXPECT_TRUE(long_path.starts_with(kept->path.data()));
}

TEST_F(SigbusGuardTest, TouchesNothingOfNothing) {
  touch_pages({});
  EXPECT_EQ(lost(), nullptr);
}

using SigbusGuardDeathTest = SigbusGuardTest;

TEST_F(SigbusGuardDeathTest, MemoryThatNobodyGuardsIsFatalAsBefore) {
  const auto touch_unguarded = [this] {
    const MappedText guarded(directory_ / "guarded", kPage);
    const SigbusGuard guard(guarded.memory(), directory_ / "guarded", 0, false);
    const MappedText mapped(path_, kPage);
    std::filesystem::resize_file(path_, 0);
    touch_pages(mapped.memory());
  };
  EXPECT_DEATH(touch_unguarded(), "");
}

TEST_F(SigbusGuardDeathTest, AHandlerThatWasThereBeforeGetsWhatIsNotGuarded) {
  const auto touch_unguarded = [this] {
    // In the child of a death test no guard was made before, unless another test of this process did so: then the
    // handler of this test replaces the guard's, and sees the signal as well.
    std::signal(SIGBUS, [](int) { std::_Exit(42); });
    const MappedText guarded(directory_ / "guarded", kPage);
    const SigbusGuard guard(guarded.memory(), directory_ / "guarded", 0, false);
    const MappedText mapped(path_, kPage);
    std::filesystem::resize_file(path_, 0);
    touch_pages(mapped.memory());
  };
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // runs this test alone in a new process
  EXPECT_EXIT(touch_unguarded(), testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace millrace::io
