#pragma once

#include "pipeline/core/stage.h"
#include "stages/file_sink.h"

namespace millrace {

/// Appends the bytes of every chunk to one file, whatever they mean.
class RawWriter final : public FileSink {
 public:
  explicit RawWriter(const Options& options);

  void prepare(const ChunkType& input) override;
  void consume(Chunk chunk) override;
};

}  // namespace millrace
