#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/replay/recorded_run.h"

namespace millrace::test {

inline constexpr std::int64_t kMs = 1'000'000;
inline constexpr std::uint64_t kChunkBytes = 1'000;

/// Makes recorded runs without running anything: every turn costs nothing beside its calls, and nobody sleeps long.
class RunBuilder {
 public:
  using Service = std::function<RecordedCall(std::size_t)>;

  static Service waits(std::int64_t ns) {
    return [ns](std::size_t) { return RecordedCall{0, 0, ns, 0, false, -1}; };
  }
  static Service computes(std::int64_t ns) {
    return [ns](std::size_t) { return RecordedCall{ns, 0, 0, 0, false, -1}; };
  }

  RunBuilder() {
    run_.threads = 64;
    run_.cores = 64;
  }

  /// Appends a stage; its number. `calls` are recorded of it, each giving one chunk unless it is a sink.
  std::size_t stage(Role role, std::size_t calls, const Service& service, std::uint32_t slots = 1) {
    auto script = std::make_shared<CallScript>();
    for (std::size_t k = 0; k < calls; ++k) {
      RecordedCall call = service(k);
      call.gives = role != Role::sink;
      call.bytes_out = call.gives ? kChunkBytes : 0;
      script->begin_group();
      script->add(call);
    }
    RecordedStage& stage = run_.stages.emplace_back();
    stage.name = "s" + std::to_string(run_.stages.size() - 1);
    stage.type = "test";
    stage.role = role;
    stage.slots = slots;
    stage.parallel = true;
    stage.calls = std::move(script);
    stage.finishes = std::make_shared<CallScript>();
    return run_.stages.size() - 1;
  }
  /// A link of `chunks` from one stage to another.
  RunBuilder& link(std::size_t from, std::size_t to, std::uint64_t chunks, WhenFull when_full = WhenFull::block) {
    run_.stages[from].outputs.push_back(run_.links.size());
    run_.stages[to].inputs.push_back(run_.links.size());
    run_.links.push_back({from, to, {chunks, 1ULL << 40, when_full}, kChunkBytes});
    return *this;
  }
  /// source -> transforms -> sink, all with one slot, links of `capacity`.
  static RunBuilder chain(std::size_t chunks, std::uint64_t capacity, const std::vector<Service>& services) {
    RunBuilder builder;
    for (std::size_t i = 0; i < services.size(); ++i) {
      const Role role = i == 0 ? Role::source : i + 1 == services.size() ? Role::sink : Role::transform;
      builder.stage(role, chunks, services[i]);
      if (i != 0) builder.link(i - 1, i, capacity);
    }
    return builder;
  }

  RecordedRun& run() { return run_; }

 private:
  RecordedRun run_;
};

}  // namespace millrace::test
