#include "io/uring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "io/alignment.h"
#include "io/buffer_pool.h"
#include "io/isolated_call.h"
#include "io/unnamed_file.h"
#include "pipeline/core/error.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using testing::HasSubstr;

class Uring : public testing::Test {
 protected:
  void SetUp() override {
    file_ = open_scratch(directory_.path());
    const Probe probe = probe_ring(file_);
    if (!probe.works) GTEST_SKIP() << probe.reason;
  }

  test::TempDirectory directory_;
  FileDescriptor file_;
};

/// The answer of a call in a process of its own, as text.
template <typename Call>
std::string in_a_process(Call&& call) {
  const auto bytes = call_isolated([&call] {
    const std::string text = call();
    const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
    return std::vector<std::byte>(begin, begin + text.size());
  });
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// From now on the kernel answers io_uring_setup(2) of this process with `error_number`.
bool forbid_rings(int error_number) {
  const auto deny = SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error_number);
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, deny),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{static_cast<unsigned short>(std::size(steps)), steps};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(UringProbe, SaysInWordsWhyThereIsNone) {
  struct Case {
    int error_number;
    const char* words;
  };
  for (const Case& one : {Case{EPERM, "forbidden here"}, Case{ENOSYS, "this kernel has no io_uring"},
                          Case{ENOMEM, "limit of locked memory"}, Case{EMFILE, "Too many open files"}}) {
    const std::string answer = in_a_process([&one]() -> std::string {
      if (!forbid_rings(one.error_number)) return "no seccomp";
      const test::TempDirectory directory;
      const Probe probe = probe_ring(open_scratch(directory.path()));
      return probe.works ? "it works" : probe.reason;
    });
    if (answer == "no seccomp") GTEST_SKIP() << "seccomp filters cannot be set here";
    EXPECT_THAT(answer, HasSubstr("io_uring"));
    // A machine where it is switched off says so for EPERM.
    EXPECT_THAT(answer, testing::AnyOf(HasSubstr(one.words), HasSubstr("switched off")));
  }
}

TEST_F(Uring, MovesBytesThroughRegisteredAndOtherBuffersAndFiles) {
  BufferPool pool(8192, 2);
  Ring ring;
  for (const RingFile& file : {RingFile{file_.get(), std::nullopt}, ring.add_file(file_.get())}) {
    for (Lender* const lender : {static_cast<Lender*>(&pool), &heap_lender()}) {
      Buffer out = lender->lend(5000);
      std::memset(out.writable().data(), lender == &pool ? 'p' : 'h', out.size());
      RingRequest writing;
      EXPECT_EQ(ring.write(writing, file, out.data(), out.size(), 100, out.block()), lender == &pool);
      ring.submit();
      ring.wait(writing);
      EXPECT_EQ(writing.result, 5000);
      Buffer in = lender->lend(5000);
      RingRequest reading;
      EXPECT_EQ(ring.read(reading, file, in.writable().data(), in.size(), 100, in.block()), lender == &pool);
      ring.submit();
      ring.wait(reading);
      EXPECT_EQ(reading.result, 5000);
      EXPECT_EQ(std::memcmp(in.data(), out.data(), 5000), 0);
    }
  }
  EXPECT_THAT(ring.text(), HasSubstr("2 of 2 buffers registered"));
}

TEST_F(Uring, GivesErrorsAsResults) {
  Ring ring;
  char byte = 0;
  RingRequest request;
  ring.read(request, {-1, std::nullopt}, reinterpret_cast<std::byte*>(&byte), 1, 0, nullptr);
  ring.submit();
  ring.wait(request);
  EXPECT_EQ(request.result, -EBADF);
}

TEST_F(Uring, MoreRequestsThanItsQueuesHold) {
  std::vector<RingRequest> requests(2000);
  Ring ring;
  for (RingRequest& request : requests) {
    request.result = 1;
    ring.nop(request);
  }
  ring.submit();
  for (const RingRequest& request : requests) {
    ring.wait(request);
    EXPECT_EQ(request.result, 0);
  }
}

TEST_F(Uring, WaitingForAnyEndsWithoutAny) {
  Ring ring;
  ring.wait_for_any();
  RingRequest request;
  ring.nop(request);
  ring.submit();
  ring.wait_for_any();
  EXPECT_FALSE(request.in_flight);
}

