#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace millrace {

/// The compute workers: one tbb::flow::graph on a task arena of its own, with one function node per transform. A
/// message to a node is leave for one worker to fire that node's stage; what the worker does is the node's body.
class WorkerArena {
 public:
  /// `threads` workers beside the caller's thread; node i runs `body(i)`. Bodies must not throw and must end by
  /// themselves: nobody waits inside.
  WorkerArena(std::uint32_t threads, std::size_t nodes, std::function<void(std::size_t)> body);
  WorkerArena(const WorkerArena&) = delete;
  WorkerArena& operator=(const WorkerArena&) = delete;
  /// Waits for every body that was asked for.
  ~WorkerArena();

  /// Has node `node` fired by some worker soon. From any thread.
  void fire(std::size_t node);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
