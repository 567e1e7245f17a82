#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "io/slow5_encoder.h"
#include "pipeline/core/stage.h"
#include "stages/file_sink.h"

namespace millrace {

/// Reads -> one BLOW5 (or SLOW5) file, version 1.0.0 or 0.2.0, records in the order of the reads. In: i16 "signal" with
/// the attributes that readers of reads give: read_id, digitisation, offset, range, sampling_rate, and any others.
///
/// The header is written before the first read, so all that the file can hold is decided there: what the first read has
/// beside the usual fields becomes the further fields (io::slow5_fields_for), and its run_id and run_info become the
/// first read group. With `read_groups` above 1 there is room for reads of as many runs; a read of a run that finds no
/// room is an Error. What a later read has and the file has no field for is left out and counted (findings).
class Slow5Writer final : public FileSink {
 public:
  explicit Slow5Writer(const Options& options);

  void prepare(const ChunkType& input) override;
  void consume(Chunk chunk) override;
  std::uint64_t state_bytes() const override;
  Findings findings() const override;

 private:
  void complete() override;
  void begin(const Attributes& attributes);
  std::string header_bytes() const;
  std::uint32_t group_of(const Attributes& attributes);
  void add_group(const Attributes& attributes);
  void note_lost(const Attributes& attributes);

  io::Slow5Coding coding_;
  int level_;
  std::uint32_t room_for_groups_;
  io::Slow5Header header_;
  std::optional<io::Slow5RecordEncoder> encoder_;
  std::uint64_t header_room_ = 0;                             // bytes of the file before the first record
  std::map<std::string, std::uint32_t, std::less<>> groups_;  // by run id
  std::set<std::string, std::less<>> known_;                  // attributes that fields hold
  std::map<std::string, std::uint64_t> lost_;                 // reads by attribute
  std::uint64_t max_bytes_ = 0;
};

}  // namespace millrace
