#include "stages/raw_reader.h"

#include <algorithm>

#include "io/input_files.h"
#include "stages/dtype_option.h"

namespace millrace {

RawReader::RawReader(const Options& options)
    : entries_(options.require<std::vector<std::filesystem::path>>("path", "file, directory, glob pattern, or a list")),
      dtype_(dtype_option(options, "type of the elements in the files")),
      content_(options.get<std::string>("content", "bytes", "what the elements mean to the next stage, e.g. signal")),
      reader_(io::read_via(options)) {
  if (reader_.via().block_bytes % size_of(dtype_) != 0) {
    throw options.table("via").error_at("block", "'block' must be a whole number of " + std::string(name_of(dtype_)) +
                                                     " (" + std::to_string(size_of(dtype_)) + " bytes each)");
  }
}

ChunkType RawReader::prepare() {
  files_ = io::find_input_files(entries_);
  const auto index = std::make_shared<const io::RawIndex>(files_, reader_.via().block_bytes, dtype_);
  index_ = index;
  reader_.prepare(files_, [index](std::uint64_t number) -> std::optional<io::PieceReader::Piece> {
    if (number >= index->pieces()) return std::nullopt;
    const io::RawIndex::Piece piece = index->piece(number);
    return io::PieceReader::Piece{piece.file.get(), piece.extent};
  });
  return {dtype_, content_, std::max<std::uint64_t>(index_->longest(), size_of(dtype_))};
}

bool RawReader::prepare_like(const Source& first) {
  const auto* const prepared = dynamic_cast<const RawReader*>(&first);
  if (prepared == nullptr || prepared->index_ == nullptr) return false;
  files_ = prepared->files_;
  index_ = prepared->index_;
  reader_.prepare_like(prepared->reader_);
  return true;
}

std::optional<Chunk> RawReader::produce(std::uint64_t index) {
  if (index >= index_->pieces()) return std::nullopt;
  const io::RawIndex::Piece piece = index_->piece(index);
  Chunk chunk(reader_.read(index), dtype_);
  chunk.set_origin({piece.file, piece.extent.offset, piece.extent.length});
  return chunk;
}

std::optional<std::uint64_t> RawReader::total_chunks() const { return index_->pieces(); }

std::optional<std::uint64_t> RawReader::total_bytes() const { return index_->bytes(); }

std::vector<std::string> RawReader::plan_notes() const {
  std::vector<std::string> notes{std::to_string(index_->pieces()) + " blocks of up to " +
                                 format_bytes(reader_.via().block_bytes) + " in " + std::to_string(index_->files()) +
                                 (index_->files() == 1 ? " file, " : " files, ") + format_bytes(index_->bytes())};
  if (!reader_.via().note.empty()) notes.push_back(reader_.via().note);
  notes.insert(notes.end(), reader_.via().warnings.begin(), reader_.via().warnings.end());
  return notes;
}

}  // namespace millrace
