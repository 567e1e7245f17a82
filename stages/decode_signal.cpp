#include "stages/decode_signal.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "io/stream_vbyte.h"

namespace millrace {
namespace {

constexpr std::size_t kSkipsTold = 10;

/// Where one piece lies in the chunk.
struct Piece {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint32_t mask = 0;
  std::optional<std::uint64_t> samples;  // exactly so many; nothing = as all pieces, the last one at least what is left
};

/// Takes one number off the front of `text`.
template <typename T>
T take_number(std::string_view& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) throw Error("its attribute 'pieces' cannot be read");
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// Takes `separator` off the front of `text`; false when something else is there.
bool take(char separator, std::string_view& text) {
  if (!text.starts_with(separator)) return false;
  text.remove_prefix(1);
  return true;
}

Piece take_piece(std::string_view& text) {
  Piece piece;
  piece.offset = take_number<std::uint64_t>(text);
  if (!take(':', text)) throw Error("its attribute 'pieces' cannot be read");
  piece.length = take_number<std::uint64_t>(text);
  if (!take(':', text)) throw Error("its attribute 'pieces' cannot be read");
  piece.mask = take_number<std::uint32_t>(text);
  if (take(':', text)) piece.samples = take_number<std::uint64_t>(text);
  if (!text.empty() && !take(' ', text)) throw Error("its attribute 'pieces' cannot be read");
  return piece;
}

std::span<const std::byte> part_of(std::span<const std::byte> bytes, const Piece& piece) {
  if (piece.offset > bytes.size() || piece.length > bytes.size() - piece.offset) {
    throw Error("its attribute 'pieces' points outside the chunk");
  }
  return bytes.subspan(piece.offset, piece.length);
}

/// The failure of a read with all that is known about where it came from.
Error failure_of(const Chunk& chunk, const Error& error) {
  const auto id = chunk.attributes().text("read_id");
  Error result(id ? fmt::format("read {}: {}", *id, error.message()) : error.message());
  if (chunk.origin().file) result.at_path(*chunk.origin().file).at_offset(chunk.origin().offset);
  return result;
}

}  // namespace

DecodeSignal::DecodeSignal(const Options& options) {
  const auto action = options.get<std::string>("on_bad_read", "fail", "fail, or skip: leave it out and count it");
  if (action != "fail" && action != "skip") {
    throw options.error_at("on_bad_read", "'on_bad_read' must be fail or skip, not '" + action + "'");
  }
  skips_ = action == "skip";
  codings_.reserve(kMaxKnownCodings);
}

ChunkType DecodeSignal::prepare(const ChunkType& input) {
  input.require(DType::u8).require("signal.encoded");
  if (input.decoded_max_bytes == 0) throw config_error("needs an input that says how large it becomes decoded");
  max_samples_ = input.decoded_max_bytes / sizeof(std::int16_t);
  // The stream under VBZ's zstd layer (or what is between two steps of another coding), and a piece decoded aside.
  // A record of SLOW5 has other fields beside its stream.
  state_bytes_ = io::stream_vbyte_max_bytes(max_samples_) + io::kStreamVbytePadding + input.decoded_max_bytes +
                 io::Slow5RecordDecoder::kMaxOtherBytes;
  slow5_.prepare(max_samples_);
  return {DType::i16, "signal", input.decoded_max_bytes};
}

std::optional<Chunk> DecodeSignal::process(Chunk chunk) {
  try {
    const bool is_record = io::is_slow5_coding(chunk.attributes().text("coding").value_or(""));
    return is_record ? slow5_.decode(chunk) : decode_pieces(chunk);
  } catch (const Error& error) {
    const Error failure = failure_of(chunk, error);
    if (!skips_ || error.kind() == ErrorKind::config) throw failure;
    ++skipped_;
    if (first_skips_.size() < kSkipsTold) first_skips_.push_back(fmt::format("skipped: {}", failure.what()));
    return std::nullopt;
  }
}

Findings DecodeSignal::findings() const {
  Findings findings;
  findings.lines = first_skips_;
  if (skipped_ > first_skips_.size()) {
    findings.lines.push_back(fmt::format("and {} more", skipped_ - first_skips_.size()));
  }
  if (skipped_ != 0) findings.refused.push_back({"damaged read", skipped_});
  return findings;
}

Chunk DecodeSignal::decode_pieces(const Chunk& chunk) {
  const Framing framing = framing_of(chunk);
  choose_coding(chunk);
  Chunk decoded = chunk.with(loan(framing.samples * sizeof(std::int16_t)), DType::i16);
  decode_pieces(chunk, framing, decoded.samples<std::int16_t>());
  return decoded;
}

DecodeSignal::Framing DecodeSignal::framing_of(const Chunk& chunk) const {
  const auto samples = chunk.attributes().integer("samples");
  if (!samples || *samples < 0) throw Error("its attribute 'samples' is missing");
  Framing framing;
  framing.samples = static_cast<std::uint64_t>(*samples);
  if (framing.samples > max_samples_) {
    throw Error(fmt::format("has {} samples, more than the {} announced", framing.samples, max_samples_));
  }
  const auto piece_samples = chunk.attributes().integer("piece_samples").value_or(*samples);
  framing.piece_samples = static_cast<std::uint64_t>(piece_samples);
  if (piece_samples < 0 || (piece_samples == 0 && *samples != 0)) {
    throw Error(fmt::format("has pieces of {} samples", piece_samples));
  }
  framing.pieces = chunk.attributes().text("pieces").value_or(std::string_view());
  return framing;
}

void DecodeSignal::choose_coding(const Chunk& chunk) {
  const auto text = chunk.attributes().text("coding");
  if (!text) throw Error("its attribute 'coding' is missing");
  if (coding_ != nullptr && coding_->text == *text) return;
  const auto known = std::find_if(codings_.begin(), codings_.end(),
                                  [&text](const KnownCoding& coding) { return coding.text == *text; });
  if (known != codings_.end()) {
    coding_ = &*known;
    return;
  }
  coding_ = nullptr;
  if (codings_.size() == kMaxKnownCodings) codings_.clear();
  coding_ = &codings_.emplace_back(KnownCoding{std::string(*text), io::parse_signal_coding(*text)});
}

void DecodeSignal::decode_pieces(const Chunk& chunk, const Framing& framing, std::span<std::int16_t> samples) {
  if (samples.empty()) return;
  std::string_view text = framing.pieces;
  for (std::uint64_t first = 0; first < samples.size();) {
    const std::uint64_t left = samples.size() - first;
    const Piece piece = framing.pieces.empty() ? Piece{0, chunk.size_bytes(), 0, {}} : take_piece(text);
    const std::uint64_t here = std::min(piece.samples.value_or(framing.piece_samples), left);
    if (framing.pieces.empty() && here != samples.size()) throw Error("its attribute 'pieces' is missing");
    if (piece.samples && *piece.samples > left) throw Error("its pieces hold more samples than it has");
    decode_piece(part_of(chunk.bytes(), piece), piece.mask, piece.samples.value_or(framing.piece_samples),
                 samples.subspan(first, here));
    first += here;
  }
  if (!text.empty()) throw Error("its attribute 'pieces' has more entries than the samples need");
}

void DecodeSignal::decode_piece(std::span<const std::byte> piece, std::uint32_t mask, std::uint64_t piece_samples,
                                std::span<std::int16_t> samples) {
  if (piece_samples == samples.size()) {
    decoder_.decode(piece, coding_->coding, mask, samples);
    return;
  }
  // The last piece may hold more than the read: decoded whole, aside.
  const std::uint64_t room = std::min(piece_samples, io::max_samples(coding_->coding, piece.size()));
  if (room > max_samples_) throw Error(fmt::format("has a piece of {} samples, more than announced", room));
  if (whole_piece_.size() < room) whole_piece_.resize(room);
  const auto whole = std::span(whole_piece_).first(room);
  const std::uint64_t got = decoder_.decode_up_to(piece, coding_->coding, mask, whole);
  if (got < samples.size()) {
    throw Error(fmt::format("its last piece holds {} samples; {} expected", got, samples.size()));
  }
  std::copy_n(whole.begin(), samples.size(), samples.begin());
}

}  // namespace millrace
