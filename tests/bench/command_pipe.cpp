// What it costs to send chunks through another program: the stage `command` with `cat`, which answers every frame with
// itself, beside a plain copy of the same bytes through `cat` by two threads that know no frames. Rounds of all rows in
// turn; medians. "us" is per chunk, "MB/s" of what goes in (as much comes back).
//
//   bench_command_pipe [ROUNDS [MEGABYTES]]

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "pipeline/core/clock.h"
#include "stages/command.h"
#include "tests/support/stage_driver.h"

namespace millrace {
namespace {

constexpr std::array<std::size_t, 3> kSizes{4UL << 10, 256UL << 10, 4UL << 20};

Chunk chunk_of_bytes(std::size_t bytes) { return test::chunk_of(std::vector<std::uint8_t>(bytes, 'x')); }

double through_the_stage(std::size_t bytes, std::size_t chunks, std::int64_t in_flight) {
  Command stage(test::options_of({{"command", "cat"}, {"in_flight", in_flight}}));
  stage.prepare({DType::u8, "bytes", bytes});
  test::RecyclingLender lender;
  const test::LendFrom use(lender);
  const Chunk input = chunk_of_bytes(bytes);
  stage.process(input);  // starts it
  const std::int64_t start_ns = monotonic_clock().now_ns();
  for (std::size_t i = 0; i < chunks; ++i) {
    Chunk next = input;
    next.set_sequence(i);
    stage.process(std::move(next));
  }
  const std::int64_t end_ns = monotonic_clock().now_ns();
  while (stage.finish()) continue;
  return static_cast<double>(end_ns - start_ns);
}

double through_a_plain_pipe(std::size_t bytes, std::size_t chunks) {
  std::array<int, 2> to{};
  std::array<int, 2> from{};
  if (::pipe2(to.data(), O_CLOEXEC) != 0 || ::pipe2(from.data(), O_CLOEXEC) != 0) std::exit(1);
  for (const int end : {to[1], from[1]}) ::fcntl(end, F_SETPIPE_SZ, 1 << 20);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  std::string name = "cat";
  const std::array<char*, 2> words{name.data(), nullptr};
  pid_t process = -1;
  if (::posix_spawnp(&process, "cat", &actions, nullptr, words.data(), environ) != 0) std::exit(1);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(to[0]);
  ::close(from[1]);
  std::vector<char> out(bytes, 'x');
  std::vector<char> in(bytes);
  const std::int64_t start_ns = monotonic_clock().now_ns();
  std::thread writer([&] {
    for (std::size_t left = chunks * bytes; left != 0;) {
      const ssize_t put = ::write(to[1], out.data(), std::min(left, bytes));
      if (put <= 0) std::exit(1);
      left -= static_cast<std::size_t>(put);
    }
    ::close(to[1]);
  });
  while (::read(from[0], in.data(), bytes) > 0) continue;
  const std::int64_t end_ns = monotonic_clock().now_ns();
  writer.join();
  ::close(from[0]);
  ::waitpid(process, nullptr, 0);
  return static_cast<double>(end_ns - start_ns);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(int rounds, std::size_t total) {
  std::printf("%-10s %10s %26s %26s %22s\n", "chunk", "chunks", "one in flight", "eight in flight", "plain copy");
  for (const std::size_t bytes : kSizes) {
    const std::size_t chunks = std::clamp<std::size_t>(total / bytes, 4, 20'000);
    std::array<std::vector<double>, 3> ns;
    for (int round = 0; round < rounds; ++round) {
      ns[0].push_back(through_the_stage(bytes, chunks, 1));
      ns[1].push_back(through_the_stage(bytes, chunks, 8));
      ns[2].push_back(through_a_plain_pipe(bytes, chunks));
    }
    std::printf("%7zu KiB %9zu", bytes >> 10, chunks);
    for (const auto& row : ns) {
      const double each = median(row) / static_cast<double>(chunks);
      std::printf("   %9.1f us %6.0f MB/s", each / 1e3, static_cast<double>(bytes) * 1e3 / each);
    }
    std::printf("\n");
  }
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  const std::size_t megabytes = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 64;
  if (rounds < 1 || megabytes < 1) return 2;
  millrace::measure(rounds, megabytes * 1'000'000);
  return 0;
}
