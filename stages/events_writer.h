#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "pipeline/core/stage.h"
#include "stages/file_sink.h"

namespace millrace {

/// `events_writer`: writes events as text, one row per event, reads in the order of their chunks.
///
/// In: "events", f32, shape [n, 3] of one read per chunk: length in samples, mean, standard deviation. File: tab
/// separated columns under a header line,
///
///     read_id  event  start  length  mean  stdv
///
/// `event` counts from 0 in each read; `start` is the sum of the lengths before it. mean and stdv have the fewest
/// digits that give the same f32 when they are read back. read_id is the chunk's attribute of that name, "chunk-<its
/// sequence number>" when it has none. A read without events has no row.
///
/// Errors: a read_id with a tab or a line break; a length that is not a whole number of samples.
class EventsWriter final : public FileSink {
 public:
  explicit EventsWriter(const Options& options);

  void prepare(const ChunkType& input) override;
  void consume(Chunk chunk) override;

  std::uint64_t state_bytes() const override;

 private:
  void complete() override;
  void write_rows(std::string_view read_id, std::span<const float> events);
  void flush();

  std::vector<char> text_;  // rows not handed to the file yet
  std::size_t text_size_ = 0;
};

}  // namespace millrace
