#include "apps/bench_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include "apps/exit_code.h"
#include "apps/link_pool.h"
#include "pipeline/core/clock.h"
#include "pipeline/core/error.h"
#include "pipeline/plan.h"
#include "pipeline/run.h"

namespace millrace::apps {
namespace {

class EmptySource final : public Source {
 public:
  explicit EmptySource(const LinkPipeline& pipeline) : pipeline_(pipeline) {}
  ChunkType prepare() override { return {DType::u8, "bytes", pipeline_.chunk_bytes}; }
  std::optional<Chunk> produce(std::uint64_t index) override {
    if (index == pipeline_.chunks) return std::nullopt;
    Buffer buffer = loan(pipeline_.chunk_bytes);
    buffer.writable()[0] = static_cast<std::byte>(index);
    return Chunk(std::move(buffer), DType::u8);
  }

 private:
  LinkPipeline pipeline_;
};

class PassThrough final : public Transform {
 public:
  ChunkType prepare(const ChunkType& input) override { return input; }
  std::optional<Chunk> process(Chunk chunk) override { return chunk; }
};

class CountingSink final : public Sink {
 public:
  void prepare(const ChunkType& /*input*/) override {}
  void consume(Chunk /*chunk*/) override {}
};

Plan make_plan(const LinkPipeline& pipeline) {
  Plan plan;
  plan.name = "bench link";
  plan.threads = pipeline.threads;
  const auto add = [&plan](const char* name, Role role, std::unique_ptr<Stage> stage) {
    StagePlan& added = plan.stages.emplace_back();
    added.name = name;
    added.type = name;
    added.role = role;
    added.instances.push_back(std::move(stage));
  };
  add("source", Role::source, std::make_unique<EmptySource>(pipeline));
  add("first", Role::transform, std::make_unique<PassThrough>());
  add("second", Role::transform, std::make_unique<PassThrough>());
  add("sink", Role::sink, std::make_unique<CountingSink>());
  for (std::size_t i = 0; i + 1 < plan.stages.size(); ++i) {
    plan.links.push_back({i, i + 1, pipeline.capacity,
                          std::max<std::uint64_t>(pipeline.capacity * pipeline.chunk_bytes, 1), WhenFull::block,
                          ChunkType{DType::u8, "bytes", pipeline.chunk_bytes}});
    plan.stages[i].outputs.push_back(i);
    plan.stages[i + 1].inputs.push_back(i);
  }
  return plan;
}

struct Row {
  std::string name;
  std::vector<double> ns_per_chunk;

  double median() const {
    std::vector<double> sorted = ns_per_chunk;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  double min() const { return *std::min_element(ns_per_chunk.begin(), ns_per_chunk.end()); }
  double max() const { return *std::max_element(ns_per_chunk.begin(), ns_per_chunk.end()); }
};

constexpr int kStages = 4;

void write_json(const BenchLinkArguments& arguments, const std::array<Row, 4>& rows, double ledger_share) {
  nlohmann::ordered_json json;
  json["schema"] = "millrace.bench.link/1";
  json["chunks"] = arguments.chunks;
  json["capacity"] = arguments.capacity;
  json["threads"] = arguments.threads;
  json["repeats"] = arguments.repeats;
  for (const Row& row : rows) {
    json["rows"].push_back({{"name", row.name},
                            {"stages", kStages},
                            {"chunk_bytes", arguments.chunk_bytes},
                            {"ns_per_chunk", {{"median", row.median()}, {"min", row.min()}, {"max", row.max()}}}});
  }
  json["ledger_share"] = ledger_share;
  std::ofstream file(arguments.json, std::ios::trunc);
  file << json.dump(2) << '\n';
  file.close();
  if (!file) throw Error("cannot write the result").at_path(arguments.json);
}

}  // namespace

MillraceTime time_millrace(const LinkPipeline& pipeline) {
  RunSettings settings;
  settings.make_pool = make_link_pool;
  const RunReport report = run(make_plan(pipeline), settings).report;
  if (report.status != "ok") throw Error(report.error);
  if (report.stages.back().chunks_in != pipeline.chunks) throw Error("the engine lost a chunk");
  return {report.wall_ns, report.ledger_cost.share};
}

int bench_link_command(const BenchLinkArguments& requested) {
  BenchLinkArguments arguments = requested;
  if (arguments.threads == 0) arguments.threads = usable_cores();
  if (arguments.chunks == 0 || arguments.capacity == 0 || arguments.repeats < 1 || arguments.chunk_bytes == 0) {
    throw config_error("chunks, chunk bytes, capacity and repeats must be at least 1");
  }
  const LinkPipeline pipeline{arguments.chunks, arguments.chunk_bytes, arguments.capacity, arguments.threads};
  std::array<Row, 4> rows{{{"millrace", {}}, {"parallel_pipeline", {}}, {"flow_graph", {}}, {"threads_spsc", {}}}};
  std::vector<double> ledger_shares;
  const auto time_one = [&](std::size_t which) -> std::int64_t {
    switch (which) {
      case 0: {
        const MillraceTime time = time_millrace(pipeline);
        ledger_shares.push_back(time.ledger_share);
        return time.wall_ns;
      }
      case 1:
        return time_parallel_pipeline(pipeline);
      case 2:
        return time_flow_graph(pipeline);
      default:
        return time_threads_spsc(pipeline);
    }
  };
  std::mt19937_64 random(arguments.seed);
  std::array<std::size_t, 4> order{};
  std::iota(order.begin(), order.end(), 0);
  for (int repeat = 0; repeat < arguments.repeats; ++repeat) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t which : order) {
      rows[which].ns_per_chunk.push_back(static_cast<double>(time_one(which)) / static_cast<double>(arguments.chunks));
    }
  }
  std::sort(ledger_shares.begin(), ledger_shares.end());
  const double ledger_share = ledger_shares[ledger_shares.size() / 2];

  fmt::print(
      "source -> 2 transforms -> sink, {} chunks of {} bytes, links of {}, {} workers, {} interleaved repeats\n\n",
      arguments.chunks, arguments.chunk_bytes, arguments.capacity, arguments.threads, arguments.repeats);
  fmt::print("{:<19} {:>12} {:>10} {:>10}   {:>11}\n", "ns per chunk", "median", "min", "max", "to millrace");
  for (const Row& row : rows) {
    fmt::print("{:<19} {:>9.0f} ns {:>7.0f} ns {:>7.0f} ns   {:>10.2f}x\n", row.name, row.median(), row.min(),
               row.max(), row.median() / rows[0].median());
  }
  fmt::print("\nmillrace accounts for every slot; its ledger's share of busy time: {:.1f} %\n", 100 * ledger_share);
  if (!arguments.json.empty()) write_json(arguments, rows, ledger_share);
  return kDone;
}

}  // namespace millrace::apps
