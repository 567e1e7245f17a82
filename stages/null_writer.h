#pragma once

#include "pipeline/core/stage.h"

namespace millrace {

/// Takes every chunk and keeps nothing; the engine counts what came.
class NullWriter final : public Sink {
 public:
  explicit NullWriter(const Options& /*options*/) {}

  bool parallel() const override { return true; }
  void prepare(const ChunkType& /*input*/) override {}
  void consume(Chunk /*chunk*/) override {}
};

}  // namespace millrace
