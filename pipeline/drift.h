#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/report.h"

namespace millrace {

/// Tells, while a run goes on, that its pace has dropped for good, that its bottleneck is another one, or that an
/// earlier drop is over. Pure: it knows the samples it is given and no clock.
///
/// - "slower": the mean rate of at least a minute is 20 % or more below that of the two minutes or more before it, by
///   a margin that the ups and downs on both sides do not explain (t >= 7), and its end is as slow. Looked for in
///   windows of 10 s, 1 min, 10 min and 1 h side by side, 64 of each: a step is seen after a minute or two, a slide
///   over hours or days in the coarse ones.
/// - "recovered": after that the rate is back at 90 % of what it was before a drop, by the same margin.
/// - "moved": three windows of a minute in a row have another verdict than those before, and a stage spends at least
///   10 % of its time otherwise. After each such move the next must last twice as long, so that a run that swings
///   between two bottlenecks is told a few times and not for ever.
///
/// A rate that by itself swings that far for minutes is told of as well: that is what happened.
///
/// Nothing is said of the start (until 10 s after the first chunk in a sink), nor from when the last source is done;
/// when one of several sources is done everything begins anew. At most 100 changes are told of one run. Memory: some
/// 260 samples, whatever the length of the run.
class DriftDetector {
 public:
  /// `shape`: stages (name, role, slots), links (ends, capacity), threads, environment.cpus; nothing else is used.
  explicit DriftDetector(RunReport shape);

  /// The next sample, later than those before; any distance will do, but windows are never finer than it. What is new,
  /// once.
  std::optional<DriftReport> add(const Sample& sample);

 private:
  /// The run in windows of one length: a mark where each ends, the oldest forgotten.
  struct Scale {
    std::int64_t window_ns = 0;
    std::vector<Sample> marks;
    std::size_t regime = 0;  ///< first mark since the last drop
  };
  struct Now {
    double minute = 0;
    double window = 0;
  };
  /// The verdicts of the windows of a minute.
  struct Bottleneck {
    std::string settled;
    std::string candidate;
    std::size_t candidate_windows = 0;
    std::optional<Sample> settled_from;
    std::optional<Sample> candidate_from;
  };

  bool is_steady(const Sample& sample);
  void restart();
  static bool push(Scale& scale, const Sample& sample);
  std::vector<double> rates(const Scale& scale, std::size_t first) const;
  Now now() const;
  std::optional<DriftReport> look_for_drop(Scale& scale);
  std::optional<DriftReport> look_for_recovery(Scale& scale);
  std::optional<DriftReport> look_for_move(const Scale& scale);
  DriftReport drift(const char* kind, const Sample& from, const Sample& at, const Sample& to) const;
  void begin_regime(std::int64_t at_ns);
  void settle(const DriftReport& drift, const Sample& at);

  RunReport shape_;
  std::vector<Scale> scales_;
  std::vector<double> levels_;  ///< rates before each drop that is not over
  Bottleneck bottleneck_;
  std::size_t moves_ = 0;
  std::size_t told_ = 0;
  std::size_t sources_done_ = 0;
  std::optional<std::int64_t> flowing_since_ns_;
};

/// "since 1:02:10 the run is 34 % slower (412 MiB/s, was 624 MiB/s): I/O-bound at 'write', was compute-bound at 'call'"
std::string drift_text(const DriftReport& drift);

/// "memory grew from 212 MiB at 0:06:00 to 3.10 GiB at 1:00:00, 3.21 GiB an hour": when what the process had resident
/// grew by a fifth and 64 MiB from a tenth of the run on, and did so in both halves; else empty. Runs below a minute
/// and reports without that figure: empty. Pure.
std::string memory_growth_text(const RunReport& report);

/// "1:02:10": hours, minutes, seconds since the start of a run.
std::string format_run_time(std::int64_t ns);

}  // namespace millrace
