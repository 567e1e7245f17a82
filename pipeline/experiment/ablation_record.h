#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "pipeline/core/clock.h"
#include "pipeline/core/stage.h"
#include "pipeline/experiment/ablation_recording.h"

namespace millrace {

/// A source that works as the one it holds, and copies what that gives into a recording. The one inside is prepared
/// already. Errors are the inner stage's, and pass.
class RecordingSource final : public Source {
 public:
  RecordingSource(std::unique_ptr<Source> inner, std::shared_ptr<Recording> recording);

  bool parallel() const override { return inner_->parallel(); }
  std::uint64_t state_bytes() const override { return inner_->state_bytes(); }
  BufferNeeds buffer_needs() const override { return inner_->buffer_needs(); }
  std::optional<IoStats> io_stats() const override { return inner_->io_stats(); }
  Findings findings() const override { return inner_->findings(); }
  std::int64_t child_cpu_ns() const override { return inner_->child_cpu_ns(); }
  std::vector<std::string> plan_notes() const override { return inner_->plan_notes(); }
  std::vector<std::filesystem::path> input_files() const override { return inner_->input_files(); }
  ChunkType prepare() override { return inner_->prepare(); }
  std::optional<Chunk> produce(std::uint64_t index) override;
  std::optional<std::uint64_t> total_chunks() const override { return inner_->total_chunks(); }
  std::optional<std::uint64_t> total_bytes() const override { return inner_->total_bytes(); }

 private:
  std::unique_ptr<Source> inner_;
  std::shared_ptr<Recording> recording_;
};

/// The same for one slot of a transform. Service times are wall time without run delay, so that a busy machine is not
/// recorded with them. To know whether a stage works in place, it reads its input before the call: what is timed then
/// finds the input in the caches.
class RecordingTransform final : public Transform {
 public:
  /// `merges`: the input comes by several links, each numbered from 0. The turns are then numbered as they begin.
  RecordingTransform(std::unique_ptr<Transform> inner, std::shared_ptr<Recording> recording, std::uint32_t slot,
                     bool merges, Clock& clock);

  bool parallel() const override { return inner_->parallel(); }
  std::uint64_t state_bytes() const override { return inner_->state_bytes(); }
  BufferNeeds buffer_needs() const override { return inner_->buffer_needs(); }
  std::optional<IoStats> io_stats() const override { return inner_->io_stats(); }
  Findings findings() const override { return inner_->findings(); }
  std::int64_t child_cpu_ns() const override { return inner_->child_cpu_ns(); }
  std::vector<std::string> plan_notes() const override { return inner_->plan_notes(); }
  std::vector<std::filesystem::path> input_files() const override { return inner_->input_files(); }
  ChunkType prepare(const ChunkType& input) override { return inner_->prepare(input); }
  std::optional<Chunk> process(Chunk chunk) override;
  bool waits() const override { return inner_->waits(); }
  bool splits() const override { return inner_->splits(); }
  std::optional<Chunk> more() override;
  std::optional<Chunk> finish() override;

 private:
  void keep(KeptCall call, const std::optional<Chunk>& output);

  std::unique_ptr<Transform> inner_;
  std::shared_ptr<Recording> recording_;
  const std::uint32_t slot_;
  const bool merges_;
  Clock& clock_;
  std::uint64_t number_ = 0;  // of the latest input
  bool recorded_ = false;     // whether it still is
  KeptTurn turn_;             // of the latest one, until it is whole
};

}  // namespace millrace
