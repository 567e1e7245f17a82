#include "stages/fast5_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/fast5_format.h"
#include "io/input_files.h"
#include "io/signal_coding.h"
#include "stages/index_files.h"
#include "stages/piece_layout.h"

namespace millrace {
namespace {

/// Bytes of the read's samples, or of its last piece when that is longer: it is decoded whole.
std::uint64_t decoded_bytes(const io::Fast5Read& read) {
  std::uint64_t samples = read.samples;
  if (!read.pieces.empty()) {
    const std::uint64_t possible = io::max_samples(read.coding, read.pieces.back().extent.length);
    samples = std::max(samples, std::min(read.piece_samples, possible));
  }
  return samples * sizeof(std::int16_t);
}

ReadIndex::Entry entry_of(io::Fast5Read read) {
  ReadIndex::Entry entry;
  entry.decoded_bytes = decoded_bytes(read);
  if (!read.pieces.empty()) {
    std::vector<io::Extent> extents;
    for (const auto& piece : read.pieces) extents.push_back(piece.extent);
    entry.layout = lay_out(extents);
    if (read.pieces.size() > 1 || read.pieces.front().filter_mask != 0) {
      std::string pieces;
      for (std::size_t i = 0; i < extents.size(); ++i) {
        pieces += fmt::format("{}{}:{}:{}", i == 0 ? "" : " ", entry.layout.offsets[i], extents[i].length,
                              read.pieces[i].filter_mask);
      }
      read.attributes.set("pieces", std::move(pieces));
    }
    if (read.piece_samples != read.samples) {
      read.attributes.set("piece_samples", static_cast<std::int64_t>(read.piece_samples));
    }
  }
  entry.compact = std::move(read.compact);
  entry.attributes = std::move(read.attributes);
  return entry;
}

}  // namespace

Fast5Reader::Fast5Reader(const Options& options)
    : entries_(options.require<std::vector<std::filesystem::path>>(
          "path", "file, directory (its *.fast5 files), glob pattern, or a list")),
      selection_(options),
      reader_(io::read_via(options)) {}

ChunkType Fast5Reader::prepare() {
  selection_.load();
  auto index = std::make_shared<ReadIndex>();
  const auto index_alone = [](const auto& file, const auto& take) {
    for (auto& read : io::index_fast5_isolated(file)) take(std::move(read));
  };
  files_ = IndexFiller(selection_, *index)
               .fill(
                   io::find_input_files(entries_, ".fast5"), [](auto files) { return io::index_fast5_isolated(files); },
                   index_alone, entry_of);
  index_ = index;
  owns_index_ = true;
  // Decoding makes new memory of every read: the bytes may be shared.
  reader_.prepare(
      files_, [index](std::uint64_t number) { return index->piece(number); }, io::PieceReader::Grouping::neighbours);
  // At least one sample: a bound of 0 would mean that it is not known.
  return {DType::u8, "signal.encoded", std::max<std::uint64_t>(index_->longest(), 1),
          std::max<std::uint64_t>(index_->longest_decoded(), sizeof(std::int16_t))};
}

bool Fast5Reader::prepare_like(const Source& first) {
  const auto* const prepared = dynamic_cast<const Fast5Reader*>(&first);
  if (prepared == nullptr || prepared->index_ == nullptr) return false;
  files_ = prepared->files_;
  index_ = prepared->index_;
  reader_.prepare_like(prepared->reader_);
  return true;
}

std::optional<Chunk> Fast5Reader::produce(std::uint64_t index) {
  if (index >= index_->size()) return std::nullopt;
  return index_->fetch(index, reader_);
}

std::optional<std::uint64_t> Fast5Reader::total_chunks() const { return index_->size(); }

std::optional<std::uint64_t> Fast5Reader::total_bytes() const { return index_->bytes(); }

std::uint64_t Fast5Reader::state_bytes() const {
  return owns_index_ ? index_->memory_bytes() + selection_.memory_bytes() : 0;
}

Findings Fast5Reader::findings() const { return owns_index_ ? selection_.findings() : Findings{}; }

std::vector<std::string> Fast5Reader::plan_notes() const {
  const auto reads = index_->size();
  std::vector<std::string> notes{
      fmt::format("{} {} in {} {}, {} of signal, codings: {}", reads, reads == 1 ? "read" : "reads", files_.size(),
                  files_.size() == 1 ? "file" : "files", format_bytes(index_->bytes()), index_->codings())};
  const auto left_out = selection_.plan_notes();
  notes.insert(notes.end(), left_out.begin(), left_out.end());
  if (index_->compact() != 0) {
    notes.push_back(fmt::format("{} reads are stored inside the metadata and came with the index", index_->compact()));
  }
  if (!reader_.via().note.empty()) notes.push_back(reader_.via().note);
  notes.insert(notes.end(), reader_.via().warnings.begin(), reader_.via().warnings.end());
  if (index_->scattered() != 0) {
    notes.push_back(
        fmt::format("{} reads lie in pieces far apart: one read per piece, copied together", index_->scattered()));
  }
  return notes;
}

}  // namespace millrace
