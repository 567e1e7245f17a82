#include "tests/pipeline/report_fixture.h"

#include "pipeline/complete_report.h"

namespace millrace::test {
namespace {

constexpr std::uint64_t kChunkBytes = 1U << 20;

void add_facts(RunReport& report) {
  report.started = "2026-11-30T12:00:00Z";
  report.config_json = R"({"pipeline":{"name":"basecall","threads":2},"stage":[{"name":"read"}]})";
  report.command = {"millrace", "run", "configs/quickstart.toml"};
  report.environment.host = "lab-7";
  report.environment.kernel = "6.1.0";
  report.environment.memory_bytes = 16ULL << 30;
  report.environment.millrace_version = "0.1.0";
  report.environment.paths = {{"/data/a.fast5", "ext4", "rw,relatime", 128, "vda", 1280, -1, -1, 512, 4096},
                              {"/tmp", "tmpfs", "rw", -1, ""}};
  report.cache = {3ULL << 30, 0.004, 0.31, true, false, (3ULL << 30) - (12ULL << 20)};
  report.memory = {212ULL << 20, 2ULL << 30, 198ULL << 20, 3, 0};
  report.ledger_cost = {312.5, 1100.25, 41'000'000, 0.0031};
  report.outputs = {{"out/calls.tsv", 412ULL << 20}, {"out/qc.tsv", 12'345}};
}

void add_measurements(RunReport& report) {
  report.stages[0].io = IoStats{};
  report.stages[0].io->transport_requested = "mmap";
  report.stages[0].io->transport_used = "buffered";
  report.stages[0].io->calls = 3072;
  report.stages[0].io->bytes = 3ULL << 30;
  report.stages[0].io->retries = 2;
  report.stages[0].io->cache_hit_bytes = 12ULL << 20;
  report.stages[0].io->cache_miss_bytes = (3ULL << 30) - (12ULL << 20);
  report.stages[0].io->advice = {"willneed", "window", 16U << 20, 1U << 20, 3000, 1, 100U << 20, 87U << 20};
  report.stages[0].major_faults = 4;
  report.stages[1].cpu_sampled_every = 27;
  report.stages[1].copied_bytes = 1ULL << 30;
  report.stages[2].io = IoStats{};
  report.stages[2].io->transport_requested = "buffered";
  report.stages[2].io->transport_used = "buffered";
  report.stages[2].io->calls = 412;
  report.stages[2].io->bytes = 412ULL << 20;
  report.stages[2].io->fsync_calls = 2;
  report.stages[2].io->fsync_ns = 81'000'000;
  report.blame = {{"write", "decode", 1'230'000'000},
                  {"decode", "read", 13'100'000'000},
                  {"write", "read", 8'400'000'000},
                  {"decode", "(workers)", 200'000'000},
                  {"read", "read", 0}};
  report.stalls = {{"decode", "starved", 120'000'000, 3'400'000'000, 711, {"read in a call for 119 ms"}},
                   {"write",
                    "starved",
                    410'000'000,
                    3'300'000'000,
                    700,
                    {"decode starved for 405 ms", "read in a call for 404 ms"}}};
  report.loss.read = 3000;
  report.loss.written = 3000;
}

}  // namespace

ReportBuilder::ReportBuilder(const std::vector<Shares>& stages) {
  report_.name = "basecall";
  report_.status = "ok";
  report_.threads = 2;
  report_.environment.cpus = 2;
  for (const auto& shares : stages) {
    StageReport& stage = report_.stages.emplace_back();
    stage.name = shares.name;
    stage.type = shares.name + "_type";
    stage.role = shares.role;
    stage.slots = shares.slots;
  }
  for (std::size_t i = 1; i < stages.size(); ++i) {
    LinkReport& link = report_.links.emplace_back();
    link.from = stages[i - 1].name;
    link.to = stages[i].name;
    link.capacity_chunks = 4;
    link.capacity_bytes = 64U << 20;
  }
  now_.stages.resize(stages.size());
}

ReportBuilder& ReportBuilder::spend(std::size_t intervals, double interval_s, const std::vector<Shares>& stages,
                                    std::uint64_t chunks, std::uint64_t link_chunks) {
  const std::int64_t interval_ns = std::llround(interval_s * 1e9);
  report_.sample_interval_ns = interval_ns;
  for (std::size_t k = 0; k < intervals; ++k) {
    now_.at_ns += interval_ns;
    now_.link_chunks.assign(report_.links.size(), link_chunks);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const Shares& shares = stages[i];
      Sample::PerStage& stage = now_.stages[i];
      const double slot_time = static_cast<double>(interval_ns) * report_.stages[i].slots;
      const BusySplit busy{part(shares.cpu, slot_time), part(shares.io, slot_time), part(shares.delay, slot_time),
                           part(shares.other, slot_time)};
      stage.busy.on_cpu_ns += busy.on_cpu_ns;
      stage.busy.io_wait_ns += busy.io_wait_ns;
      stage.busy.run_delay_ns += busy.run_delay_ns;
      stage.busy.other_wait_ns += busy.other_wait_ns;
      const StateTimes time{busy.sum_ns(), part(shares.starved, slot_time), part(shares.blocked, slot_time),
                            part(shares.ready, slot_time), 0};
      stage.time.busy_ns += time.busy_ns;
      stage.time.starved_ns += time.starved_ns;
      stage.time.blocked_ns += time.blocked_ns;
      stage.time.ready_ns += time.ready_ns;
      stage.time.done_ns += std::llround(slot_time) - time.sum_ns();
      if (busy.sum_ns() == 0) continue;
      if (shares.role != Role::source) stage.chunks_in += chunks;
      if (shares.role != Role::sink) stage.chunks_out += chunks;
      if (shares.role != Role::source) stage.bytes_in += chunks * kChunkBytes;
      if (shares.role != Role::sink) stage.bytes_out += chunks * kChunkBytes;
    }
    report_.samples.push_back(now_);
  }
  return *this;
}

RunReport ReportBuilder::build() const {
  RunReport report = report_;
  report.wall_ns = now_.at_ns;
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    StageReport& stage = report.stages[i];
    const Sample::PerStage& last = now_.stages[i];
    stage.time = last.time;
    stage.busy = last.busy;
    stage.chunks_in = last.chunks_in;
    stage.chunks_out = last.chunks_out;
    stage.bytes_in = last.bytes_in;
    stage.bytes_out = last.bytes_out;
    const std::uint64_t calls = std::max<std::uint64_t>(1, std::max(last.chunks_in, last.chunks_out));
    const std::int64_t mean = last.time.busy_ns / static_cast<std::int64_t>(calls);
    stage.call = {calls, mean, mean + mean / 10, mean + mean / 2, 3 * mean};
  }
  for (std::size_t i = 0; i < report.links.size(); ++i) {
    LinkReport& link = report.links[i];
    link.starved_ns = report.stages[i + 1].time.starved_ns;
    link.blocked_ns = report.stages[i].time.blocked_ns;
    link.time_empty_ns = link.starved_ns / report.stages[i + 1].slots;
    link.time_full_ns = link.blocked_ns / report.stages[i].slots;
    link.mean_chunks = 2;
    link.max_chunks = 4;
  }
  return report;
}

RunReport full_report() {
  const std::vector<Shares> reading{{"read", Role::source, .061, .924, .001, 0, 0, .014, 0},
                                    {"decode", Role::transform, .31, 0, .002, 0, .669, 0, .019, 2},
                                    {"write", Role::sink, .02, .05, 0, 0, .93, 0, 0}};
  std::vector<Shares> draining = reading;
  draining[0] = {"read", Role::source, 0, 0, 0, 0, 0, 0, 0};
  RunReport report = ReportBuilder(reading).spend(30, .4, reading).spend(1, .41, draining).build();
  add_facts(report);
  add_measurements(report);
  complete_report(report);
  return report;
}

RunReport drifting_report() {
  const std::vector<Shares> compute{{"read", Role::source, .1, 0, 0, 0, 0, .9},
                                    {"detect_events", Role::transform, .95, 0, .04, 0, 0, 0, .01},
                                    {"events_writer_of_the_second_lab", Role::sink, 0, .05, 0, 0, .95}};
  std::vector<Shares> writing = compute;
  writing[1] = {"detect_events", Role::transform, .3, 0, 0, 0, 0, .7};
  writing[2] = {"events_writer_of_the_second_lab", Role::sink, .01, .97, 0, 0, .02};
  RunReport report = ReportBuilder(compute).spend(60, 60, compute).spend(40, 60, writing).build();
  report.name = "overnight";
  report.status = "interrupted";
  report.error = "stopped by the user: sources were told to end, what was in flight was written";
  report.drift = {{"moved", 3'720'000'000'000, 1.75e6, 1.75e6, "bytes", "compute:detect_events",
                   "io-write:events_writer_of_the_second_lab"}};
  for (auto& sample : report.samples)
    sample.resident_bytes = (200ULL << 20) + static_cast<std::uint64_t>(sample.at_ns / 10'000);
  report.loss.read = 10'000;
  report.loss.written = 9'980;
  report.loss.dropped = {{"detect_events", "drop_newest", 12}, {"events_writer_of_the_second_lab", "stopped", 5}};
  report.loss.failed = 1;
  report.loss.in_flight = 2;
  complete_report(report);
  return report;
}

}  // namespace millrace::test
