#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "io/alignment_encoder.h"
#include "io/bgzf.h"
#include "pipeline/core/stage.h"
#include "stages/call_filter.h"
#include "stages/file_sink.h"
#include "stages/read_tags.h"
#include "stages/sam_header.h"

namespace millrace {

/// `sam_writer`: called reads as unaligned records of one SAM, BAM or CRAM file, in the order of the reads. In:
/// "basecalls" (stages/basecalls.h) with the attribute read_id. Records are unmapped (flag 4), with the tags of
/// stages/read_tags.h; reads refused by stages/call_filter.h have none.
///
/// `format`: sam, bam or cram; auto = by the name of the file (.sam, .cram, else bam).
///
/// The header stands before the first record and has to name the run of every read, but runs come with their reads. So
/// the first read's run is written, and with `read_groups` above 1 there is room for as many, which the end of the
/// stream fills in: the header is rewritten in place, and the room that is left is a comment line. A read of a run that
/// finds no room is an Error. In CRAM every block depends on the header, so there it is always one run.
///
/// Errors: what basecalls_of() and read_name_of() refuse; what htslib does.
class SamWriter final : public FileSink {
 public:
  explicit SamWriter(const Options& options);

  void prepare(const ChunkType& input) override;
  void consume(Chunk chunk) override;
  std::uint64_t state_bytes() const override;
  Findings findings() const override { return filter_.findings(); }

 private:
  void complete() override;
  void begin(const Attributes& attributes);
  std::string start_of_file() const;
  void settle_group(const Attributes& attributes);
  void append(std::span<const std::byte> records);

  io::AlignmentFormat format_;
  CallFilter filter_;
  int level_;
  std::uint32_t room_for_groups_;
  SamHeader header_;
  std::size_t header_bytes_ = 0;  // of its text, filled up
  std::size_t first_groups_ = 0;  // that the header was first written with
  std::unique_ptr<io::AlignmentEncoder> encoder_;
  std::unique_ptr<io::BgzfWriter> bgzf_;  // of BAM
  ReadTags tags_;
  std::uint64_t max_bytes_ = 0;
};

}  // namespace millrace
