#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/core/registry.h"
#include "pipeline/core/stage.h"
#include "pipeline/plan.h"
#include "pipeline/report.h"
#include "pipeline/spec.h"

namespace millrace {

/// Keeps the outputs of experimental runs out of the way: every sink with an option `path` writes to a hidden name
/// beside it, on the same device and with the same ending, so that what is measured stays the same; what is published
/// there is removed after each run. Outputs of that name from before are neither read nor touched.
///
/// A sink that names its output by another option cannot be sent elsewhere. It is told that its stream was interrupted,
/// and what it then publishes is removed (Sink::End: such an output never has the final name).
class AsideOutputs {
 public:
  /// Changes `path` of the sinks of `spec`. `tag` tells the hidden names of one process from those of another.
  AsideOutputs(PipelineSpec& spec, const Registry& registry, const std::string& tag);

  /// Wraps the sinks of a plan that was prepared from the spec and that could not be sent elsewhere.
  void protect(Plan& plan) const;
  /// Removes what a run has published; of sinks that could not be sent elsewhere only single files.
  static void remove(const RunReport& report);

 private:
  std::vector<std::string> unnamed_;  // sinks without `path`
};

/// A sink that works as the one it holds but never completes its output under its final name.
class InterruptedSink final : public Sink {
 public:
  explicit InterruptedSink(std::unique_ptr<Sink> inner) : inner_(std::move(inner)) {}

  bool parallel() const override { return inner_->parallel(); }
  std::uint64_t state_bytes() const override { return inner_->state_bytes(); }
  BufferNeeds buffer_needs() const override { return inner_->buffer_needs(); }
  std::optional<IoStats> io_stats() const override { return inner_->io_stats(); }
  Findings findings() const override { return inner_->findings(); }
  std::vector<std::string> plan_notes() const override { return inner_->plan_notes(); }
  std::vector<std::filesystem::path> input_files() const override { return inner_->input_files(); }
  void prepare(const ChunkType& input) override { inner_->prepare(input); }
  void consume(Chunk chunk) override { inner_->consume(std::move(chunk)); }
  void finish(End /*end*/) override { inner_->finish(End::interrupted); }
  void abandon() noexcept override { inner_->abandon(); }
  std::vector<Output> outputs() const override { return inner_->outputs(); }

 private:
  std::unique_ptr<Sink> inner_;
};

}  // namespace millrace