TEST_F(Uring, LeavesNoDescriptorsBehind) {
  const auto before = test::open_descriptors();
  for (int i = 0; i < 20; ++i) {
    Ring ring;
    ring.add_file(file_.get());
  }
  auto ring = std::make_unique<Ring>();
  std::thread([&ring] { ring.reset(); }).join();
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST_F(Uring, MoreFilesThanItRegistersWorkToo) {
  BufferPool pool(4096, 1);
  const Buffer out = pool.lend(10);
  Ring ring;
  std::vector<RingFile> files;
  for (int i = 0; i < 100; ++i) files.push_back(ring.add_file(file_.get()));
  EXPECT_TRUE(files.front().slot);
  EXPECT_FALSE(files.back().slot);
  for (const RingFile& file : files) {
    RingRequest request;
    ring.write(request, file, out.data(), out.size(), 0, out.block());
    ring.submit();
    ring.wait(request);
    EXPECT_EQ(request.result, 10);
    ring.remove_file(file);
  }
  EXPECT_TRUE(ring.add_file(file_.get()).slot) << "removed ones make room";
}

TEST_F(Uring, AnotherThreadEndsTheRingAndWhatIsInFlightFirst) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const FileDescriptor reading(ends[0]);
  const FileDescriptor writing(ends[1]);
  std::byte byte{};
  RingRequest request;  // nobody writes: it would never end by itself
  Ring ring;
  EXPECT_TRUE(ring.belongs_to_this_thread());
  ring.read(request, {reading.get(), std::nullopt}, &byte, 1, 0, nullptr);
  ring.submit();
  std::thread([&] {
    EXPECT_FALSE(ring.belongs_to_this_thread());
    ring.settle(request);
  }).join();
  EXPECT_FALSE(request.in_flight);
  EXPECT_EQ(request.result, -ECANCELED);
  EXPECT_FALSE(ring.belongs_to_this_thread()) << "it has ended";
  EXPECT_EQ(::write(writing.get(), "x", 1), 1);
  char left = 0;
  EXPECT_EQ(::read(reading.get(), &left, 1), 1) << "no request is left in the kernel that would take it";
}

TEST_F(Uring, DiskReadsHaveEndedWhenAnotherThreadWasToldSo) {
  constexpr std::size_t kBytes = 32 << 20;
  ASSERT_EQ(::ftruncate(file_.get(), kBytes), 0);
  for (int i = 0; i < 3; ++i) {
    Buffer buffer = loan_aligned(kBytes, 4096);
    std::vector<RingRequest> requests(8);
    auto ring = std::make_unique<Ring>();
    std::byte* const memory = buffer.writable().data();
    for (std::size_t k = 0; k < requests.size(); ++k) {
      const std::size_t part = kBytes / requests.size();
      ring->read(requests[k], {file_.get(), std::nullopt}, memory + k * part, part, k * part, nullptr);
    }
    ring->submit();
    std::thread([&ring] { ring.reset(); }).join();
    std::memset(memory, 'x', kBytes);
    for (const RingRequest& request : requests) EXPECT_FALSE(request.in_flight);
    EXPECT_EQ(std::count(memory, memory + kBytes, std::byte{'x'}), kBytes) << "the kernel still wrote into it";
  }
}

TEST_F(Uring, EveryThreadGetsItsOwn) {
  ThreadRing rings;
  EXPECT_EQ(rings.last(), nullptr);
  const std::uint64_t first = rings.get().id();
  EXPECT_EQ(rings.get().id(), first);
  RingRequest request;
  rings.get().nop(request);
  rings.get().submit();
  std::thread([&] { EXPECT_NE(rings.get().id(), first); }).join();
  EXPECT_FALSE(request.in_flight);
  EXPECT_NE(rings.get().id(), first);
}

TEST_F(Uring, BuffersThatMayNotBeLockedAreUsedUnregistered) {
  const std::string answer = in_a_process([]() -> std::string {
    const test::TempDirectory directory;
    const FileDescriptor file = open_scratch(directory.path());
    const rlimit little{3 << 20, 3 << 20};  // enough for rings, which count on some kernels
    if (::setrlimit(RLIMIT_MEMLOCK, &little) != 0) return "cannot set the limit";
    // A user that has nothing locked, and not the right to lock more.
    if (::geteuid() == 0 && ::setuid(61'234) != 0) return "cannot become nobody";
    constexpr int kBytes = 4 << 20;
    BufferPool pool(kBytes, 2);
    Ring ring;
    std::string answer;
    for (int i = 0; i < 4; ++i) {
      Buffer buffer = pool.lend(kBytes);
      std::memset(buffer.writable().data(), 'a' + i, buffer.size());
      RingRequest request;
      answer +=
          ring.write(request, {file.get(), std::nullopt}, buffer.data(), buffer.size(), 0, buffer.block()) ? "R" : "u";
      ring.submit();
      ring.wait(request);
      if (request.result != kBytes) return "written: " + std::to_string(request.result);
      char back = 0;
      if (::pread(file.get(), &back, 1, 77'777) != 1 || back != 'a' + i) return "wrong bytes";
    }
    return answer + " " + ring.text();
  });
  if (answer.starts_with("cannot")) GTEST_SKIP() << answer;
  EXPECT_THAT(answer, testing::StartsWith("uuuu 0 of 1 buffers registered (Cannot allocate memory)"));
}

}  // namespace
}  // namespace millrace::io
