#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/report.h"

namespace millrace {

/// Something that both runs have and that is not the same.
struct DifferingFact {
  std::string what;
  std::string first;
  std::string second;
};

/// Where slot time goes; the first four are the parts of busy, the last four are waits and the end.
enum class SlotPart { cpu, io, delay, other, starved, blocked, ready, done };
inline constexpr std::size_t kSlotParts = 8;
/// "cpu", "io" ...
const char* name_of(SlotPart part);

/// One stage in one run.
struct StageSide {
  std::uint32_t slots = 1;
  std::array<double, kSlotParts> share{};    ///< of slot time, by SlotPart
  std::array<double, kSlotParts> seconds{};  ///< slot seconds for each RunDifference::unit of input; 0 without input
  std::int64_t p50_ns = 0;
  std::int64_t p99_ns = 0;

  double busy_share() const { return share[0] + share[1] + share[2] + share[3]; }
};

struct StageDifference {
  std::string name;
  std::optional<StageSide> first;  ///< nothing: the stage is only in the other run
  std::optional<StageSide> second;
};

struct LinkSide {
  std::uint64_t capacity_chunks = 0;
  double fill = 0;   ///< mean chunks in it, of its capacity
  double full = 0;   ///< share of wall time
  double empty = 0;  ///< likewise
};

struct LinkDifference {
  std::string name;  ///< "read -> decode"
  std::optional<LinkSide> first;
  std::optional<LinkSide> second;
};

/// One run as a whole.
struct RunSide {
  std::string name;
  std::string status;
  std::string started;
  std::int64_t wall_ns = 0;
  std::uint64_t bytes = 0;  ///< that the sources delivered
  std::uint64_t chunks = 0;
  double rate = 0;  ///< per second: bytes where both runs have them, else chunks
  std::uint64_t peak_rss_bytes = 0;
  std::string verdict;  ///< in words
  std::string confidence;
};

/// More or less time of one stage in one part, in seconds of wall time of its slots together, for the first run's
/// amount of input.
struct TimeChange {
  std::string stage;
  SlotPart part = SlotPart::cpu;
  double first_s = 0;
  double second_s = 0;

  double more_s() const { return second_s - first_s; }
};

/// 95 % interval of the ratio of rates, from how the rate of each run varied within the run: its steady part in up to
/// 20 windows whose means are taken as independent (the method of batch means), Welch's degrees of freedom. It holds
/// nothing of how two runs of the same differ; that takes repeats (`millrace compare`).
struct RatioInterval {
  double low = 1;
  double high = 1;
  std::size_t first_windows = 0;
  std::size_t second_windows = 0;
};

struct RunDifference {
  std::vector<DifferingFact> surroundings;  ///< machine, file systems, cache, other load
  std::vector<DifferingFact> config;        ///< flat keys: "read.via.advice"; "-" where a run does not have the key
  RunSide first;
  RunSide second;
  std::string unit = "GiB";               ///< "GiB", or "1000 chunks" when one of the runs counts no bytes
  double ratio = 0;                       ///< second.rate / first.rate; 0 when there is none
  std::optional<RatioInterval> interval;  ///< nothing when a run has too few samples
  double extra_s = 0;                     ///< wall time more in the second, for the first's amount of input
  std::vector<StageDifference> stages;    ///< those of the first in its order, then those only in the second
  std::vector<LinkDifference> links;
  std::vector<TimeChange> changes;  ///< largest first; stages of both runs; what is below 1 % of the wall is left out
  std::string not_comparable;       ///< why the rates say nothing of each other; empty when they do
};

/// Pure.
RunDifference difference_between(const RunReport& first, const RunReport& second);

/// For people, 100 columns. The surroundings come first: what differs there explains what follows.
std::string to_text(const RunDifference& difference);

/// Schema millrace.difference/1, one object: surroundings[{what first second}] config[{what first second}]
/// first{name status started wall_s bytes chunks rate peak_rss_bytes verdict confidence} second{...} unit ratio
/// interval95[2] windows[2] extra_s stages[{name first{slots share{} s_per_unit{} p50_ns p99_ns} second{}}]
/// links[{name first{capacity_chunks fill full empty} second{}}] changes[{stage part first_s second_s}]
/// not_comparable. What is not known is null.
std::string to_json(const RunDifference& difference);

/// "The second took 3.1 s longer for the same input: most of it, 2.9 s, is write waiting for I/O (4.1 s -> 7.0 s)."
std::string headline(const RunDifference& difference);

/// The answer to --fail-on-slower.
struct SlowerCheck {
  bool failed = false;
  std::string reason;  ///< one line
};
/// Whether the second run is slower than the first by more than `limit` (0.05 = 5 %), by the ratio of the rates alone:
/// a gate that lets everything pass that may be chance lets everything pass on a noisy machine. When the interval
/// reaches over the limit the reason says so. Error (kind config) when the runs are not comparable.
SlowerCheck check_slower(const RunDifference& difference, double limit);

/// "5%", "5 %" and "0.05": a share from 0 up to below 1. Nothing for anything else.
std::optional<double> parse_slower_limit(std::string_view text);

}  // namespace millrace
