#pragma once

#include <cstdint>

#include "pipeline/report.h"

namespace millrace::test {

/// Report of a recorded run that was never made: read -> work -> write, `chunks` of 1000 bytes. `work` computes, the
/// others wait.
inline RunReport recorded_report(std::size_t chunks, std::int64_t read_ns, std::int64_t work_ns,
                                 std::int64_t write_ns) {
  RunReport report;
  report.status = "ok";
  report.threads = 2;
  report.environment.cpus = 2;
  const auto add = [&](const char* name, Role role, std::int64_t cpu_ns, std::int64_t io_ns) {
    StageReport& stage = report.stages.emplace_back();
    stage.name = name;
    stage.type = name;
    stage.role = role;
    stage.record = StageRecord{};
    stage.record->parallel = role == Role::transform;
    for (std::size_t k = 0; k < chunks; ++k) {
      const bool gives = role != Role::sink;
      stage.record->turns.push_back({StageRecord::Kind::call, 1, gives ? 1U : 0U, gives ? 1000U : 0U,
                                     static_cast<std::int64_t>(k) * (cpu_ns + io_ns), cpu_ns, io_ns, 0});
    }
    if (role == Role::source)
      stage.chunks_out = chunks;
    else
      stage.record->inputs.push_back({WhenFull::block, 1000});
    // The end: a source gives nothing, the others finish.
    stage.record->turns.push_back({role == Role::source ? StageRecord::Kind::call : StageRecord::Kind::finish, 1, 0, 0,
                                   static_cast<std::int64_t>(chunks) * (cpu_ns + io_ns), 0, 0, 0});
    stage.record->turns_made = chunks + 1;
    stage.busy = {static_cast<std::int64_t>(chunks) * cpu_ns, static_cast<std::int64_t>(chunks) * io_ns, 0, 0};
    stage.time.busy_ns = stage.busy.sum_ns();
    stage.call.count = chunks + 1;
  };
  add("read", Role::source, 0, read_ns);
  add("work", Role::transform, work_ns, 0);
  add("write", Role::sink, 0, write_ns);
  for (std::size_t i = 1; i < 3; ++i) {
    LinkReport& link = report.links.emplace_back();
    link.from = report.stages[i - 1].name;
    link.to = report.stages[i].name;
    link.capacity_chunks = 4;
    link.capacity_bytes = 1U << 30;
  }
  return report;
}

}  // namespace millrace::test
