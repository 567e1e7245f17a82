#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/core/io_stats.h"
#include "pipeline/core/registry.h"
#include "pipeline/stage_record.h"

namespace millrace {

/// Slot time of one stage by state; the five sum to slots x wall. Nanoseconds.
struct StateTimes {
  std::int64_t busy_ns = 0;     ///< inside the stage's call
  std::int64_t starved_ns = 0;  ///< no input
  std::int64_t blocked_ns = 0;  ///< input there, no room downstream
  std::int64_t ready_ns = 0;    ///< input there, room there, slot free, no worker
  std::int64_t done_ns = 0;     ///< after the end of its stream

  std::int64_t sum_ns() const { return busy_ns + starved_ns + blocked_ns + ready_ns + done_ns; }
  StateTimes operator-(const StateTimes& other) const {
    return {busy_ns - other.busy_ns, starved_ns - other.starved_ns, blocked_ns - other.blocked_ns,
            ready_ns - other.ready_ns, done_ns - other.done_ns};
  }
  bool operator==(const StateTimes&) const = default;
};

/// Busy time by what the thread did; the four sum to StateTimes::busy_ns.
struct BusySplit {
  std::int64_t on_cpu_ns = 0;
  std::int64_t io_wait_ns = 0;     ///< waiting inside a read, write, fsync or page fault
  std::int64_t run_delay_ns = 0;   ///< runnable, but another thread had the core
  std::int64_t other_wait_ns = 0;  ///< off the CPU for another reason: a sleep, a lock, a device, a network

  std::int64_t sum_ns() const { return on_cpu_ns + io_wait_ns + run_delay_ns + other_wait_ns; }
  BusySplit operator-(const BusySplit& other) const {
    return {on_cpu_ns - other.on_cpu_ns, io_wait_ns - other.io_wait_ns, run_delay_ns - other.run_delay_ns,
            other_wait_ns - other.other_wait_ns};
  }
  bool operator==(const BusySplit&) const = default;
};

/// Wall time of single calls.
struct CallTimes {
  std::uint64_t count = 0;
  std::int64_t p50_ns = 0;
  std::int64_t p90_ns = 0;
  std::int64_t p99_ns = 0;
  std::int64_t max_ns = 0;
};

struct StageReport {
  std::string name;
  std::string type;
  Role role = Role::transform;
  std::uint32_t slots = 1;
  bool own_threads = false;  ///< a transform whose slots are threads, as those of sources and sinks always are
  std::uint64_t chunks_in = 0;
  std::uint64_t chunks_out = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  StateTimes time;
  BusySplit busy;
  std::int64_t child_cpu_ns = 0;  ///< CPU time of other processes on the stage's behalf; beside `busy`, not in it
  CallTimes call;
  std::uint64_t major_faults = 0;
  std::uint64_t copied_bytes = 0;
  /// The CPU clock was read around one call in this many and scaled up; 1 = every call.
  std::uint32_t cpu_sampled_every = 1;
  std::optional<IoStats> io;
  std::vector<std::string> findings;  ///< what the stage says of its data, slot after slot
  std::optional<StageRecord> record;  ///< turn by turn, when the run was recorded

  bool uses_workers() const { return role == Role::transform && !own_threads; }
};

struct LinkReport {
  std::string from;
  std::string to;
  std::uint64_t capacity_chunks = 0;
  std::uint64_t capacity_bytes = 0;
  double mean_chunks = 0;  ///< time-weighted
  std::uint64_t max_chunks = 0;
  std::int64_t time_full_ns = 0;
  std::int64_t time_empty_ns = 0;
  std::int64_t starved_ns = 0;  ///< slot time its consumer starved because this link was empty
  std::int64_t blocked_ns = 0;  ///< slot time its producer was blocked because this link was full
  double mean_wait_ns = 0;      ///< time a chunk spent in the link, by Little's law
  std::uint64_t dropped_chunks = 0;
};

struct Verdict {
  /// "io-read", "io-write", "compute", "workers", "source-paced", "link", "latency", "balanced", or "none" when
  /// nothing ran long enough to tell.
  std::string kind = "none";
  std::string stage;       ///< the stage it is about, or "from -> to" for kind "link"; empty where it is about none
  std::string confidence;  ///< "sure", "likely", "unsure"
  std::vector<std::string> evidence;     ///< sentences with the numbers they rest on
  std::vector<std::string> cannot_help;  ///< changes that cannot speed up this run, each with why
  std::string second;                    ///< kind:stage of the next bottleneck
  double ceiling = 0;                    ///< speed-up if the first bottleneck were infinitely fast; 0 = not known
  std::string rule;                      ///< which rule decided, with its thresholds: what --explain prints
};

struct BlameRow {
  std::string waiting;  ///< the stage that waited
  std::string cause;    ///< the stage that made it wait, through any number of links; "(workers)" when no core was free
  std::int64_t ns = 0;  ///< slot time
};

struct Phase {
  std::string kind;  ///< "warm_up", "steady", "drain"
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  Verdict verdict;
};

/// A change of pace or of bottleneck that lasted, as it was told during the run (pipeline/drift.h).
struct DriftReport {
  std::string kind;        ///< "slower", "moved" (the bottleneck, at about the same rate), "recovered"
  std::int64_t at_ns = 0;  ///< where it began, since the start of the run
  /// Of the stretches before and after it: what the sources delivered per second, as `unit` says.
  double before_rate = 0;
  double after_rate = 0;
  std::string unit;    ///< "bytes", or "chunks" when the chunks have none
  std::string before;  ///< verdict of that stretch, "compute:basecall"
  std::string after;
};

struct StallReport {
  std::string stage;
  std::string state;  ///< "starved", "blocked", "ready"
  std::int64_t ns = 0;
  std::int64_t at_ns = 0;          ///< start, since the start of the run
  std::uint64_t chunk = 0;         ///< number of the stage's next chunk
  std::vector<std::string> cause;  ///< "starved: link decode -> encode was empty", "decode was in a call for 410 ms"
};

/// Cumulative state of the run at one moment; the series and the phases are made of differences.
struct Sample {
  struct PerStage {
    StateTimes time;
    BusySplit busy;  ///< of the calls that have ended
    std::uint64_t chunks_in = 0;
    std::uint64_t chunks_out = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
  };
  std::int64_t at_ns = 0;                  ///< since the start of the run
  std::vector<PerStage> stages;            ///< as RunReport::stages
  std::vector<std::uint64_t> link_chunks;  ///< chunks waiting, as RunReport::links
  std::uint64_t resident_bytes = 0;        ///< memory of the process; 0 = not known
};

struct Loss {
  struct Drop {
    std::string stage;   ///< the stage whose link was full, or where the chunk was discarded
    std::string reason;  ///< "drop_newest", "drop_oldest", "stopped"
    std::uint64_t chunks = 0;
  };
  std::uint64_t read = 0;     ///< chunks that sources delivered, plus those that fan-out and splitting added
  std::uint64_t written = 0;  ///< chunks that ended in a sink, or in a transform that made something else of them
  std::vector<Drop> dropped;
  std::uint64_t failed = 0;
  std::uint64_t in_flight = 0;

