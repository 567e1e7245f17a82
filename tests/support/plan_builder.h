#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/plan.h"

namespace millrace::testing {

/// Puts a Plan together by hand: stages made by a function, links by name. For tests of the engine that need no config.
class PlanBuilder {
 public:
  PlanBuilder() {
    plan_.name = "test";
    plan_.threads = 2;
  }

  PlanBuilder& threads(std::uint32_t count) {
    plan_.threads = count;
    return *this;
  }
  PlanBuilder& stall_timeout(Duration timeout) {
    plan_.stall_timeout = timeout;
    return *this;
  }

  /// Adds a stage; `make` is called once per slot. Inputs come from `from`, in that order, each over a link like
  /// `bounds`.
  template <typename Make>
  PlanBuilder& stage(const std::string& name, std::uint32_t slots, const std::vector<std::string>& from, Make make,
                     LinkSpec bounds = {}, bool ordered = true, std::uint64_t max_bytes = 64) {
    const std::size_t index = plan_.stages.size();
    StagePlan& stage = plan_.stages.emplace_back();
    stage.name = name;
    stage.type = "test";
    stage.ordered = ordered;
    for (std::uint32_t slot = 0; slot < slots; ++slot) stage.instances.push_back(make());
    const Stage* const first = stage.instances.front().get();
    stage.role = dynamic_cast<const Source*>(first) != nullptr      ? Role::source
                 : dynamic_cast<const Transform*>(first) != nullptr ? Role::transform
                                                                    : Role::sink;
    for (const std::string& producer : from) {
      const std::size_t from_index = index_of(producer);
      const std::size_t link = plan_.links.size();
      plan_.links.push_back({from_index, index, bounds.chunks, bounds.bytes.count, bounds.when_full,
                             ChunkType{DType::u8, "bytes", max_bytes}});
      plan_.stages[from_index].outputs.push_back(link);
      plan_.stages[index].inputs.push_back(link);
    }
    return *this;
  }

  Plan build() { return std::move(plan_); }

 private:
  std::size_t index_of(const std::string& name) const {
    for (std::size_t i = 0; i < plan_.stages.size(); ++i) {
      if (plan_.stages[i].name == name) return i;
    }
    throw Error("the test names no stage '" + name + "'");
  }

  Plan plan_;
};

}  // namespace millrace::testing
