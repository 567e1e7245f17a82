#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/verdict.h"

namespace millrace::verdict {

/// One stage in shares of its slot time.
struct StageShares {
  double busy = 0;
  double on_cpu = 0;
  double io_wait = 0;
  double run_delay = 0;
  double other_wait = 0;
  double starved = 0;
  double blocked = 0;
  double ready = 0;
  double net = 0;   ///< busy without run delay: what the stage would need with the machine to itself
  double want = 0;  ///< busy and ready: in a call or due for one

  double waiting() const { return starved + blocked; }
};

/// What a stage's own time is made of.
struct Nature {
  std::string kind;    ///< "io-read", "io-write", "compute", "source-paced", "latency"
  double share = 0;    ///< of the busy time without run delay
  bool known = false;  ///< false: nothing was measured inside its calls
};

/// All that the rules look at, computed once.
struct Analysis {
  const VerdictInput* input = nullptr;
  std::vector<StageShares> stages;
  std::vector<bool> held;          ///< false: chunks are dropped somewhere after it, so nothing ever holds it up
  std::vector<double> link_loss;   ///< per link: the smaller of producer blocked and consumer starved
  double pool_load = 0;            ///< share of threads x wall in which calls of transforms compute or wait for a core
  double pool_busy = 0;            ///< share of threads x wall in which transforms are in a call at all
  double pool_need = 0;            ///< share of threads x wall in which transforms compute
  double ready_per_worker = 0;     ///< slot seconds `ready` of transforms per worker second
  double cores_used = 0;           ///< by all stages
  double cores_wanted = 0;         ///< on the CPU, waiting for a core, or for a worker
  double largest_want = 0;         ///< of cores_wanted, the stage that wants most
  std::size_t wanting_stages = 0;  ///< stages that want a tenth of a core at least
  bool contended = false;          ///< other threads, ours or not, have the cores when a stage wants to compute
  std::optional<std::size_t> top;  ///< held stage that comes first, see verdict_analysis.cpp
  std::optional<std::size_t> second;      ///< the next one by net demand
  std::optional<std::size_t> worst_link;  ///< index of the largest link_loss

  const VerdictInput::PerStage& stage(std::size_t i) const { return input->stages[i]; }
  const std::string& name(std::size_t i) const { return input->stages[i].name; }
};

Analysis analyse(const VerdictInput& input);

Nature nature_of(const Analysis& analysis, std::size_t index);

/// "compute:encode"
std::string key_of(const Analysis& analysis, std::size_t stage);

/// Whether the calls of a stage differ so much that a queue evens them out.
bool is_bursty(const VerdictInput::PerStage& stage);

/// How much faster the run could go, and what would then limit it.
struct Ceiling {
  double speed_up = 0;  ///< 0 = not known
  std::string next;     ///< key; empty when nothing else limits
};

/// If the stage `without` took no time at all.
Ceiling ceiling_without(const Analysis& analysis, std::size_t without);
/// If no stage ever waited for a core, a worker or a link.
Ceiling ceiling_unhindered(const Analysis& analysis);

}  // namespace millrace::verdict
