#include "stages/read_index.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace millrace {
namespace {

constexpr std::uint32_t kNoRun = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kNodeBytes = 64;  // of a map, without what its entry points to

}  // namespace

void ReadIndex::begin_file(const std::filesystem::path& path) {
  files_.push_back(std::make_shared<const std::filesystem::path>(path));
}

std::uint32_t ReadIndex::run(const std::string& id, const std::string& info) {
  const auto [known, is_new] = run_numbers_.try_emplace({id, info}, static_cast<std::uint32_t>(runs_.size()));
  if (is_new) runs_.push_back(&known->first);
  return known->second;
}

void ReadIndex::add(Entry entry) {
  const std::uint64_t number = places_.size();
  const std::uint64_t length = entry.layout.bytes + entry.compact.size();
  places_.push_back({entry.layout.span, static_cast<std::uint32_t>(files_.size() - 1), entry.run.value_or(kNoRun)});
  if (!entry.layout.scattered.empty()) {
    scattered_[number] = {std::move(entry.layout.scattered), entry.layout.bytes};
  }
  if (!entry.compact.empty()) compact_[number] = std::move(entry.compact);
  const auto coding = entry.attributes.text("coding").value_or("");
  const auto known = codings_.find(coding);
  ++(known != codings_.end() ? known->second : codings_[std::string(coding)]);
  attributes_.add(entry.attributes);
  bytes_ += length;
  longest_ = std::max(longest_, length);
  longest_decoded_ = std::max(longest_decoded_, entry.decoded_bytes);
}

void ReadIndex::complete() {
  attributes_.complete();
  places_.shrink_to_fit();
}

std::string ReadIndex::codings() const {
  std::string text;
  for (const auto& [coding, reads] : codings_) text += (text.empty() ? "" : ", ") + coding;
  return text.empty() ? "none yet" : text;
}

std::uint64_t ReadIndex::memory_bytes() const {
  std::uint64_t sum = attributes_.memory_bytes() + places_.capacity() * sizeof(Place);
  for (const auto& file : files_) sum += sizeof(file) + sizeof *file + file->native().capacity();
  for (const auto& [run, number] : run_numbers_) {
    sum += kNodeBytes + sizeof run + run.first.capacity() + run.second.capacity();
  }
  for (const auto& [number, one] : scattered_) {
    sum += kNodeBytes + sizeof one + one.pieces.capacity() * sizeof(io::Extent);
  }
  for (const auto& [number, stored] : compact_) {
    sum += kNodeBytes + sizeof(std::vector<std::byte>) + stored.capacity();
  }
  return sum;
}

std::optional<io::PieceReader::Piece> ReadIndex::piece(std::uint64_t number) const {
  if (number >= places_.size()) return std::nullopt;
  // Reads that are fetched in another way are no piece.
  if (scattered_.contains(number) || compact_.contains(number)) return io::PieceReader::Piece{};
  const Place& place = places_[number];
  return io::PieceReader::Piece{files_[place.file].get(), place.span};
}

Chunk ReadIndex::fetch(std::uint64_t number, io::PieceReader& reader) const {
  const Place& place = places_[number];
  const auto& file = files_[place.file];
  Buffer bytes;
  if (const auto stored = compact_.find(number); stored != compact_.end()) {
    bytes = loan(stored->second.size());
    std::memcpy(bytes.writable().data(), stored->second.data(), stored->second.size());
  } else if (const auto found = scattered_.find(number); found != scattered_.end()) {
    bytes = gather(reader, *file, found->second.pieces, found->second.bytes);
  } else {
    bytes = reader.read(number);
  }
  Chunk chunk(std::move(bytes), DType::u8);
  chunk.set_origin({file, place.span.offset, place.span.length});
  auto attributes = std::make_shared<Attributes>(attributes_.at(number));
  if (place.run != kNoRun) {
    const auto& [id, info] = *runs_[place.run];
    if (!id.empty()) attributes->set("run_id", id);
    if (!info.empty()) attributes->set("run_info", info);
  }
  chunk.set_attributes(std::move(attributes));
  return chunk;
}

}  // namespace millrace
