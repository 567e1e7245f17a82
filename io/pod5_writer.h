#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "io/arrow_ipc_writer.h"
#include "io/pod5_footer.h"
#include "io/pod5_run_table.h"
#include "io/pod5_signal_table.h"
#include "io/pod5_vbz.h"
#include "pipeline/core/attributes.h"

namespace millrace::io {

/// Makes a POD5 file (tables of version 4, as ONT's software writes them) front to back: the signal goes out as it
/// comes, what is known of the reads is kept until the end. One thread. Same reads and settings, same bytes: the
/// identifier of the file, which is random elsewhere, is made of the first read's id.
class Pod5Writer {
 public:
  struct Settings {
    bool compress = true;  ///< VBZ; else the samples as they are
    int zstd_level = 1;
    /// What ONT's software writes: rows of up to 102400 samples, batches of 100 rows and of 1000 reads.
    std::uint32_t row_samples = 102'400;
    std::uint32_t batch_rows = 100;
    std::uint32_t batch_reads = 1000;
  };
  using Append = ArrowTableWriter::Append;

  /// `append` takes the bytes of the file in order; it may throw.
  Pod5Writer(const Settings& settings, Append append);
  Pod5Writer(const Pod5Writer&) = delete;
  Pod5Writer& operator=(const Pod5Writer&) = delete;
  ~Pod5Writer();

  /// One read. Attributes by the names of io::Pod5Read and "run_id", "run_info"; those that are missing are written as
  /// unknown (0, NaN, "not_set", end reason "unknown"). Error: read_id is no UUID or came before, a number does not fit
  /// its column.
  void add(const Attributes& attributes, std::span<const std::int16_t> samples);
  /// Writes the rest. Once.
  void finish();

  /// Bytes of encoded samples so far.
  std::uint64_t encoded_bytes() const { return encoded_bytes_; }

  /// Most memory beside what is known of the reads, for reads of up to `max_samples` samples.
  static std::uint64_t state_bytes(const Settings& settings, std::uint64_t max_samples);

 private:
  struct Reads;

  void begin(const ReadUuid& first);
  void add_row(const ReadUuid& id, std::span<const std::int16_t> samples);
  void write_rows();
  void close_table();
  ArrowTableWriter::Metadata metadata() const;
  std::uint64_t write_reads();
  void write_read_batch(ArrowTableWriter& table, std::size_t first, std::size_t count);
  void append(std::span<const std::byte> bytes);

  Settings settings_;
  Append append_;
  std::uint64_t size_ = 0;
  Pod5Mark mark_{};
  Pod5Footer footer_;
  std::optional<ArrowTableWriter> signal_;
  Pod5VbzEncoder encoder_;

  // Rows that wait for their batch to be full.
  std::vector<ReadUuid> row_ids_;
  std::vector<std::int64_t> row_ends_;  // in row_bytes_, or in samples when they are not compressed; 0 in front
  std::vector<std::uint32_t> row_samples_;
  std::vector<std::byte> row_bytes_;
  ArrowBody body_;
  std::uint64_t rows_ = 0;  // so far
  std::uint64_t encoded_bytes_ = 0;

  std::unique_ptr<Reads> reads_;
  std::set<ReadUuid> ids_;
  std::vector<Pod5RunRow> runs_;
};

}  // namespace millrace::io
