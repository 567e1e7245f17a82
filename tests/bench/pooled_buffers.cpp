// What buffers cost a writer that the kernel's page cache does not help: 8 MiB chunks written with O_DIRECT from memory
// that is fresh for every chunk, against a pool's, and against a pool's that io_uring knows by number. Interleaved;
// medians of wall and CPU time, page faults, and the factors within each repeat.
//
//   build/tests/bench/bench_pooled_buffers [DIRECTORY] [REPEATS] [MIB]      default: the temporary directory, 7, 1024

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "io/buffer_pool.h"
#include "io/open_file.h"
#include "io/transports.h"
#include "pipeline/core/clock.h"
#include "pipeline/core/error.h"

namespace {

namespace fs = std::filesystem;
using millrace::Buffer;
using millrace::BufferBlock;

constexpr std::size_t kChunk = 8 << 20;

/// Memory from the system for every buffer, and back to it: what `new` does for large buffers.
class FreshMemory final : public millrace::Lender {
 public:
  Buffer lend(std::size_t bytes) override {
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw millrace::Error("no memory");
    auto block = std::make_unique<BufferBlock>();
    block->data = static_cast<std::byte*>(memory);
    block->capacity = bytes;
    block->lender = this;
    block->users.store(1);
    return {block.release(), bytes};
  }
  void take_back(BufferBlock& block) noexcept override {
    ::munmap(block.data, block.capacity);
    delete &block;
  }
};

struct Cost {
  double wall_s = 0;
  double cpu_s = 0;
  double faults = 0;
};

rusage usage_now() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double cpu_of(const rusage& usage) {
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

Cost write_file(const fs::path& path, const std::string& transport, millrace::Lender& lender, std::uint64_t chunks) {
  fs::remove(path);
  millrace::io::WriteVia via;
  via.transport = transport;
  via.transport_requested = transport;
  const rusage before = usage_now();
  const std::int64_t start_ns = millrace::monotonic_clock().now_ns();
  {
    const auto writer = millrace::io::open_writer(millrace::io::create_output(path), path, via);
    for (std::uint64_t i = 0; i < chunks; ++i) {
      Buffer buffer = lender.lend(kChunk);
      std::memset(buffer.writable().data(), static_cast<int>(i), kChunk);
      writer->submit(i * kChunk, std::move(buffer));
    }
    writer->sync();
  }
  const rusage after = usage_now();
  fs::remove(path);
  return {static_cast<double>(millrace::monotonic_clock().now_ns() - start_ns) / 1e9, cpu_of(after) - cpu_of(before),
          static_cast<double>(after.ru_minflt - before.ru_minflt)};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <typename Figure>
double median_of(const std::vector<Cost>& costs, Figure figure) {
  std::vector<double> values;
  for (const Cost& cost : costs) values.push_back(cost.*figure);
  return median(values);
}

struct Arm {
  const char* name;
  const char* transport;
  millrace::Lender* lender;
  std::vector<Cost> costs;
};

}  // namespace

int main(int count, char** arguments) {
  const fs::path directory = count > 1 ? fs::path(arguments[1]) : fs::temp_directory_path();
  const int repeats = count > 2 ? std::atoi(arguments[2]) : 7;
  const std::uint64_t chunks = (count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 1024) * (1 << 20) / kChunk;
  for (const char* const name : {"direct", "uring_direct"}) {
    const auto* const transport = millrace::io::find_transport(name);
    const auto probe = transport->probe_write(directory);
    if (!probe.works) {
      fmt::print("{} does not work at {}: {}\n", name, directory.string(), probe.reason);
      return EXIT_SUCCESS;
    }
  }
  FreshMemory fresh;
  millrace::io::BufferPool pool(kChunk, 8);
  std::array<Arm, 4> arms{{{"fresh buffers", "direct", &fresh, {}},
                           {"pooled", "direct", &pool, {}},
                           {"fresh, 4 in flight", "uring_direct", &fresh, {}},
                           {"pooled, registered, 4 in flight", "uring_direct", &pool, {}}}};
  const fs::path path = directory / fmt::format("millrace-pooled-{}.out", ::getpid());
  std::mt19937_64 random(1);
  for (int repeat = 0; repeat <= repeats; ++repeat) {
    std::array<std::size_t, 4> order{0, 1, 2, 3};
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      const Cost cost = write_file(path, arms[i].transport, *arms[i].lender, chunks);
      if (repeat != 0) arms[i].costs.push_back(cost);  // the first one brings the machine and the pool into motion
    }
  }
  const double gib = static_cast<double>(chunks * kChunk) / (1ULL << 30U);
  fmt::print("{:.1f} GiB in chunks of 8 MiB, {} interleaved repeats, fsync included\n\n{:<34} {:>8} {:>10} {:>12}\n",
             gib, repeats, "", "MiB/s", "CPU s/GiB", "page faults");
  for (const Arm& arm : arms) {
    fmt::print("{:<34} {:>8.0f} {:>10.3f} {:>12.0f}\n", arm.name, gib * 1024 / median_of(arm.costs, &Cost::wall_s),
               median_of(arm.costs, &Cost::cpu_s) / gib, median_of(arm.costs, &Cost::faults));
  }
  for (const std::size_t with : {1, 3}) {
    std::vector<double> wall;
    std::vector<double> cpu;
    for (int i = 0; i < repeats; ++i) {
      const auto at = static_cast<std::size_t>(i);
      wall.push_back(arms[with - 1].costs[at].wall_s / arms[with].costs[at].wall_s);
      cpu.push_back(arms[with - 1].costs[at].cpu_s / arms[with].costs[at].cpu_s);
    }
    fmt::print("{}: {:.2f} times as fast, {:.1f} times less CPU than '{}' (medians of the pairs)\n", arms[with].name,
               median(wall), median(cpu), arms[with - 1].name);
  }
  return EXIT_SUCCESS;
}
