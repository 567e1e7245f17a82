#include "stages/pod5_writer.h"

namespace millrace {

Pod5Writer::Pod5Writer(const Options& options) : FileSink(options, "POD5 file to write; appears when it is complete") {
  const auto compression = options.get<std::string>("compression", "vbz", "vbz, or none: the samples as they are");
  if (compression != "vbz" && compression != "none") {
    throw options.error_at("compression", "'compression' must be vbz or none, not '" + compression + "'");
  }
  settings_.compress = compression == "vbz";
  settings_.zstd_level = options.get<int>("level", 1, "of zstd inside VBZ, 1 to 22");
  if (settings_.zstd_level < 1 || settings_.zstd_level > 22) {
    throw options.error_at("level", "'level' must be 1 to 22");
  }
}

void Pod5Writer::prepare(const ChunkType& input) {
  input.require(DType::i16).require("signal");
  max_samples_ = input.max_bytes / sizeof(std::int16_t);
  open();
  writer_.emplace(settings_, [this](std::span<const std::byte> bytes) { output().append(bytes); });
}

void Pod5Writer::consume(Chunk chunk) { writer_->add(chunk.attributes(), chunk.view<std::int16_t>()); }

std::uint64_t Pod5Writer::state_bytes() const {
  return FileSink::state_bytes() + io::Pod5Writer::state_bytes(settings_, max_samples_);
}

void Pod5Writer::complete() { writer_->finish(); }

}  // namespace millrace
