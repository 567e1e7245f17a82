#include "pipeline/verdict_doubts.h"

#include <fmt/format.h>

#include <utility>

#include "pipeline/core/units.h"
#include "pipeline/verdict_thresholds.h"
#include "pipeline/verdict_words.h"

namespace millrace::verdict {

void Doubts::add(int steps, std::string reason) {
  steps_ += steps;
  reasons_.push_back(std::move(reason));
}

std::string Doubts::confidence() const { return steps_ == 0 ? "sure" : steps_ == 1 ? "likely" : "unsure"; }

void Doubts::add_window(const Analysis& analysis) {
  const std::int64_t wall = analysis.input->wall_ns;
  if (wall < kVeryShortWindowNs)
    add(2, fmt::format("only {} were seen", format_duration_ns(wall)));
  else if (wall < kShortWindowNs)
    add(1, fmt::format("only {} were seen", format_duration_ns(wall)));
}

void Doubts::add_machine(const Analysis& analysis) {
  if (analysis.contended) add(1, "the cores were contended for: stages are compared without that wait");
}

void Doubts::add_count(const VerdictInput::PerStage& stage) {
  if (stage.chunks < kVeryFewChunks)
    add(2, fmt::format("only {} chunks went through {}", stage.chunks, stage.name));
  else if (stage.chunks < kFewChunks)
    add(1, fmt::format("only {} chunks went through {}", stage.chunks, stage.name));
}

void Doubts::add_split(const Analysis& analysis, std::size_t index) {
  const auto& stage = analysis.stage(index);
  const auto nature = nature_of(analysis, index);
  if (!nature.known)
    add(2, fmt::format("nothing was measured inside the calls of {}", stage.name));
  else if (nature.share < kGraveSplitShare)
    add(2, fmt::format("no part of {}'s busy time is more than half of it", stage.name));
  else if (nature.share < kSureSplitShare)
    add(1, fmt::format("only {} of {}'s own time is of that kind", percent(nature.share), stage.name));
  const auto& shares = analysis.stages[index];
  const double delay = shares.busy > 0 ? shares.run_delay / shares.busy : 0;
  if (delay > kSureRunDelayShare)
    add(delay > kGraveRunDelayShare ? 2 : 1,
        fmt::format("{} of {}'s busy time it waited for a core that others had", percent(delay), stage.name));
  if (stage.cpu_sampled_every > 1 && stage.chunks / stage.cpu_sampled_every < kFewCpuSamples)
    add(1, fmt::format("the CPU clock was read around {} calls of {} only", stage.chunks / stage.cpu_sampled_every,
                       stage.name));
}

void Doubts::add_margin(const Analysis& analysis, std::size_t index) {
  const auto& shares = analysis.stages[index];
  if (shares.want < kSureShare)
    add(1, fmt::format("{} was busy or due {} of its time only", analysis.name(index), percent(shares.want)));
  if (analysis.second && analysis.stages[*analysis.second].net > kSureRunnerUpRatio * shares.net)
    add(1, fmt::format("{} comes close with {}", analysis.name(*analysis.second),
                       percent(analysis.stages[*analysis.second].net)));
}

}  // namespace millrace::verdict
