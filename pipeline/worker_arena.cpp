#include "pipeline/worker_arena.h"

#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <deque>
#include <optional>
#include <utility>

namespace millrace {

struct WorkerArena::Impl {
  using Node = tbb::flow::function_node<tbb::flow::continue_msg, tbb::flow::continue_msg>;

  // Without it TBB starts one thread less than there are cores, for it counts the caller's thread as a worker.
  tbb::global_control limit;
  tbb::task_arena arena;
  std::optional<tbb::flow::graph> graph;
  std::deque<Node> nodes;

  explicit Impl(std::uint32_t threads)
      : limit(tbb::global_control::max_allowed_parallelism, threads + 1), arena(static_cast<int>(threads), 0) {}
};

WorkerArena::WorkerArena(std::uint32_t threads, std::size_t nodes, std::function<void(std::size_t)> body)
    : impl_(std::make_unique<Impl>(threads)) {
  impl_->arena.execute([this, nodes, &body] {
    impl_->graph.emplace();  // belongs to the arena it is made in
    for (std::size_t i = 0; i < nodes; ++i) {
      // Concurrency is the business of the firing rule, so the node itself has no limit, and so never queues.
      impl_->nodes.emplace_back(*impl_->graph, tbb::flow::unlimited, [i, body](tbb::flow::continue_msg) {
        body(i);
        return tbb::flow::continue_msg();
      });
    }
  });
}

WorkerArena::~WorkerArena() {
  impl_->arena.execute([this] { impl_->graph->wait_for_all(); });
}

void WorkerArena::fire(std::size_t node) { impl_->nodes[node].try_put(tbb::flow::continue_msg()); }

}  // namespace millrace
