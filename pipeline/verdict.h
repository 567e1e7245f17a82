#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pipeline/report.h"

namespace millrace {

/// What a verdict is made of: the slot time of one stretch of a run, and the shape of the pipeline.
struct VerdictInput {
  struct PerStage {
    std::string name;
    Role role = Role::transform;
    std::uint32_t slots = 1;
    bool own_threads = false;  ///< as in StageReport
    StateTimes time;
    BusySplit busy;                 ///< sums to time.busy_ns, or is all zero when nothing is known of the calls
    std::int64_t child_cpu_ns = 0;  ///< of other processes on its behalf
    std::uint64_t chunks = 0;       ///< that went through in this stretch
    CallTimes call;                 ///< of the whole run
    double mean_call_ns = 0;        ///< without run delay, of the whole run as `call`
    std::uint32_t cpu_sampled_every = 1;
    bool writes = false;  ///< its I/O is output: a sink, or a transform that syncs files

    bool uses_workers() const { return role == Role::transform && !own_threads; }
  };
  struct PerLink {
    std::size_t from = 0;  ///< index into stages
    std::size_t to = 0;
    std::uint64_t capacity_chunks = 0;
    double mean_chunks = -1;           ///< negative: not known for this stretch
    double share_of_starved = 1;       ///< of its consumer's starved time, the part that was for this link
    double share_of_blocked = 1;       ///< of its producer's blocked time, likewise
    std::uint64_t dropped_chunks = 0;  ///< in the whole run
  };
  std::int64_t wall_ns = 0;
  std::uint32_t threads = 1;  ///< compute workers
  std::uint32_t cores = 1;    ///< that this process may use
  std::vector<PerStage> stages;
  std::vector<PerLink> links;
};

/// The whole run as one stretch. Links whose ends are no stages of the report are left out.
VerdictInput verdict_input(const RunReport& report);

/// The stretch from the first sample of `window` to its last; those between serve the links' mean fill. `window` is
/// part of complete_samples(report). Calls are counted where they end, so the busy split is scaled to the busy time;
/// in a stretch without an end of a call it is that of the whole run.
VerdictInput verdict_input(const RunReport& report, std::span<const Sample> window);

/// The samples of a report with the two ends it may lack: all zero at 0, and the final figures at wall_ns. Samples that
/// do not fit the report's stages and links, or do not move on in time, are left out.
std::vector<Sample> complete_samples(const RunReport& report);

/// Says what limits the run. Pure; deterministic; indifferent to the scale of time but for the limits that
/// verdict_thresholds.h gives in nanoseconds. See pipeline/DESIGN.md, "How the verdict is reached".
Verdict judge(const VerdictInput& input);

/// "io-read:read", "workers", "link:a -> b": kind and stage in one word.
std::string verdict_key(const Verdict& verdict);

/// "I/O-bound at 'read'": the verdict in words.
std::string verdict_title(const Verdict& verdict);
/// The same from a key, as Verdict::second holds it.
std::string verdict_title(const std::string& key);

}  // namespace millrace
