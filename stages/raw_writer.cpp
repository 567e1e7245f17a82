#include "stages/raw_writer.h"

namespace millrace {

RawWriter::RawWriter(const Options& options)
    : path_(options.require<std::filesystem::path>("path", "file to write; appears when it is complete")),
      via_(io::write_via(options)) {}

void RawWriter::prepare(const ChunkType& /*input*/) { output_.emplace(path_, via_); }

void RawWriter::consume(Chunk chunk) { output_->append(chunk.buffer()); }

void RawWriter::finish(End end) { output_->finish(end); }

void RawWriter::abandon() noexcept {
  if (output_) output_->discard();
}

std::vector<Sink::Output> RawWriter::outputs() const { return output_ ? output_->outputs() : std::vector<Output>{}; }

std::vector<std::string> RawWriter::plan_notes() const {
  return output_ ? output_->plan_notes() : std::vector<std::string>{};
}

std::optional<IoStats> RawWriter::io_stats() const { return output_ ? std::optional(output_->stats()) : std::nullopt; }

}  // namespace millrace
