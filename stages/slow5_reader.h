#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/piece_reader.h"
#include "pipeline/core/stage.h"
#include "stages/read_selection.h"

namespace millrace {

/// Reads of nanopore SLOW5 (text) and BLOW5 files, one chunk per read: the record as it stands in the file.
/// decode_signal unpacks it and makes samples and attributes of it, so this stage does nothing but I/O. Files are
/// indexed in prepare(); BLOW5 by a look at each record's first bytes, SLOW5 by reading it through.
/// Order: the files as named, in each the order of the file.
///
/// Chunks: u8, content "signal.encoded", origin = the bytes in the file. Attributes, the same object for all reads of a
/// file: "coding" (io/slow5_header.h) and "slow5_header" (the file's header as text).
class Slow5Reader final : public Source {
 public:
  explicit Slow5Reader(const Options& options);

  bool parallel() const override { return true; }
  ChunkType prepare() override;
  bool prepare_like(const Source& first) override;
  std::optional<Chunk> produce(std::uint64_t index) override;
  std::optional<std::uint64_t> total_chunks() const override;
  std::optional<std::uint64_t> total_bytes() const override;

  std::uint64_t state_bytes() const override;
  BufferNeeds buffer_needs() const override { return reader_.buffer_needs(); }
  std::optional<IoStats> io_stats() const override { return reader_.stats(); }
  Findings findings() const override;
  std::vector<std::string> plan_notes() const override;
  std::vector<std::filesystem::path> input_files() const override { return files_; }

 private:
  struct Index;
  void index_files(std::span<const std::filesystem::path> files, Index& index);

  std::vector<std::filesystem::path> entries_;
  ReadSelection selection_;
  io::PieceReader reader_;
  std::vector<std::filesystem::path> files_;
  std::shared_ptr<const Index> index_;
  bool owns_index_ = false;  // the first instance answers for the index
};

}  // namespace millrace
