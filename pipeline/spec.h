#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "pipeline/core/options.h"
#include "pipeline/core/units.h"

namespace millrace {

/// What a producer does when the link into a stage is full.
enum class WhenFull {
  block,        ///< wait (backpressure)
  drop_newest,  ///< the chunk that finds no room is dropped and counted
  drop_oldest,  ///< the longest waiting chunk is dropped and counted, the new one takes its place
};

/// "block", "drop_newest", "drop_oldest".
const char* name_of(WhenFull policy);

/// Bounds of the link INTO a stage.
struct LinkSpec {
  std::uint64_t chunks = 16;
  Bytes bytes{64ULL << 20};
  WhenFull when_full = WhenFull::block;
};

/// One [[stage]] of a config.
struct StageSpec {
  std::string name;
  std::string type;
  std::uint32_t slots = 1;
  LinkSpec link;
  /// Names of the stages that feed this one. Empty: nothing for a source, the stage before this one in the file for
  /// any other (validate() and prepare() know the roles and fill it in).
  std::vector<std::string> from;
  bool ordered = true;                         ///< restore input order at the output when slots > 1
  Options options;                             ///< the keys that are the stage's own
  SourcePosition position;                     ///< of the [[stage]] header
  std::vector<SourcePosition> from_positions;  ///< one per `from`
  std::map<std::string, SourcePosition> keys;  ///< where each reserved key stands that the config gives

  /// Where `key` stands, or the [[stage]] header when it is not given.
  const SourcePosition& at(const std::string& key) const {
    const auto found = keys.find(key);
    return found == keys.end() ? position : found->second;
  }
};

/// The keys of a [[stage]] that are not the stage's own, but for `via`, which is handed to it as a table.
const std::vector<std::string>& reserved_stage_keys();

/// A config, parsed: every key known or handed to a stage, nothing checked across stages yet.
struct PipelineSpec {
  std::string name = "pipeline";
  std::uint32_t threads = 0;  ///< compute workers; 0 = cores this process may use
  Bytes memory{2ULL << 30};   ///< hard budget for everything in flight
  /// No call of any stage finishes for this long: the run is stalled and ends with exit code 4. 0 = never.
  Duration stall_timeout = std::chrono::minutes(10);
  std::uint64_t loss_budget_chunks = 0;  ///< more dropped chunks than this: exit code 3
  std::vector<StageSpec> stages;
  std::filesystem::path file;                  ///< the config file, for messages
  std::map<std::string, SourcePosition> keys;  ///< where each key of [pipeline] stands that the config gives
  std::string json;  ///< the whole config after overrides and expansion as one JSON object, for the report
};

}  // namespace millrace
