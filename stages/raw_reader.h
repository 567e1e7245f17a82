#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/piece_reader.h"
#include "io/raw_format.h"
#include "pipeline/core/stage.h"

namespace millrace {

/// Files without structure, as one-dimensional chunks of `via.block` bytes, file after file. A chunk never spans two
/// files; an empty file gives none.
class RawReader final : public Source {
 public:
  explicit RawReader(const Options& options);

  bool parallel() const override { return true; }
  ChunkType prepare() override;
  bool prepare_like(const Source& first) override;
  std::optional<Chunk> produce(std::uint64_t index) override;
  std::optional<std::uint64_t> total_chunks() const override;
  std::optional<std::uint64_t> total_bytes() const override;

  BufferNeeds buffer_needs() const override { return reader_.buffer_needs(); }
  std::optional<IoStats> io_stats() const override { return reader_.stats(); }
  std::vector<std::string> plan_notes() const override;
  std::vector<std::filesystem::path> input_files() const override { return files_; }

 private:
  std::vector<std::filesystem::path> entries_;
  DType dtype_;
  std::string content_;
  io::PieceReader reader_;
  std::vector<std::filesystem::path> files_;
  std::shared_ptr<const io::RawIndex> index_;
};

}  // namespace millrace