  std::uint64_t dropped_chunks() const {
    std::uint64_t sum = 0;
    for (const auto& drop : dropped) sum += drop.chunks;
    return sum;
  }
  bool closes() const { return read == written + dropped_chunks() + failed + in_flight; }
};

struct MemoryReport {
  std::uint64_t planned_bytes = 0;  ///< the plan's sum and what the program had resident before the run
  std::uint64_t budget_bytes = 0;
  std::uint64_t peak_rss_bytes = 0;
  std::uint64_t allocations_after_warm_up = 0;  ///< pool buffers newly made after the first tenth of the chunks
  double bytes_copied_per_byte = 0;
};

struct CacheReport {
  std::uint64_t input_bytes = 0;
  double resident_before_fraction = -1;  ///< negative: not measured
  double resident_after_fraction = -1;
  bool evicted = false;
  bool in_memory = false;          ///< the inputs are on file systems without a device (tmpfs)
  std::int64_t device_bytes = -1;  ///< that block devices delivered to the run; negative: not known for these inputs
};

struct PathReport {
  std::string path;
  std::string file_system;
  std::string mount_options;
  std::int64_t read_ahead_kb = -1;  ///< negative: not known
  std::string device;
  std::int64_t max_sectors_kb = -1;
  std::int64_t rsize_bytes = -1;
  std::int64_t wsize_bytes = -1;
  std::uint64_t direct_memory_alignment = 0;  ///< of O_DIRECT; 0 = the file system does not say
  std::uint64_t direct_offset_alignment = 0;
};

struct Environment {
  std::string host;
  std::string kernel;
  std::uint32_t cpus = 0;
  std::uint64_t memory_bytes = 0;
  std::string millrace_version;
  std::vector<PathReport> paths;
};

struct OutputReport {
  std::string path;
  std::uint64_t bytes = 0;
};

/// What measuring cost, from a calibration on this machine at the end of the run.
struct LedgerCost {
  double ns_per_call = 0;        ///< stamps and ledger, per call
  double ns_per_cpu_sample = 0;  ///< one reading of the CPU clocks (two per sampled call)
  std::int64_t total_ns = 0;     ///< both, over all calls of this run
  double share = 0;              ///< of all busy time
};

/// Everything that is known of one run. Filled by the engine (run), completed by complete_report().
struct RunReport {
  std::string name;
  std::string status;   ///< "ok", "failed", "stalled", "interrupted"
  std::string error;    ///< one line; empty when there was none
  std::string started;  ///< ISO 8601, UTC
  std::int64_t wall_ns = 0;
  std::string config_json = "{}";
  std::string config_file;             ///< absolute; empty when the config did not come from a file
  std::vector<std::string> overrides;  ///< of --set, in order; config_json has them applied
  std::vector<std::string> plugins;    ///< shared objects that the stages came from, absolute
  std::vector<std::string> command;
  std::uint32_t threads = 1;
  Environment environment;
  std::vector<StageReport> stages;
  std::vector<LinkReport> links;
  double closure_error = 0;  ///< largest |sum of states - slots x wall| / (slots x wall) over the stages
  Verdict verdict;
  std::vector<BlameRow> blame;
  std::vector<Phase> phases;
  std::vector<DriftReport> drift;
  std::vector<StallReport> stalls;
  CacheReport cache;
  MemoryReport memory;
  Loss loss;
  LedgerCost ledger_cost;
  std::int64_t sample_interval_ns = 0;
  std::vector<Sample> samples;
  std::vector<OutputReport> outputs;
};

/// A run whose closure error is above this fails its self-check.
inline constexpr double kMaxClosureError = 0.005;

}  // namespace millrace
