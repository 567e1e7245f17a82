#include "stages/fast5_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <utility>

#include "io/fast5_format.h"
#include "io/input_files.h"
#include "io/signal_coding.h"
#include "stages/attributes_memory.h"
#include "stages/piece_layout.h"

namespace millrace {
namespace {

/// How a read is fetched.
struct Fetch {
  std::shared_ptr<const std::filesystem::path> file;
  std::shared_ptr<const Attributes> attributes;
  io::Extent span;                    // what is read in one go; for pieces far apart: from the first to the last byte
  std::uint64_t bytes = 0;            // of the chunk
  std::vector<io::Extent> scattered;  // pieces far apart, to be read one by one; else empty
  std::vector<std::byte> compact;     // the chunk itself, when it came with the index
};

Fetch fetch_of(io::Fast5Read read, const std::shared_ptr<const std::filesystem::path>& file) {
  Fetch fetch;
  fetch.file = file;
  if (!read.pieces.empty()) {
    std::vector<io::Extent> extents;
    for (const auto& piece : read.pieces) extents.push_back(piece.extent);
    PieceLayout layout = lay_out(extents);
    fetch.span = layout.span;
    fetch.bytes = layout.bytes;
    fetch.scattered = std::move(layout.scattered);
    if (read.pieces.size() > 1 || read.pieces.front().filter_mask != 0) {
      std::string pieces;
      for (std::size_t i = 0; i < extents.size(); ++i) {
        pieces += fmt::format("{}{}:{}:{}", i == 0 ? "" : " ", layout.offsets[i], read.pieces[i].extent.length,
                              read.pieces[i].filter_mask);
      }
      read.attributes.set("pieces", std::move(pieces));
    }
    if (read.piece_samples != read.samples) {
      read.attributes.set("piece_samples", static_cast<std::int64_t>(read.piece_samples));
    }
  }
  fetch.compact = std::move(read.compact);
  fetch.bytes += fetch.compact.size();
  fetch.attributes = std::make_shared<const Attributes>(std::move(read.attributes));
  return fetch;
}

/// Bytes of the read's samples, or of its last piece when that is longer: it is decoded whole.
std::uint64_t decoded_bytes(const io::Fast5Read& read) {
  std::uint64_t samples = read.samples;
  if (!read.pieces.empty()) {
    const std::uint64_t possible = io::max_samples(read.coding, read.pieces.back().extent.length);
    samples = std::max(samples, std::min(read.piece_samples, possible));
  }
  return samples * sizeof(std::int16_t);
}

std::uint64_t memory_of(const Fetch& fetch) {
  return sizeof(Fetch) + sizeof(Attributes) + fetch.compact.capacity() +
         fetch.scattered.capacity() * sizeof(io::Extent) + memory_of(*fetch.attributes);
}

}  // namespace

struct Fast5Reader::Index {
  std::vector<Fetch> fetches;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t longest = 0;
  std::uint64_t longest_decoded = 0;
  std::uint64_t compact = 0;
  std::uint64_t scattered = 0;
  std::map<std::string, std::uint64_t> codings;

  void add(io::Fast5Read read, const std::shared_ptr<const std::filesystem::path>& file) {
    longest_decoded = std::max(longest_decoded, decoded_bytes(read));
    ++codings[std::string(*read.attributes.text("coding"))];
    fetches.push_back(fetch_of(std::move(read), file));
    const Fetch& fetch = fetches.back();
    bytes += fetch.bytes;
    memory_bytes += memory_of(fetch);
    longest = std::max(longest, fetch.bytes);
    compact += fetch.compact.empty() ? 0 : 1;
    scattered += fetch.scattered.empty() ? 0 : 1;
  }
};

Fast5Reader::Fast5Reader(const Options& options)
    : entries_(options.require<std::vector<std::filesystem::path>>(
          "path", "file, directory (its *.fast5 files), glob pattern, or a list")),
      reader_(io::read_via(options)) {}

ChunkType Fast5Reader::prepare() {
  files_ = io::find_input_files(entries_, ".fast5");
  auto index = std::make_shared<Index>();
  index->files = files_.size();
  for (const auto& path : files_) {
    const auto file = std::make_shared<const std::filesystem::path>(path);
    for (auto& read : io::index_fast5_isolated(path)) index->add(std::move(read), file);
  }
  index->memory_bytes += index->fetches.capacity() * sizeof(Fetch) - index->fetches.size() * sizeof(Fetch);
  index_ = index;
  owns_index_ = true;
  reader_.prepare(
      files_,
      [index](std::uint64_t number) -> std::optional<io::PieceReader::Piece> {
        if (number >= index->fetches.size()) return std::nullopt;
        const Fetch& fetch = index->fetches[number];
        if (!fetch.compact.empty() || !fetch.scattered.empty()) return io::PieceReader::Piece{};
        return io::PieceReader::Piece{fetch.file.get(), fetch.span};
      },
      io::PieceReader::Grouping::neighbours);  // decoding makes new memory of every read: the bytes may be shared
  // At least one sample: a bound of 0 would mean that it is not known.
  return {DType::u8, "signal.encoded", std::max<std::uint64_t>(index_->longest, 1),
          std::max<std::uint64_t>(index_->longest_decoded, sizeof(std::int16_t))};
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
  if (index >= index_->fetches.size()) return std::nullopt;
  const Fetch& fetch = index_->fetches[index];
  Buffer bytes;
  if (!fetch.compact.empty()) {
    bytes = loan(fetch.compact.size());
    std::memcpy(bytes.writable().data(), fetch.compact.data(), fetch.compact.size());
  } else if (!fetch.scattered.empty()) {
    bytes = gather(reader_, *fetch.file, fetch.scattered, fetch.bytes);
  } else {
    bytes = reader_.read(index);
  }
  Chunk chunk(std::move(bytes), DType::u8);
  chunk.set_origin({fetch.file, fetch.span.offset, fetch.span.length});
  chunk.set_attributes(fetch.attributes);
  return chunk;
}

std::optional<std::uint64_t> Fast5Reader::total_chunks() const { return index_->fetches.size(); }

std::optional<std::uint64_t> Fast5Reader::total_bytes() const { return index_->bytes; }

std::uint64_t Fast5Reader::state_bytes() const { return owns_index_ ? index_->memory_bytes : 0; }

std::vector<std::string> Fast5Reader::plan_notes() const {
  std::string codings;
  for (const auto& [coding, reads] : index_->codings) codings += (codings.empty() ? "" : ", ") + coding;
  const auto reads = index_->fetches.size();
  std::vector<std::string> notes{fmt::format(
      "{} {} in {} {}, {} of signal, codings: {}", reads, reads == 1 ? "read" : "reads", index_->files,
      index_->files == 1 ? "file" : "files", format_bytes(index_->bytes), codings.empty() ? "none yet" : codings)};
  if (index_->compact != 0) {
    notes.push_back(fmt::format("{} reads are stored inside the metadata and came with the index", index_->compact));
  }
  if (!reader_.via().note.empty()) notes.push_back(reader_.via().note);
  notes.insert(notes.end(), reader_.via().warnings.begin(), reader_.via().warnings.end());
  if (index_->scattered != 0) {
    notes.push_back(
        fmt::format("{} reads lie in pieces far apart: one read per piece, copied together", index_->scattered));
  }
  return notes;
}

}  // namespace millrace
