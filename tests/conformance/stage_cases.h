#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/core/stage.h"
#include "tests/support/temp_directory.h"

// How to run each built-in stage on input that suits it. A new stage adds one line to stage_cases().

namespace millrace::test {

/// What flows into a stage: its type and its chunks.
struct Feed {
  ChunkType type;
  std::vector<Chunk> chunks;
};

struct StageCase {
  std::string type;
  /// Options to run with; may write input files into the directory, where outputs go too.
  std::function<Options(const TempDirectory&)> options;
  /// Input of transforms and sinks, made anew each time; nothing when the machine has not got what it takes.
  std::function<std::optional<Feed>()> feed;
};

/// For the messages of GoogleTest.
inline void PrintTo(const StageCase& entry, std::ostream* out) { *out << entry.type; }

std::vector<StageCase> stage_cases();

}  // namespace millrace::test
