#include "stages/pod5_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "io/input_files.h"
#include "io/pod5_format.h"
#include "io/signal_coding.h"
#include "stages/attributes_memory.h"
#include "stages/piece_layout.h"

namespace millrace {
namespace {

/// How a read is fetched.
struct Fetch {
  std::shared_ptr<const std::filesystem::path> file;
  Attributes attributes;  // of the read alone
  std::shared_ptr<const io::Pod5Run> run;
  io::Extent span;                    // what is read in one go; for rows far apart: from the first to the last byte
  std::uint64_t bytes = 0;            // of the chunk
  std::vector<io::Extent> scattered;  // rows far apart, to be read one by one; else empty
};

Fetch fetch_of(io::Pod5Read read, std::shared_ptr<const std::filesystem::path> file) {
  Fetch fetch;
  fetch.file = std::move(file);
  fetch.run = std::move(read.run);
  if (!read.pieces.empty()) {
    std::vector<io::Extent> extents;
    for (const auto& piece : read.pieces) extents.push_back(piece.extent);
    PieceLayout layout = lay_out(extents);
    fetch.span = layout.span;
    fetch.bytes = layout.bytes;
    fetch.scattered = std::move(layout.scattered);
    if (extents.size() > 1) {
      std::string pieces;
      for (std::size_t i = 0; i < extents.size(); ++i) {
        pieces += fmt::format("{}{}:{}:0:{}", i == 0 ? "" : " ", layout.offsets[i], extents[i].length,
                              read.pieces[i].samples);
      }
      read.attributes.set("pieces", std::move(pieces));
    }
  }
  fetch.attributes = std::move(read.attributes);
  return fetch;
}

std::uint64_t memory_of(const Fetch& fetch) {
  return sizeof(Fetch) + fetch.scattered.capacity() * sizeof(io::Extent) + memory_of(fetch.attributes);
}

}  // namespace

struct Pod5Reader::Index {
  std::vector<Fetch> fetches;
  std::uint64_t bytes = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t longest = 0;
  std::uint64_t longest_samples = 0;
  std::uint64_t scattered = 0;
  std::map<std::string, std::uint64_t> codings;

  void add(io::Pod5Read read, const std::shared_ptr<const std::filesystem::path>& file) {
    longest_samples = std::max(longest_samples, read.samples);
    ++codings[io::text_of(read.coding)];
    fetches.push_back(fetch_of(std::move(read), file));
    const Fetch& fetch = fetches.back();
    bytes += fetch.bytes;
    memory_bytes += memory_of(fetch);
    longest = std::max(longest, fetch.bytes);
    scattered += fetch.scattered.empty() ? 0 : 1;
  }

  /// False when there is no room for more reads.
  bool add_file(const std::filesystem::path& path, std::vector<io::Pod5Read> reads, ReadSelection& selection) {
    const auto file = std::make_shared<const std::filesystem::path>(path);
    for (auto& read : reads) {
      const std::string_view id = *read.attributes.text("read_id");
      if (!selection.wants(id)) continue;
      if (!selection.take(id)) return false;
      add(std::move(read), file);
    }
    return selection.room() != 0;
  }
};

Pod5Reader::Pod5Reader(const Options& options)
    : entries_(options.require<std::vector<std::filesystem::path>>(
          "path", "file, directory (its *.pod5 files), glob pattern, or a list")),
      selection_(options),
      reader_(io::read_via(options)) {}

ChunkType Pod5Reader::prepare() {
  selection_.load();
  auto index = std::make_shared<Index>();
  for (const auto& path : io::find_input_files(entries_, ".pod5")) {
    std::vector<io::Pod5Read> reads;
    try {
      reads = io::index_pod5(path);
    } catch (const Error& error) {
      selection_.skip_file(error);
      continue;
    }
    files_.push_back(path);
    if (!index->add_file(path, std::move(reads), selection_)) break;
  }
  index->memory_bytes += (index->fetches.capacity() - index->fetches.size()) * sizeof(Fetch);
  index_ = index;
  owns_index_ = true;
  reader_.prepare(
      files_,
      [index](std::uint64_t number) -> std::optional<io::PieceReader::Piece> {
        if (number >= index->fetches.size()) return std::nullopt;
        const Fetch& fetch = index->fetches[number];
        if (!fetch.scattered.empty()) return io::PieceReader::Piece{};
        return io::PieceReader::Piece{fetch.file.get(), fetch.span};
      },
      io::PieceReader::Grouping::neighbours);  // decoding makes new memory of every read: the bytes may be shared
  // At least one sample: a bound of 0 would mean that it is not known.
  return {DType::u8, "signal.encoded", std::max<std::uint64_t>(index_->longest, 1),
          std::max<std::uint64_t>(index_->longest_samples, 1) * sizeof(std::int16_t)};
}

bool Pod5Reader::prepare_like(const Source& first) {
  const auto* const prepared = dynamic_cast<const Pod5Reader*>(&first);
  if (prepared == nullptr || prepared->index_ == nullptr) return false;
  files_ = prepared->files_;
  index_ = prepared->index_;
  reader_.prepare_like(prepared->reader_);
  return true;
}

std::optional<Chunk> Pod5Reader::produce(std::uint64_t index) {
  if (index >= index_->fetches.size()) return std::nullopt;
  const Fetch& fetch = index_->fetches[index];
  Chunk chunk(
      fetch.scattered.empty() ? reader_.read(index) : gather(reader_, *fetch.file, fetch.scattered, fetch.bytes),
      DType::u8);
  chunk.set_origin({fetch.file, fetch.span.offset, fetch.span.length});
  // Put together here: what is said of a run is longer than what is said of a read, and one index has many reads.
  auto attributes = std::make_shared<Attributes>(fetch.attributes);
  if (fetch.run) {
    attributes->set("run_id", fetch.run->id);
    attributes->set("run_info", fetch.run->info);
  }
  chunk.set_attributes(std::move(attributes));
  return chunk;
}

std::optional<std::uint64_t> Pod5Reader::total_chunks() const { return index_->fetches.size(); }

std::optional<std::uint64_t> Pod5Reader::total_bytes() const { return index_->bytes; }

std::uint64_t Pod5Reader::state_bytes() const {
  return owns_index_ ? index_->memory_bytes + selection_.memory_bytes() : 0;
}

Findings Pod5Reader::findings() const { return owns_index_ ? selection_.findings() : Findings{}; }

std::vector<std::string> Pod5Reader::plan_notes() const {
  std::string codings;
  for (const auto& [coding, reads] : index_->codings) codings += (codings.empty() ? "" : ", ") + coding;
  const auto reads = index_->fetches.size();
  std::vector<std::string> notes{fmt::format(
      "{} {} in {} {}, {} of signal, codings: {}", reads, reads == 1 ? "read" : "reads", files_.size(),
      files_.size() == 1 ? "file" : "files", format_bytes(index_->bytes), codings.empty() ? "none yet" : codings)};
  const auto left_out = selection_.plan_notes();
  notes.insert(notes.end(), left_out.begin(), left_out.end());
  if (!reader_.via().note.empty()) notes.push_back(reader_.via().note);
  notes.insert(notes.end(), reader_.via().warnings.begin(), reader_.via().warnings.end());
  if (index_->scattered != 0) {
    notes.push_back(
        fmt::format("{} reads lie in rows far apart: one read per row, copied together", index_->scattered));
  }
  return notes;
}

}  // namespace millrace
