#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/bgzf.h"
#include "pipeline/core/stage.h"
#include "stages/call_filter.h"
#include "stages/file_sink.h"
#include "stages/read_tags.h"

namespace millrace {

/// `fastq_writer`: one FASTQ record per called read, in the order of the reads. In: "basecalls" (stages/basecalls.h)
/// with the attribute read_id.
///
///     @<read_id><tab>RG:Z:...<tab>qs:f:...       the tags of stages/read_tags.h, unless `tags` is false
///     ACGT...
///     +
///     quality + 33 as a character per base
///
/// The tags stand as SAM fields after the name: ONT's basecaller does so, `samtools import -T '*'` takes them over, and
/// aligners hand them on (minimap2 -y). Reads refused by stages/call_filter.h have no record.
///
/// `compression`: bgzf (io/bgzf.h), which every gzip reader takes, or none; auto = bgzf for a name that ends in .gz,
/// .bgz or .bgzf. The sink's own thread compresses. One core made 30 million bases a second at level 4 (15 at level 6,
/// 70 at level 1; random bases, 8000 a read), far more than a caller on many cores gives.
///
/// Errors: what basecalls_of() and read_name_of() refuse.
class FastqWriter final : public FileSink {
 public:
  explicit FastqWriter(const Options& options);

  void prepare(const ChunkType& input) override;
  void consume(Chunk chunk) override;
  std::uint64_t state_bytes() const override;
  Findings findings() const override { return filter_.findings(); }

 private:
  void complete() override;

  CallFilter filter_;
  bool with_tags_;
  bool compressed_;
  int level_;
  std::unique_ptr<io::BgzfWriter> bgzf_;  // null: plain text
  ReadTags tags_;
  std::string record_;
  std::uint64_t max_bytes_ = 0;
};

}  // namespace millrace
