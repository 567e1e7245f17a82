#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace millrace::apps {

/// `millrace bench link`: what the engine costs per chunk, beside three usual ways to build the same pipeline.
struct BenchLinkArguments {
  std::uint64_t chunks = 300'000;
  std::size_t chunk_bytes = 64;
  std::uint64_t capacity = 256;  ///< of every link, in chunks
  std::uint32_t threads = 0;     ///< compute workers; 0 = cores this process may use
  int repeats = 9;
  std::uint64_t seed = 1;      ///< of the order within each repeat
  std::filesystem::path json;  ///< empty = none
};

/// Source -> 2 transforms -> sink that do nothing: what is left is hand-over and accounting.
struct LinkPipeline {
  std::uint64_t chunks = 0;
  std::size_t chunk_bytes = 0;
  std::uint64_t capacity = 1;
  std::uint32_t threads = 1;
};

/// One run each; wall nanoseconds. Error when a chunk was lost.
struct MillraceTime {
  std::int64_t wall_ns = 0;
  double ledger_share = 0;  ///< of all busy time, by the run's own calibration
};
MillraceTime time_millrace(const LinkPipeline& pipeline);
std::int64_t time_parallel_pipeline(const LinkPipeline& pipeline);  ///< tbb::parallel_pipeline, `capacity` tokens
std::int64_t time_flow_graph(const LinkPipeline& pipeline);  ///< tbb::flow::graph with a limiter_node of `capacity`
std::int64_t time_threads_spsc(
    const LinkPipeline& pipeline);  ///< a thread per stage, Boost spsc_queue between, yielding

int bench_link_command(const BenchLinkArguments& arguments);

}  // namespace millrace::apps
