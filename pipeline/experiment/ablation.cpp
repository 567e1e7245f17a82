#include "pipeline/experiment/ablation.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <utility>

#include "pipeline/experiment/ablation_record.h"
#include "pipeline/experiment/ablation_replay.h"
#include "pipeline/memory_plan.h"

namespace millrace {
namespace {

constexpr std::uint32_t kDeepestFactor = 16;

/// A stage instance in its role's type, out of the plan's hands.
template <typename Role>
std::unique_ptr<Role> taken(std::unique_ptr<Stage>& instance) {
  return std::unique_ptr<Role>(dynamic_cast<Role*>(instance.release()));
}

bool merges(const StagePlan& stage) { return stage.inputs.size() > 1; }

bool is_replaced(const StagePlan& stage, const Ablation& ablation) {
  switch (stage.role) {
    case Role::source:
      return ablation.reading;
    case Role::transform:
      return ablation.compute || stage.name == ablation.stage;
    case Role::sink:
      break;
  }
  return ablation.writing;
}

/// What flows out of a stage that has outputs.
ChunkType type_behind(const Plan& plan, const StagePlan& stage) { return plan.links[stage.outputs.front()].type; }

class Ablator {
 public:
  Ablator(Plan& plan, const Recordings& recordings, const Ablation& ablation, Clock& clock)
      : plan_(plan), recordings_(recordings), ablation_(ablation), clock_(clock) {}

  void run() {
    for (std::size_t index = 0; index < plan_.stages.size(); ++index) {
      if (!is_replaced(plan_.stages[index], ablation_)) continue;
      switch (plan_.stages[index].role) {
        case Role::source:
          replace_source(index);
          break;
        case Role::transform:
          replace_transform(index);
          break;
        case Role::sink:
          replace_sink(plan_.stages[index]);
          break;
      }
    }
  }

 private:
  void replace_source(std::size_t index) {
    StagePlan& stage = plan_.stages[index];
    const auto& first = dynamic_cast<const Source&>(*stage.instances.front());
    ReplayedSource::Shape shape{first.parallel(), recordings_[index]->end(), first.total_bytes(),
                                type_behind(plan_, stage)};
    if (!shape.total_chunks) shape.total_chunks = first.total_chunks();
    const HandOut hand_out = hand_out_of(stage);
    for (auto& instance : stage.instances) {
      instance = std::make_unique<ReplayedSource>(recordings_[index], hand_out, shape);
    }
  }

  void replace_transform(std::size_t index) {
    StagePlan& stage = plan_.stages[index];
    const auto& first = dynamic_cast<const Transform&>(*stage.instances.front());
    ReplayedTransform::Shape shape;
    shape.parallel = first.parallel();
    shape.splits = first.splits();
    shape.waits = ablation_.waits;
    shape.hand_out = hand_out_of(stage);
    if (merges(stage)) shape.numbers = std::make_shared<std::atomic<std::uint64_t>>(0);
    shape.type = type_behind(plan_, stage);
    for (auto& instance : stage.instances) {
      instance = std::make_unique<ReplayedTransform>(recordings_[index], shape, clock_);
      ++shape.slot;
    }
  }

  static void replace_sink(StagePlan& stage) {
    const bool parallel = stage.instances.front()->parallel();
    for (auto& instance : stage.instances) {
      dynamic_cast<Sink&>(*instance).abandon();
      instance = std::make_unique<ForgettingSink>(parallel);
    }
  }

  /// Copies only where a stage behind, that is left as it is, would work in place.
  HandOut hand_out_of(const StagePlan& stage) const {
    std::vector<std::size_t> open = stage.outputs;
    if (open.size() > 1) return HandOut::shared;  // as configured, too, nobody there has its buffer alone
    while (!open.empty()) {
      const std::size_t index = plan_.links[open.back()].to;
      const StagePlan& behind = plan_.stages[index];
      open.pop_back();
      if (behind.role != Role::transform) continue;
      const Recording& recording = *recordings_[index];
      const bool replaced = is_replaced(behind, ablation_);
      if (!replaced && recording.works_in_place()) return HandOut::loaned;
      if (recording.passes_input()) open.insert(open.end(), behind.outputs.begin(), behind.outputs.end());
    }
    return HandOut::shared;
  }

  Plan& plan_;
  const Recordings& recordings_;
  const Ablation& ablation_;
  Clock& clock_;
};

void deepen(Plan& plan, std::uint32_t factor) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  for (LinkPlan& link : plan.links) {
    link.capacity_chunks *= factor;
    link.capacity_bytes = link.capacity_bytes > kMost / factor ? kMost : link.capacity_bytes * factor;
  }
}

/// As many workers as transforms have slots: then no call waits for one.
void give_every_slot_a_worker(Plan& plan) {
  std::uint32_t slots = 0;
  for (const StagePlan& stage : plan.stages) slots += stage.role == Role::transform ? stage.slots() : 0;
  plan.threads = std::max(plan.threads, slots);
}

}  // namespace

std::uint64_t recording_room(const Plan& plan) {
  return plan.memory.total_bytes >= plan.memory.budget_bytes ? 0
                                                             : (plan.memory.budget_bytes - plan.memory.total_bytes) / 2;
}

Recordings record_stages(Plan& plan, std::uint64_t room_bytes, Clock& clock) {
  std::uint64_t recorded = 0;
  for (const StagePlan& stage : plan.stages) recorded += stage.role == Role::sink ? 0 : 1;
  Recordings recordings;
  for (StagePlan& stage : plan.stages) {
    recordings.push_back(nullptr);
    if (stage.role == Role::sink) continue;
    recordings.back() = std::make_shared<Recording>(room_bytes / std::max<std::uint64_t>(recorded, 1));
    std::uint32_t slot = 0;
    for (auto& instance : stage.instances) {
      if (stage.role == Role::source) {
        instance = std::make_unique<RecordingSource>(taken<Source>(instance), recordings.back());
      } else {
        instance = std::make_unique<RecordingTransform>(taken<Transform>(instance), recordings.back(), slot,
                                                        merges(stage), clock);
      }
      ++slot;
    }
  }
  return recordings;
}

void ablate(Plan& plan, const Recordings& recordings, const Ablation& ablation, Clock& clock) {
  Ablator(plan, recordings, ablation, clock).run();
  if (ablation.waits) give_every_slot_a_worker(plan);
  deepen(plan, ablation.deeper_links);
  plan.memory = make_memory_plan(plan, plan.memory.budget_bytes);
}

std::string stage_without_recording(const Plan& plan, const Recordings& recordings, const Ablation& ablation) {
  for (std::size_t index = 0; index < plan.stages.size(); ++index) {
    const StagePlan& stage = plan.stages[index];
    if (stage.role == Role::sink || !is_replaced(stage, ablation)) continue;
    if (recordings[index]->size() == 0 && recordings[index]->ran_out()) return stage.name;
  }
  return "";
}

std::uint32_t deepest_links(Plan& plan, const Recordings& recordings) {
  std::uint64_t used = 0;
  for (const auto& recording : recordings) used += recording == nullptr ? 0 : recording->bytes();
  const std::vector<LinkPlan> links = plan.links;
  std::uint32_t factor = kDeepestFactor;
  for (; factor > 1; factor /= 2) {
    deepen(plan, factor);
    const std::uint64_t planned = make_memory_plan(plan, plan.memory.budget_bytes).total_bytes;
    plan.links = links;
    if (used <= plan.memory.budget_bytes && planned <= plan.memory.budget_bytes - used) break;
  }
  return factor;
}

}  // namespace millrace
