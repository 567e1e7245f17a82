#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/piece_reader.h"
#include "pipeline/core/stage.h"
#include "stages/read_index.h"
#include "stages/read_selection.h"

namespace millrace {

/// Reads of nanopore POD5 files, one chunk per read, still encoded: decode_signal makes samples of them. Files are
/// indexed once, in prepare(), by their tables; after that the signal comes through the transport of `via` alone.
/// Order: the files as named, in each the order of the signal in the file.
///
/// Chunks: u8, content "signal.encoded", origin = the bytes in the file. Attributes: those of io::Pod5Read, "run_id"
/// and "run_info" (io/run_info.h) of its run, and, when a read is stored in several rows, "pieces" (text,
/// "offset:length:0:samples" per row in order of samples, separated by blanks; offset and length in bytes of the
/// chunk).
class Pod5Reader final : public Source {
 public:
  explicit Pod5Reader(const Options& options);

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
  std::vector<std::filesystem::path> entries_;
  ReadSelection selection_;
  io::PieceReader reader_;
  std::vector<std::filesystem::path> files_;  // without those that were left out
  std::shared_ptr<const ReadIndex> index_;
  bool owns_index_ = false;  // the first instance answers for the index
};

}  // namespace millrace
