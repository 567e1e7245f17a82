#include "stages/verify_crc32c.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "io/file_descriptor.h"
#include "pipeline/core/units.h"

namespace millrace {
namespace {

constexpr std::size_t kMismatchesTold = 10;
/// Below this the reading of checksums, one call per chunk, is no longer small beside the work.
constexpr std::uint64_t kTinyChunk = 256 << 10;

std::string mismatch_text(std::uint32_t expected, std::uint32_t found) {
  return fmt::format("checksum mismatch: expected {:#010x}, found {:#010x}", expected, found);
}

}  // namespace

VerifyCrc32c::VerifyCrc32c(const Options& options) {
  const auto action = options.get<std::string>(
      "on_mismatch", "fail", "fail (end the run), skip (refuse the chunk) or count (pass it on); all are reported");
  if (action == "skip") {
    on_mismatch_ = OnMismatch::skip;
  } else if (action == "count") {
    on_mismatch_ = OnMismatch::count;
  } else if (action != "fail") {
    throw options.error_at("on_mismatch", "'on_mismatch' must be fail, skip or count, not '" + action + "'");
  }
  const auto named = options.get<std::filesystem::path>(
      "checksums", {},
      "side-car of a single input file; empty = FILE.crc32c, FILE.meta or FILE_<number>.meta beside it");
  if (!named.empty()) named_ = named;
}

ChunkType VerifyCrc32c::prepare(const ChunkType& input) {
  max_chunk_bytes_ = input.max_bytes;
  return input;
}

std::optional<Chunk> VerifyCrc32c::process(Chunk chunk) {
  if (chunk.size_bytes() == 0) return chunk;
  const Origin& origin = chunk.origin();
  if (origin.file == nullptr || origin.length != chunk.size_bytes()) {
    throw config_error("verify_crc32c needs the bytes of a file as they stand there: put it right behind a raw_reader");
  }
  const std::uint64_t wrong = verify(chunk, side_car_of(*origin.file));
  if (wrong == 0 || on_mismatch_ != OnMismatch::skip) return chunk;
  ++refused_chunks_;
  return std::nullopt;
}

io::ChecksumFile& VerifyCrc32c::side_car_of(const std::filesystem::path& file) {
  if (side_car_ && data_ == file) return *side_car_;
  side_car_.reset();
  const auto path = named_ ? named_ : io::find_checksum_file(file);
  if (!path) throw Error("has no checksums beside it (.crc32c, .meta)").at_path(file);
  const std::uint64_t bytes = io::size_of(io::open_input(file), file);
  side_car_.emplace(*path, bytes);
  data_ = file;
  return *side_car_;
}

/// Checks every piece of a chunk; how many did not match.
std::uint64_t VerifyCrc32c::verify(const Chunk& chunk, io::ChecksumFile& side_car) {
  const Origin& origin = chunk.origin();
  const std::uint64_t piece = side_car.piece_bytes();
  const std::uint64_t end = origin.offset + origin.length;
  if (origin.offset % piece != 0 || (end % piece != 0 && end != side_car.data_bytes())) {
    throw config_error(
        fmt::format("the checksums in {} are for pieces of {}: the reader's block must be a multiple of that",
                    side_car.path().string(), format_bytes(piece)));
  }
  const std::uint64_t first = origin.offset / piece;
  side_car.read(first, (origin.length + piece - 1) / piece, sums_);
  std::uint64_t wrong = 0;
  std::span<const std::byte> rest = chunk.bytes();
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const auto bytes = rest.first(static_cast<std::size_t>(std::min<std::uint64_t>(piece, rest.size())));
    rest = rest.subspan(bytes.size());
    const std::uint32_t found = io::checksum_of(side_car.kind(), bytes);
    if (found == sums_[i]) continue;
    ++wrong;
    note_mismatch(origin, origin.offset + i * piece, sums_[i], found);
  }
  pieces_ += sums_.size();
  mismatches_ += wrong;
  return wrong;
}

void VerifyCrc32c::note_mismatch(const Origin& origin, std::uint64_t offset, std::uint32_t expected,
                                 std::uint32_t found) {
  if (on_mismatch_ == OnMismatch::fail) {
    throw Error(mismatch_text(expected, found)).at_path(*origin.file).at_offset(offset);
  }
  if (first_mismatches_.size() == kMismatchesTold) return;
  first_mismatches_.push_back(
      fmt::format("{}: offset {}: {}", origin.file->string(), offset, mismatch_text(expected, found)));
}

std::uint64_t VerifyCrc32c::state_bytes() const {
  // A checksum of 4 bytes for pieces of at least some hundred bytes; 1/64 of a chunk allows for pieces of 256.
  return max_chunk_bytes_ / 64;
}

std::vector<std::string> VerifyCrc32c::plan_notes() const {
  if (max_chunk_bytes_ == 0 || max_chunk_bytes_ >= kTinyChunk) return {};
  const std::uint64_t chunks = (1ULL << 30) / max_chunk_bytes_;
  return {fmt::format(
      "chunks of {} are small for verification: every chunk takes a read of the side-car, which is {} reads "
      "per GiB; blocks of 4 MiB would take 256",
      format_bytes(max_chunk_bytes_), chunks)};
}

Findings VerifyCrc32c::findings() const {
  Findings result;
  if (pieces_ == 0) return result;
  result.lines.push_back(fmt::format("{} of {} pieces did not match their checksums", mismatches_, pieces_));
  result.lines.insert(result.lines.end(), first_mismatches_.begin(), first_mismatches_.end());
  if (mismatches_ > first_mismatches_.size()) {
    result.lines.push_back(fmt::format("and {} more", mismatches_ - first_mismatches_.size()));
  }
  if (refused_chunks_ != 0) result.refused.push_back({"checksum mismatch", refused_chunks_});
  return result;
}

}  // namespace millrace
