#include "pipeline/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace millrace {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return a > kMost - b ? kMost : a + b; }
std::uint64_t times(std::uint64_t a, std::uint64_t b) { return b != 0 && a > kMost / b ? kMost : a * b; }

const char* slots_word(std::uint64_t slots) { return slots == 1 ? "slot" : "slots"; }

MemoryPlan::Line link_line(const Plan& plan, const LinkPlan& link) {
  const StagePlan& producer = plan.stages[link.from];
  const std::uint64_t chunk = plus(link.type.max_bytes, producer.instances.front()->buffer_needs().padding_bytes);
  const std::uint64_t bound = std::min(link.capacity_bytes, times(link.capacity_chunks, chunk));
  return {fmt::format("link {} -> {}", producer.name, plan.stages[link.to].name),
          fmt::format("min({}, {} x {}) + {} {} x {}", format_bytes(link.capacity_bytes), link.capacity_chunks,
                      format_bytes(chunk), producer.slots(), slots_word(producer.slots()), format_bytes(chunk)),
          plus(bound, times(producer.slots(), chunk))};
}

MemoryPlan::Line stage_line(const Plan& plan, const StagePlan& stage) {
  std::uint64_t chunk = 0;
  for (const std::size_t input : stage.inputs) chunk = std::max(chunk, plan.links[input].type.max_bytes);
  std::uint64_t state = 0;
  for (const auto& instance : stage.instances) state = std::max(state, instance->state_bytes());
  // A source holds buffers of its output, others of their input.
  const BufferNeeds needs = stage.instances.front()->buffer_needs();
  std::uint64_t kept = chunk;
  for (const std::size_t output : stage.outputs) kept = std::max(kept, plan.links[output].type.max_bytes);
  kept = plus(kept, needs.padding_bytes);
  const std::string held = needs.held == 0 ? "" : fmt::format(" + {} x {} in flight", needs.held, format_bytes(kept));
  return {fmt::format("stage {}", stage.name),
          fmt::format("{} {} x ({} chunk + {} state{})", stage.slots(), slots_word(stage.slots()), format_bytes(chunk),
                      format_bytes(state), held),
          times(stage.slots(), plus(plus(chunk, state), times(needs.held, kept)))};
}

}  // namespace

MemoryPlan make_memory_plan(const Plan& plan, std::uint64_t budget_bytes) {
  MemoryPlan memory;
  memory.budget_bytes = budget_bytes;
  for (const auto& link : plan.links) memory.lines.push_back(link_line(plan, link));
  for (const auto& stage : plan.stages) memory.lines.push_back(stage_line(plan, stage));
  for (const auto& line : memory.lines) memory.total_bytes = plus(memory.total_bytes, line.bytes);
  return memory;
}

}  // namespace millrace
