#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/open_file.h"
#include "io/output_file.h"
#include "pipeline/core/stage.h"

namespace millrace {

/// Appends the bytes of every chunk to one file, whatever they mean.
class RawWriter final : public Sink {
 public:
  explicit RawWriter(const Options& options);

  void prepare(const ChunkType& input) override;
  void consume(Chunk chunk) override;
  void finish(End end) override;
  void abandon() noexcept override;
  std::vector<Output> outputs() const override;

  std::uint64_t state_bytes() const override { return output_ ? output_->state_bytes() : 0; }
  BufferNeeds buffer_needs() const override { return output_ ? output_->buffer_needs() : BufferNeeds{}; }
  std::optional<IoStats> io_stats() const override;
  std::vector<std::string> plan_notes() const override;

 private:
  std::filesystem::path path_;
  io::WriteVia via_;
  std::optional<io::OutputFile> output_;  // from prepare() on
};

}  // namespace millrace
