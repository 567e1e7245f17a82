#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/core/units.h"
#include "pipeline/experiment/comparison_report.h"
#include "pipeline/experiment_table.h"

namespace millrace {

/// One set of overrides that an experiment runs again and again.
struct ExperimentArm {
  std::string label;
  std::vector<std::string> overrides;  ///< as of --set, after those of all arms
};

/// What the command line of `millrace compare` says; empty and nothing = not given.
struct ExperimentRequest {
  std::vector<std::string> vary;  ///< KEY=a,b,c
  std::optional<std::uint32_t> repeats;
  std::string cache;
  std::optional<std::uint64_t> seed;
  std::string detect;
  std::optional<std::uint32_t> max_repeats;
  std::string max_time;
  std::string rotate;  ///< KEY=f1,f2
};

/// An experiment, complete. Arm 0 is the baseline, arm 1 the same again, the others are what is asked about.
struct ExperimentSpec {
  std::vector<ExperimentArm> arms;
  std::optional<CacheMode> cache;  ///< nothing: cold where the inputs have a device, else as they are
  std::uint64_t seed = 1;
  ComparisonDesign design;
  std::optional<Duration> max_time;
  std::string rotate_key;
  std::vector<VariedValue> rotate_files;

  /// What is added to the config for one run: the arm's overrides, and with rotation the file of the `number`th run of
  /// the experiment (from 0).
  std::vector<std::string> overrides_of(std::size_t arm, std::uint64_t number) const;
  /// The file of that run; empty without rotation.
  std::string input_of(std::uint64_t number) const;
};

/// Puts together what the command line and the config's [experiment] say; the command line wins key by key, and its
/// --vary replaces all arms of the table. Arms of several varied keys: the full product, the last key changing fastest;
/// the first value of each is the baseline. Error (kind config) when nothing is varied, for too few values or too many
/// arms, and for what cannot go together.
ExperimentSpec make_experiment(const ExperimentRequest& request, const std::optional<ExperimentTable>& table);

/// An experiment may have this many arms.
inline constexpr std::size_t kMaxArms = 64;
/// Repeats of one experiment, at most.
inline constexpr std::uint32_t kMaxRepeats = 1000;

}  // namespace millrace
