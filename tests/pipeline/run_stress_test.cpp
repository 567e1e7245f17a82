// Random pipelines with random faults, a thousand of them: whatever happens, every run ends, closes its ledger, loses
// no chunk uncounted and leaves no thread. A hang shows as the test's time-out, with the seed on the last line.

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "pipeline/run.h"
#include "tests/support/plan_builder.h"
#include "tests/support/test_stages.h"

namespace millrace {
namespace {

using testing::Collected;
using testing::CollectingSink;
using testing::FunctionTransform;
using testing::number_in;
using testing::NumberSource;
using testing::PlanBuilder;

enum class Fault { none, throw_in_source, throw_in_transform, throw_in_sink, drain, stop };

class FaultySource final : public Source {
 public:
  FaultySource(std::uint64_t count, std::uint64_t throw_at) : numbers_(count), throw_at_(throw_at) {}
  ChunkType prepare() override { return numbers_.prepare(); }
  std::optional<Chunk> produce(std::uint64_t index) override {
    if (index == throw_at_) throw Error("planned");
    return numbers_.produce(index);
  }
  bool parallel() const override { return true; }

 private:
  NumberSource numbers_;
  std::uint64_t throw_at_;
};

/// Passes, drops or repeats chunks by their number, so that its output does not depend on the schedule.
class Shuffler final : public Transform {
 public:
  Shuffler(bool splits, std::uint64_t throw_at) : splits_(splits), throw_at_(throw_at) {}
  ChunkType prepare(const ChunkType& input) override { return input; }
  std::optional<Chunk> process(Chunk chunk) override {
    const std::uint64_t number = number_in(chunk);
    if (number == throw_at_) throw Error("planned");
    if (number % 5 == 0) return std::nullopt;
    left_ = number % 3;
    if (splits_) kept_ = chunk;
    return chunk;
  }
  bool splits() const override { return splits_; }
  std::optional<Chunk> more() override { return left_-- == 0 ? std::nullopt : std::optional(kept_); }
  bool parallel() const override { return true; }

 private:
  bool splits_;
  std::uint64_t throw_at_;
  std::uint64_t left_ = 0;
  Chunk kept_;
};

class Stress {
 public:
  explicit Stress(std::uint64_t seed) : random_(seed) {}

  void run_one() {
    const auto fault = static_cast<Fault>(below(6));
    const std::uint64_t at = below(300);
    constexpr std::uint64_t kNever = ~std::uint64_t{0};
    PlanBuilder builder;
    builder.threads(static_cast<std::uint32_t>(1 + below(4)));
    std::vector<std::string> open{"source0"};
    const std::uint64_t count = fault == Fault::drain || fault == Fault::stop ? 1U << 30U : 50 + below(400);
    builder.stage("source0", slots(), {},
                  [&] { return std::make_unique<FaultySource>(count, fault == Fault::throw_in_source ? at : kNever); });
    const std::size_t transforms = below(4);
    for (std::size_t i = 0; i < transforms; ++i) {
      const std::string name = "transform" + std::to_string(i);
      std::vector<std::string> from{open[below(open.size())]};
      if (below(4) == 0 && open.size() > 1) from.push_back(open[below(open.size())]);
      const bool splits = below(3) == 0;
      const std::uint64_t throw_at = fault == Fault::throw_in_transform && i == 0 ? at : kNever;
      builder.stage(
          name, slots(), from, [&] { return std::make_unique<Shuffler>(splits, throw_at); }, bounds(), below(4) != 0);
      open.push_back(name);
    }
    // One sink for each stage, so that none is left without a reader.
    std::vector<std::unique_ptr<Collected>> collected;
    RunControl control;
    for (const std::string& from : open) {
      collected.push_back(std::make_unique<Collected>());
      Collected& mine = *collected.back();
      const bool first = collected.size() == 1;
      builder.stage(
          "sink_" + from, slots(), {from},
          [&, first] {
            return std::make_unique<CollectingSink>(mine, [&, first](const Chunk& chunk) {
              if (!first || chunk.sequence() != at) return;
              if (fault == Fault::throw_in_sink) throw Error("planned");
              if (fault == Fault::drain) control.drain();
              if (fault == Fault::stop) control.stop_now();
            });
          },
          bounds());
    }
    RunSettings settings;
    settings.control = &control;
    check(millrace::run(builder.build(), settings), fault);
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  std::uint32_t slots() { return static_cast<std::uint32_t>(1 + below(3)); }
  LinkSpec bounds() {
    // Lossy links into sinks may swallow the chunk that triggers the fault; blocking ones cover every other way.
    return {1 + below(12), Bytes{below(4) == 0 ? 1 + below(64) : 1U << 20U}, WhenFull::block};
  }

  static void check(const RunOutcome& outcome, Fault fault) {
    const RunReport& report = outcome.report;
    ASSERT_TRUE(outcome.stuck.empty());
    if (fault == Fault::none) {
      ASSERT_EQ(report.status, "ok") << report.error;
    } else if (fault == Fault::drain || fault == Fault::stop) {
      ASSERT_EQ(report.status, "interrupted") << report.error;
    } else if (report.status == "failed") {
      ASSERT_NE(report.error.find("planned"), std::string::npos) << report.error;
    }
    ASSERT_TRUE(report.loss.closes()) << report.loss.read << " read, " << report.loss.written << " written, "
                                      << report.loss.dropped_chunks() << " dropped, " << report.loss.failed
                                      << " failed";
    for (const StageReport& stage : report.stages) {
      ASSERT_EQ(stage.time.sum_ns(), report.wall_ns * stage.slots) << stage.name;
      ASSERT_EQ(stage.busy.sum_ns(), stage.time.busy_ns) << stage.name;
    }
  }

  std::mt19937_64 random_;
};

std::size_t thread_count() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST(RunStress, ThousandRandomPipelinesWithFaultsAllEnd) {
  const std::size_t threads_before = thread_count();
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Stress(seed).run_one();
    if (HasFatalFailure()) return;
  }
  EXPECT_LE(thread_count(), threads_before + 5) << "beyond TBB's own workers";
}

}  // namespace
}  // namespace millrace
