#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/output_file.h"

struct libdeflate_compressor;

namespace millrace::io {

// BGZF: a gzip file of many members ("blocks") of at most 64 KiB, each of which says in an extra field how long it is,
// with an empty one as end mark. Every gzip reader takes it; readers of sequences can seek in it. Source: SAM/BAM
// format specification v1, section 4.1.

/// Writes a stream of bytes as BGZF to an output file. The end mark is what tells readers that nothing is missing. One
/// thread at a time.
class BgzfWriter {
 public:
  static constexpr int kLargestLevel = 12;

  /// `output` must outlive it. `level`: of deflate, 0 (stored) to 12. Error when there is no memory.
  BgzfWriter(OutputFile& output, int level);
  BgzfWriter(const BgzfWriter&) = delete;
  BgzfWriter& operator=(const BgzfWriter&) = delete;
  ~BgzfWriter();

  /// Adds bytes; full blocks go to the file. Error as OutputFile::append.
  void append(std::span<const std::byte> bytes);
  void append(std::string_view text) { append(std::as_bytes(std::span(text.data(), text.size()))); }
  /// Writes what is left and the end mark. Once.
  void finish();

  /// Memory of one writer.
  static std::uint64_t memory_bytes();

 private:
  struct Free {
    void operator()(libdeflate_compressor* compressor) const;
  };

  void write_block();

  OutputFile& output_;
  std::unique_ptr<libdeflate_compressor, Free> compressor_;
  std::vector<std::byte> contents_;  // of the block under way
  std::vector<std::byte> block_;
};

/// `bytes` as blocks without compression and without an end mark. How long they are depends on the length of `bytes`
/// alone, so that they can be replaced in a file by those of other bytes.
std::string bgzf_stored(std::string_view bytes);

}  // namespace millrace::io
