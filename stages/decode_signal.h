#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/signal_coding.h"
#include "pipeline/core/stage.h"
#include "stages/slow5_decoder.h"

namespace millrace {

/// Encoded reads -> samples. In: u8 "signal.encoded" with the attributes of fast5_reader or pod5_reader (coding,
/// samples; pieces and piece_samples when the read is stored in several). Out: i16 "signal", shape [samples],
/// attributes and origin kept. From slow5_reader: whole records, from which the attributes of the read are taken
/// (stages/slow5_decoder.h). Codings: none, deflate, shuffle, fletcher32 (checked), VBZ; of SLOW5 and BLOW5: text, zlib
/// (checked), zstd, svb-zd. Error with the read's id, path and offset when the bytes are damaged or do not give exactly
/// the samples announced. (VBZ, and deflate in FAST5 files, carry no checksum of the samples' own: damage that leaves a
/// VBZ stream well-formed is not found: verify_signal does that.)
///
/// `on_bad_read`: "fail" ends the run with that Error; "skip" leaves the read out, counts it as refused ("damaged
/// read") and puts the first such errors into the report.
class DecodeSignal final : public Transform {
 public:
  explicit DecodeSignal(const Options& options);

  bool parallel() const override { return true; }
  ChunkType prepare(const ChunkType& input) override;
  std::optional<Chunk> process(Chunk chunk) override;
  std::uint64_t state_bytes() const override { return state_bytes_; }
  Findings findings() const override;

 private:
  /// What the attributes of a chunk say about its bytes.
  struct Framing {
    std::uint64_t samples = 0;
    std::uint64_t piece_samples = 0;
    std::string_view pieces;  // empty: the whole chunk is one piece
  };

  Framing framing_of(const Chunk& chunk) const;
  Chunk decode_pieces(const Chunk& chunk);
  void choose_coding(const Chunk& chunk);
  void decode_pieces(const Chunk& chunk, const Framing& framing, std::span<std::int16_t> samples);
  void decode_piece(std::span<const std::byte> piece, std::uint32_t mask, std::uint64_t piece_samples,
                    std::span<std::int16_t> samples);

  /// Codings are few: each is parsed once, not per chunk.
  struct KnownCoding {
    std::string text;
    io::SignalCoding coding;
  };
  static constexpr std::size_t kMaxKnownCodings = 16;

  bool skips_ = false;
  std::uint64_t skipped_ = 0;
  std::vector<std::string> first_skips_;
  io::SignalDecoder decoder_;
  Slow5Decoder slow5_;
  std::vector<KnownCoding> codings_;
  const KnownCoding* coding_ = nullptr;  // of the chunk at hand, in codings_
  std::vector<std::int16_t> whole_piece_;
  std::uint64_t max_samples_ = 0;
  std::uint64_t state_bytes_ = 0;
};

}  // namespace millrace
