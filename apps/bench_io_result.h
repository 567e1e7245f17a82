#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace millrace::apps {

/// One way to do it.
struct IoArm {
  std::string op;         ///< "read", "write", "copy"
  std::string transport;  ///< "mmap", or for copies "mmap -> direct"
  std::string advice;     ///< "none" and the other kinds of prefetch advice

  bool operator==(const IoArm&) const = default;
};

/// What one run of an arm took.
struct IoRun {
  std::uint64_t bytes = 0;  ///< that were moved: all, or as many as the time allowed
  std::string cache;        ///< of the input before it: "cold" (verified), "warm", "unknown"; "" when there is no input
  std::int64_t wall_ns = 0;
  std::int64_t cpu_ns = 0;  ///< user and system, of the whole process
  double bytes_copied_per_byte = 0;
};

struct IoRow {
  IoArm arm;
  std::vector<IoRun> runs;  ///< one per repeat, in that order
};

/// All of a benchmark.
struct IoBench {
  std::filesystem::path directory;
  std::uint64_t bytes = 0;  ///< of every run that was not stopped
  std::uint64_t block_bytes = 0;
  std::uint32_t depth = 0;
  int repeats = 0;
  std::vector<IoRow> rows;
  std::vector<std::string> remarks;  ///< transports that do not work here, or not as their name says
};

/// Which transport to use for reading or writing at this place, and how sure that is. Pure.
struct IoAdvice {
  std::string transport;
  std::string advice;
  std::string confidence;  ///< "sure", "likely", "no difference"
  std::string reason;      ///< one sentence with the figures
};

/// The fastest row of `op` by median, if it beats the plain one (buffered, no advice) by more than 5 %: "sure" when it
/// does in every repeat, "likely" when only in the median. Else the plain one and "no difference". Runs of one repeat
/// are compared with each other only. Nothing sensible for rows without the plain one.
IoAdvice recommend(const std::vector<IoRow>& rows, const std::string& op);

/// The table, 100 columns wide, and the recommendations.
std::string to_text(const IoBench& bench);
/// Schema millrace.bench.io/1.
std::string to_json(const IoBench& bench);

}  // namespace millrace::apps
