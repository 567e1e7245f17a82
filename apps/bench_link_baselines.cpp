// The usual ways to build the pipeline of `millrace bench link`, as plain as their documentation shows them: messages
// are pointers into buffers that were allocated before, nothing is accounted for.

#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <boost/lockfree/spsc_queue.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "apps/bench_link.h"
#include "pipeline/core/clock.h"
#include "pipeline/core/error.h"

namespace millrace::apps {
namespace {

/// A ring of messages, more than can be in flight.
class Messages {
 public:
  explicit Messages(const LinkPipeline& pipeline)
      : bytes_(pipeline.chunk_bytes), count_(4 * pipeline.capacity + 16), memory_(bytes_ * count_) {}

  std::byte* message(std::uint64_t index) {
    std::byte* const message = memory_.data() + bytes_ * (index % count_);
    message[0] = static_cast<std::byte>(index);
    return message;
  }

 private:
  std::size_t bytes_;
  std::size_t count_;
  std::vector<std::byte> memory_;
};

void expect_all(std::uint64_t got, const LinkPipeline& pipeline) {
  if (got != pipeline.chunks) throw Error("a baseline delivered " + std::to_string(got) + " chunks");
}

}  // namespace

std::int64_t time_parallel_pipeline(const LinkPipeline& pipeline) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, pipeline.threads);
  Messages messages(pipeline);
  std::uint64_t sent = 0;
  std::uint64_t got = 0;
  const auto pass = [](std::byte* message) { return message; };
  const std::int64_t start_ns = monotonic_clock().now_ns();
  tbb::parallel_pipeline(
      pipeline.capacity,
      tbb::make_filter<void, std::byte*>(tbb::filter_mode::serial_in_order,
                                         [&](tbb::flow_control& control) -> std::byte* {
                                           if (sent == pipeline.chunks) {
                                             control.stop();
                                             return nullptr;
                                           }
                                           return messages.message(sent++);
                                         }) &
          tbb::make_filter<std::byte*, std::byte*>(tbb::filter_mode::parallel, pass) &
          tbb::make_filter<std::byte*, std::byte*>(tbb::filter_mode::parallel, pass) &
          tbb::make_filter<std::byte*, void>(tbb::filter_mode::serial_in_order, [&got](std::byte*) { ++got; }));
  const std::int64_t wall_ns = monotonic_clock().now_ns() - start_ns;
  expect_all(got, pipeline);
  return wall_ns;
}

std::int64_t time_flow_graph(const LinkPipeline& pipeline) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, pipeline.threads);
  Messages messages(pipeline);
  std::uint64_t sent = 0;
  std::uint64_t got = 0;
  tbb::flow::graph graph;
  tbb::flow::input_node<std::byte*> source(graph, [&](tbb::flow_control& control) -> std::byte* {
    if (sent == pipeline.chunks) {
      control.stop();
      return nullptr;
    }
    return messages.message(sent++);
  });
  tbb::flow::limiter_node<std::byte*> limiter(graph, pipeline.capacity);
  const auto pass = [](std::byte* message) { return message; };
  tbb::flow::function_node<std::byte*, std::byte*> first(graph, tbb::flow::serial, pass);
  tbb::flow::function_node<std::byte*, std::byte*> second(graph, tbb::flow::serial, pass);
  tbb::flow::function_node<std::byte*, tbb::flow::continue_msg> sink(graph, tbb::flow::serial, [&got](std::byte*) {
    ++got;
    return tbb::flow::continue_msg();
  });
  tbb::flow::make_edge(source, limiter);
  tbb::flow::make_edge(limiter, first);
  tbb::flow::make_edge(first, second);
  tbb::flow::make_edge(second, sink);
  tbb::flow::make_edge(sink, limiter.decrementer());
  const std::int64_t start_ns = monotonic_clock().now_ns();
  source.activate();
  graph.wait_for_all();
  const std::int64_t wall_ns = monotonic_clock().now_ns() - start_ns;
  expect_all(got, pipeline);
  return wall_ns;
}

std::int64_t time_threads_spsc(const LinkPipeline& pipeline) {
  using Queue = boost::lockfree::spsc_queue<std::byte*>;
  Messages messages(pipeline);
  Queue queues[3] = {Queue(pipeline.capacity), Queue(pipeline.capacity), Queue(pipeline.capacity)};
  const auto push = [](Queue& queue, std::byte* message) {
    while (!queue.push(message)) std::this_thread::yield();
  };
  const auto pop = [](Queue& queue) {
    std::byte* message = nullptr;
    while (!queue.pop(message)) std::this_thread::yield();
    return message;
  };
  const auto relay = [&](Queue& from, Queue& to) {
    for (std::uint64_t i = 0; i < pipeline.chunks; ++i) push(to, pop(from));
  };
  std::uint64_t got = 0;
  const std::int64_t start_ns = monotonic_clock().now_ns();
  std::thread source([&] {
    for (std::uint64_t i = 0; i < pipeline.chunks; ++i) push(queues[0], messages.message(i));
  });
  std::thread first([&] { relay(queues[0], queues[1]); });
  std::thread second([&] { relay(queues[1], queues[2]); });
  std::thread sink([&] {
    for (; got < pipeline.chunks; ++got) pop(queues[2]);
  });
  for (std::thread* thread : {&source, &first, &second, &sink}) thread->join();
  return monotonic_clock().now_ns() - start_ns;
}

}  // namespace millrace::apps
