#pragma once

#include <cstdint>

/// Every number that a verdict depends on. Shares are of slot time (slots x wall) unless said otherwise; the figures in
/// the reasons come from scripted chains whose bottleneck is known (tests/pipeline/verdict_simulation_test.cpp) and
/// from configs/experiments/truth_*.toml.
namespace millrace::verdict {

/// A stage paces the run when its slots are in a call, or due for one, for this share of their time. Bounded links
/// leave a bottleneck 95-100 %; a stage that still waits a tenth of its time is paced by something else as well.
inline constexpr double kPacingShare = 0.90;

/// Of a pacing stage at least this much is time inside calls. Below, its slots mostly waited to be picked up, which is
/// the price of handing over, not of the stage's work.
inline constexpr double kPacingBusyShare = 0.70;

/// Without a stage above kPacingShare, the busiest is still named (never "sure") down to here.
inline constexpr double kLeadingBusyShare = 0.50;

/// ... if it is this many times as busy as the next. Short runs have their warm-up inside and look like this.
inline constexpr double kLeadingRatio = 1.5;

/// Two stages are balanced when the smaller demand is at least this part of the larger, time lost to other
/// processes (run delay) taken out of both. Speeding up one of them alone gains 6 % at most.
inline constexpr double kBalancedRatio = 0.94;

/// ... and the busier of the two is wanted for this share. Lower, both mostly wait, and equal demand says nothing.
inline constexpr double kBalancedShare = 0.75;

/// The workers are used up when their calls compute, or wait for a core, for this share of threads x wall. Between
/// calls a worker needs some time of its own, so 1 is never reached.
inline constexpr double kPoolFullShare = 0.85;

/// ... while chunks that could be worked on found no worker for this many slot seconds per worker second. Waking a
/// sleeping worker gives a few percent of `ready` on a machine that is mostly idle.
inline constexpr double kReadyPerWorker = 0.10;

/// ... and each stage alone needs less: the compute time of all transforms, shared by the workers, is this many times
/// what the busiest stage needs. Otherwise that stage would hold the run on any number of workers.
inline constexpr double kPoolOverStage = 1.1;

/// Other processes contend for the cores when our threads wait this much of the time they want to compute. What a stage
/// waits in the middle of its calls then says more of them than of it, so stages are compared by what they need
/// without that wait.
inline constexpr double kContendedShare = 0.25;
/// A contended machine bends those needs too: balanced from here on ...
inline constexpr double kContendedBalancedRatio = 0.85;
/// ... and no stage is named whose slots are in calls or due for less than this.
inline constexpr double kContendedWant = 0.5;

/// Sources and sinks have threads of their own and never wait for a worker, only for a core. The machine is out of
/// cores, too, when all threads together want this many times the cores there are ...
inline constexpr double kCrowdedWant = 1.25;

/// ... and get this share of them; if less, other processes have the machine, and our own demand does not fill it.
inline constexpr double kCrowdedOwnShare = 0.50;

/// ... and no stage takes more than this share of what all want: one stage that wants everything is compute-bound.
inline constexpr double kCrowdedOneStage = 0.70;

/// ... and each would still have room to spare, had it the cores (demand without run delay).
inline constexpr double kCrowdedBusyShare = 0.75;

/// A link loses time when its producer is blocked and its consumer starved for this share each. A link that never runs
/// full and empty in turn cannot do both: the two can only alternate.
inline constexpr double kLinkLossShare = 0.10;

/// A stage that waited for cores more than this share of its busy time: its call times spread by that alone, so only
/// the median, which they can but raise, is used.
inline constexpr double kUndisturbedShare = 0.10;

/// Calls come in bursts when their mean is this many times the median (a few long calls carry the time) ...
inline constexpr double kBurstMeanToMedian = 1.5;

/// ... or one call in ten takes this many times the mean.
inline constexpr double kBurstP90ToMean = 1.5;

/// Handing a chunk to a sleeping thread costs about 6 us on another core, some 100 us on a loaded machine. A link that
/// loses more than this per chunk loses it to bursts, whatever the call times look like.
inline constexpr std::int64_t kLongestHandOverNs = 1'000'000;

/// Fewer chunks than this many fillings of the link: it ran full and empty once, at the start and the end.
inline constexpr double kLinkFillings = 4;

/// The machine is named as the next bottleneck when it limits this much more than the next stage does.
inline constexpr double kMachineNextRatio = 1.1;

/// Below this nothing is said: the start of the threads alone takes as long.
inline constexpr std::int64_t kShortestWindowNs = 5'000'000;

/// What takes from the confidence. Each doubt costs one step (sure -> likely -> unsure), a grave one two.
inline constexpr std::int64_t kShortWindowNs = 1'000'000'000;    ///< scheduling noise is 1 % of this
inline constexpr std::int64_t kVeryShortWindowNs = 100'000'000;  ///< grave
inline constexpr std::uint64_t kFewChunks = 20;                  ///< one odd chunk is 5 %
inline constexpr std::uint64_t kVeryFewChunks = 5;               ///< grave
inline constexpr double kSureShare = 0.94;                       ///< pacing stage below this: something else waits too
inline constexpr double kSureRunnerUpRatio = 0.85;               ///< next demand above this part of the first
inline constexpr double kSureSplitShare = 0.65;                  ///< largest part of the busy time (no run delay)
inline constexpr double kGraveSplitShare = 0.50;                 ///< grave: no part has the majority
inline constexpr double kSureRunDelayShare = 0.25;               ///< of busy: other load bends the figures
inline constexpr double kGraveRunDelayShare = 0.50;              ///< grave: mostly other load was measured
inline constexpr std::uint64_t kFewCpuSamples = 30;              ///< CPU clock readings behind the split

/// Sentences: a share below kNever is printed as "never"; "cannot help" needs a wait of kClearWait.
inline constexpr double kNever = 0.005;
inline constexpr double kClearWait = 0.20;
inline constexpr double kHardlyEver = 0.05;
/// Cores in use below this share of the machine: more of them cannot help.
inline constexpr double kCoresToSpare = 0.75;
/// Prefetch advice that had less than this of the data there in time did little.
inline constexpr double kFutileAdvice = 0.50;
/// A drain longer than this share of the run is worth a sentence in the verdict.
inline constexpr double kLongDrain = 0.20;

/// Cores that child processes use while their stage waits for them, from which on they are said to compute. Half: a
/// process that feeds a device and polls for it stays below, one that computes between two pipes comes near 1.
inline constexpr double kChildComputes = 0.5;

}  // namespace millrace::verdict
