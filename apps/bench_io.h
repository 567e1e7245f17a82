#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace millrace::apps {

/// `millrace bench io`: every way to read, write and copy a file at one place, through the engine, interleaved.
struct BenchIoArguments {
  std::filesystem::path path;  ///< a directory to make files in, or a file to read (copies then go beside it)
  std::uint64_t bytes = 1ULL << 30;
  std::uint64_t block_bytes = 4ULL << 20;
  std::uint32_t depth = 4;  ///< of transports with a queue
  int repeats = 5;
  std::uint32_t seconds = 10;    ///< of one run at most: what takes longer is stopped and counts as far as it came
  std::uint64_t seed = 1;        ///< of the order within each repeat
  std::vector<std::string> ops;  ///< some of read, write, copy; empty = all
  std::filesystem::path json;    ///< empty = none
};

/// Exit code of the command. Errors: kind config for a place that cannot be used, with the path.
int bench_io_command(const BenchIoArguments& arguments);

}  // namespace millrace::apps
