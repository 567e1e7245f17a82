#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/experiment/comparison.h"
#include "pipeline/report.h"

namespace millrace {

/// What the page cache holds of the inputs when a run of an experiment begins.
enum class CacheMode {
  cold,   ///< nothing (at most 1 %): they are evicted before every run, and looked at
  warm,   ///< all of them (at least 99 %): they are read before every run, and looked at
  as_is,  ///< whatever is there; it is only recorded
};

/// "cold", "warm", "as-is".
const char* name_of(CacheMode mode);

/// One output of one run.
struct OutputDigest {
  std::string path;
  std::uint64_t bytes = 0;
  std::string sha256;  ///< 64 hexadecimal digits, lower case
};

/// Why one run was as fast as it was, taken from its report. Shares are 0 to 1 of slot time; negative: not known.
struct RunMechanism {
  double io_wait_s = 0;           ///< of the sources, in slot seconds
  double io_wait_share = 0;       ///< of the sources' slot time
  double starved_share = 0;       ///< of the slot time of the stages that read from a source
  double advice_resident = -1;    ///< of the bytes looked at, the share that was cached when the source wanted it
  std::uint64_t hit_bytes = 0;    ///< the sources found in the page cache, where the transport tells
  double cpu_s_per_gib = -1;      ///< of all stages together, per GiB that the sources delivered
  double run_delay_share = -1;    ///< of the time that the stages wanted a core, the part that they waited for one
  std::string transport;          ///< that the sources used
  std::string transport_refused;  ///< that was asked for, when a fallback ran in its place; else empty
  std::string waiting;            ///< the stage that waited longest; empty = nobody waited
  std::string cause;              ///< for whom, through any number of links; "(workers)" when no core was free
  double waited_share = 0;        ///< of the waiting stage's slot time
};

/// One run of one arm.
struct ComparisonRun {
  std::uint32_t block = 0;    ///< from 0
  std::uint32_t order = 0;    ///< place within the block, from 0
  std::string input;          ///< with rotation: the file of this run; else empty
  double rate = 0;            ///< of ComparisonReport::unit per second
  std::int64_t wall_ns = 0;   ///< of the run alone
  std::int64_t spent_ns = 0;  ///< with preparing the cache, starting the program, forcing and hashing the outputs
  std::uint64_t bytes = 0;    ///< that the sources delivered
  std::uint64_t chunks = 0;
  double cache_resident_before = -1;   ///< share of the inputs in the page cache before the program began
  double cache_resident_at_read = -1;  ///< the same when it was about to read, by its own report
  bool excluded = false;               ///< left out of the effect
  std::string reason;                  ///< why; empty when it was not
  std::string verdict;                 ///< kind:stage, as verdict_key()
  std::string confidence;              ///< of the verdict
  bool reader_limits = false;          ///< the verdict is about reading, or there is none
  std::string reading_cannot_help;     ///< the report's own line that no read setting can help; empty = it has none
  std::vector<OutputDigest> outputs;
  RunMechanism mechanism;
};

/// Medians of RunMechanism over the runs of an arm that were not left out, and what they say in words.
struct ArmMechanism {
  RunMechanism median;                            ///< waiting, cause: those with the longest wait in all
  std::string who_waited;                         ///< "work waited for read 62 %"; "nobody waited"
  std::map<std::string, std::uint32_t> verdicts;  ///< how often each came
  std::vector<std::string> remarks;               ///< one sentence each: a fallback ran, other load
};

/// One set of overrides, all its runs and what came of them.
struct ArmReport {
  std::string label;  ///< short: "advice=none"; arm 1 is "<baseline> (again)"
  std::vector<std::string> overrides;
  std::vector<ComparisonRun> runs;  ///< in the order in which they were done
  ArmEffect effect;
  ArmMechanism mechanism;
};

struct ExcludedRun {
  std::string arm;
  std::uint32_t block = 0;
  std::string reason;
};

/// Everything that is known of one experiment on one machine. Arm 0 is the baseline, arm 1 the same again.
struct ComparisonReport {
  std::string name;                ///< of the pipeline
  std::string status = "ok";       ///< "ok"; "failed": outputs differ, or an arm has no run that counts
  std::string error;               ///< one line; empty when there was none
  std::string config;              ///< the config file
  std::string config_sha256;       ///< of its text
  std::string config_json = "{}";  ///< of the baseline, after overrides and expansion
  std::vector<std::string> command;
  std::string started;  ///< ISO 8601, UTC
  Environment environment;
  CacheMode cache = CacheMode::cold;
  std::uint64_t seed = 1;
  std::vector<std::string> overrides;  ///< of all arms
  std::string rotate_key;              ///< empty = one input for all
  std::vector<std::string> rotate_files;
  ComparisonDesign design;
  std::string ended_early;     ///< why there are fewer blocks than the design has; empty when there are not
  std::string unit = "bytes";  ///< of the rates: "bytes", or "chunks" when the sources deliver no bytes

  std::vector<ArmReport> arms;
  std::vector<std::vector<std::size_t>> blocks;  ///< arms in the order in which each block ran them
  std::vector<ExcludedRun> excluded;
  bool identical_output = true;
  std::string output_difference;  ///< arm, repeat and file, when they differ

  /// As in Comparison.
  std::optional<double> noise_floor;
  std::optional<double> minimal_detectable_ratio;
  double log_sd = 0;
  bool decided = false;
  std::uint32_t blocks_planned = 0;
  std::optional<std::uint32_t> blocks_needed;

  /// In no run was reading what limited it, so no read setting can help; with one sentence of evidence each.
  bool reading_never_limits = false;
  std::vector<std::string> reading_evidence;
};

/// All runs with their arms, in the order in which they were done.
std::vector<std::pair<const ArmReport*, const ComparisonRun*>> runs_in_order(const ComparisonReport& report);

/// The p that stands beside an arm's verdict, in the text and on the page: of the claim, which the verdict goes by; of
/// the A/A arm, about which nothing is claimed, that of the sign-flip test; of the baseline (arm 0) nothing.
std::optional<double> p_of_verdict(const ArmEffect& effect, std::size_t arm);

/// How the outputs of `run` differ from those of `expected`, by number, size and SHA-256, in words; empty when they do
/// not. Paths may differ: an arm may write elsewhere.
std::string difference_of(const ComparisonRun& expected, const ComparisonRun& run);

/// rates[arm][block] for compare(): nothing where a run is missing or was left out.
RatesByBlock rates_of(const ComparisonReport& report);

/// Fills in what follows from the runs and the design: effects, mechanisms, excluded runs, noise floor, output identity
/// and the words about reading. Pure.
void complete_comparison(ComparisonReport& report);

}  // namespace millrace
