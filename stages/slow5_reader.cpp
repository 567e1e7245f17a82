#include "stages/slow5_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "io/input_files.h"
#include "io/side_by_side.h"
#include "io/slow5_format.h"

namespace millrace {
namespace {

/// What the reads of one file have in common.
struct File {
  std::shared_ptr<const std::filesystem::path> path;
  std::shared_ptr<const Attributes> attributes;
};

struct Record {
  io::Extent extent;
  std::size_t file = 0;
};

std::string what_is_in(const std::map<std::string, std::uint64_t>& codings) {
  std::string text;
  for (const auto& [coding, reads] : codings) text += (text.empty() ? "" : ", ") + coding;
  return text.empty() ? "none yet" : text;
}

}  // namespace

struct Slow5Reader::Index {
  std::vector<File> files;
  std::vector<Record> records;
  std::uint64_t bytes = 0;
  std::uint64_t longest = 0;
  std::uint64_t max_samples = 0;
  std::uint64_t text_bytes = 0;  // of files that were read through
  std::map<std::string, std::uint64_t> codings;

  void add(const io::Slow5Index& file, const std::filesystem::path& path, ReadSelection& selection) {
    Attributes attributes{{"coding", io::text_of(file.coding)}, {"slow5_header", io::text_of(file.header)}};
    files.push_back({std::make_shared<const std::filesystem::path>(path),
                     std::make_shared<const Attributes>(std::move(attributes))});
    for (std::size_t i = 0; i < file.records.size(); ++i) {
      if (!selection.take(file.ids.empty() ? std::string_view() : file.ids[i])) break;
      records.push_back({file.records[i], files.size() - 1});
      bytes += file.records[i].length;
      longest = std::max(longest, file.records[i].length);
      ++codings[io::text_of(file.coding)];
    }
    max_samples = std::max(max_samples, file.max_samples);
    if (file.coding.text) text_bytes += file.bytes;
  }

  std::uint64_t memory_bytes() const {
    std::uint64_t sum = records.capacity() * sizeof(Record);
    for (const auto& file : files) {
      sum += sizeof(File) + sizeof(Attributes) + file.attributes->text("slow5_header").value_or("").size();
    }
    return sum;
  }
};

Slow5Reader::Slow5Reader(const Options& options)
    : entries_(options.require<std::vector<std::filesystem::path>>(
          "path", "file, directory (its *.blow5 and *.slow5 files), glob pattern, or a list")),
      selection_(options),
      reader_(io::read_via(options)) {}

ChunkType Slow5Reader::prepare() {
  files_ = io::find_input_files(entries_, "low5");
  selection_.load();
  auto index = std::make_shared<Index>();
  for (std::span<const std::filesystem::path> left = files_; !left.empty() && selection_.room() != 0;) {
    const auto together = io::files_in_one_go(left);
    index_files(together, *index);
    left = left.subspan(together.size());
  }
  index_ = index;
  owns_index_ = true;
  reader_.prepare(
      files_,
      [index](std::uint64_t number) -> std::optional<io::PieceReader::Piece> {
        if (number >= index->records.size()) return std::nullopt;
        const Record& record = index->records[number];
        return io::PieceReader::Piece{index->files[record.file].path.get(), record.extent};
      },
      io::PieceReader::Grouping::neighbours);  // decoding makes new memory of every read: the bytes may be shared
  // At least one sample: a bound of 0 would mean that it is not known.
  return {DType::u8, "signal.encoded", std::max<std::uint64_t>(index->longest, 1),
          std::max<std::uint64_t>(index->max_samples, 1) * sizeof(std::int16_t)};
}

void Slow5Reader::index_files(std::span<const std::filesystem::path> files, Index& index) {
  struct Outcome {
    std::optional<io::Slow5Index> file;
    std::optional<Error> error;
    std::vector<Error> twice;
    std::uint64_t seen = 0;
  };
  std::vector<Outcome> outcomes(files.size());
  io::side_by_side(files.size(), [&](std::size_t i) {
    Outcome& outcome = outcomes[i];
    io::Slow5Query query;
    query.seen = &outcome.seen;
    query.max_records = selection_.room();
    if (selection_.by_id()) query.wants = [this](std::string_view id) { return selection_.wants(id); };
    if (selection_.skips()) query.on_duplicate = [&outcome](const Error& error) { outcome.twice.push_back(error); };
    try {
      outcome.file = io::index_slow5(files[i], query);
    } catch (const Error& error) {
      outcome.error = error;
    }
  });
  for (std::size_t i = 0; i < files.size() && selection_.room() != 0; ++i) {
    const Outcome& outcome = outcomes[i];
    if (outcome.error) {
      selection_.skip_file(*outcome.error, outcome.seen);
      continue;
    }
    for (const auto& error : outcome.twice) selection_.skip_read("duplicate read id", error);
    index.add(*outcome.file, files[i], selection_);
  }
}

bool Slow5Reader::prepare_like(const Source& first) {
  const auto* const prepared = dynamic_cast<const Slow5Reader*>(&first);
  if (prepared == nullptr || prepared->index_ == nullptr) return false;
  files_ = prepared->files_;
  index_ = prepared->index_;
  reader_.prepare_like(prepared->reader_);
  return true;
}

std::optional<Chunk> Slow5Reader::produce(std::uint64_t index) {
  if (index >= index_->records.size()) return std::nullopt;
  const Record& record = index_->records[index];
  const File& file = index_->files[record.file];
  Chunk chunk(reader_.read(index), DType::u8);
  chunk.set_origin({file.path, record.extent.offset, record.extent.length});
  chunk.set_attributes(file.attributes);
  return chunk;
}

std::optional<std::uint64_t> Slow5Reader::total_chunks() const { return index_->records.size(); }

std::optional<std::uint64_t> Slow5Reader::total_bytes() const { return index_->bytes; }

std::uint64_t Slow5Reader::state_bytes() const {
  return owns_index_ ? index_->memory_bytes() + selection_.memory_bytes() : 0;
}

Findings Slow5Reader::findings() const { return owns_index_ ? selection_.findings() : Findings{}; }

std::vector<std::string> Slow5Reader::plan_notes() const {
  const auto reads = index_->records.size();
  const auto files = index_->files.size();
  std::vector<std::string> notes{fmt::format("{} {} in {} {}, {} of records, codings: {}", reads,
                                             reads == 1 ? "read" : "reads", files, files == 1 ? "file" : "files",
                                             format_bytes(index_->bytes), what_is_in(index_->codings))};
  if (index_->text_bytes != 0) {
    notes.push_back(fmt::format("{} of SLOW5 text had to be read through for the index: the page cache is warm",
                                format_bytes(index_->text_bytes)));
  }
  const auto left_out = selection_.plan_notes();
  notes.insert(notes.end(), left_out.begin(), left_out.end());
  if (!reader_.via().note.empty()) notes.push_back(reader_.via().note);
  notes.insert(notes.end(), reader_.via().warnings.begin(), reader_.via().warnings.end());
  return notes;
}

}  // namespace millrace
