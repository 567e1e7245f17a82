#include "stages/raw_writer.h"

namespace millrace {

RawWriter::RawWriter(const Options& options) : FileSink(options, "file to write; appears when it is complete") {}

void RawWriter::prepare(const ChunkType& /*input*/) { open(); }

void RawWriter::consume(Chunk chunk) { output().append(chunk.buffer()); }

}  // namespace millrace
