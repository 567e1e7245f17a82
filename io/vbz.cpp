#include "io/vbz.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "io/stream_vbyte.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

constexpr std::size_t kHeaderBytes = 4;

struct FreeDecompressor {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

std::uint32_t stored_size(std::span<const std::byte> chunk) {
  if (chunk.size() < kHeaderBytes) throw Error(fmt::format("a VBZ chunk of {} bytes has no header", chunk.size()));
  std::uint32_t size;
  std::memcpy(&size, chunk.data(), sizeof size);
  return size;
}

}  // namespace

Vbz Vbz::from_filter_values(std::span<const std::uint32_t> values) {
  if (values.size() < 3) throw Error(fmt::format("the VBZ filter has {} parameters; 3 at least", values.size()));
  Vbz vbz{values[0], values[1], values[2] != 0, values.size() > 3 ? values[3] : 1};
  if (vbz.version > 1) throw Error(fmt::format("VBZ version {} is not known", vbz.version));
  if (vbz.integer_size != 0 && vbz.integer_size != 2 && vbz.integer_size != 4) {
    throw Error(fmt::format("VBZ over {}-byte integers is not supported", vbz.integer_size));
  }
  return vbz;
}

std::vector<std::uint32_t> Vbz::filter_values() const { return {version, integer_size, zigzag_delta ? 1U : 0U, level}; }

struct VbzDecoder::Context {
  std::unique_ptr<ZSTD_DCtx, FreeDecompressor> zstd{ZSTD_createDCtx()};
};

VbzDecoder::VbzDecoder() : context_(std::make_unique<Context>()) {
  if (!context_->zstd) throw Error("no memory for a zstd decoder");
}

VbzDecoder::~VbzDecoder() = default;

/// The bytes under the zstd layer, in scratch_ with padding after them.
std::span<const std::byte> VbzDecoder::unpack(std::span<const std::byte> body, const Vbz& vbz,
                                              std::uint64_t max_bytes) {
  if (vbz.level == 0) {
    if (body.size() > max_bytes) throw Error(fmt::format("a VBZ stream of {} bytes is too long", body.size()));
    scratch_.resize(std::max(scratch_.size(), body.size() + kStreamVbytePadding));
    if (!body.empty()) std::memcpy(scratch_.data(), body.data(), body.size());
    return {scratch_.data(), body.size()};
  }
  const auto bytes = ZSTD_getFrameContentSize(body.data(), body.size());
  if (bytes == ZSTD_CONTENTSIZE_ERROR || bytes == ZSTD_CONTENTSIZE_UNKNOWN) {
    throw Error("a VBZ chunk does not hold a zstd frame of known size");
  }
  if (bytes > max_bytes) {
    throw Error(fmt::format("a VBZ chunk claims {} bytes where at most {} are possible", bytes, max_bytes));
  }
  scratch_.resize(std::max<std::size_t>(scratch_.size(), bytes + kStreamVbytePadding));
  const auto got = ZSTD_decompressDCtx(context_->zstd.get(), scratch_.data(), bytes, body.data(), body.size());
  if (ZSTD_isError(got)) throw Error(fmt::format("a VBZ chunk is damaged: zstd: {}", ZSTD_getErrorName(got)));
  if (got != bytes) throw Error(fmt::format("a VBZ chunk is damaged: {} bytes instead of {}", got, bytes));
  return {scratch_.data(), got};
}

std::uint64_t VbzDecoder::samples_in(std::span<const std::byte> chunk) {
  return stored_size(chunk) / sizeof(std::int16_t);
}

void VbzDecoder::decode(std::span<const std::byte> chunk, const Vbz& vbz, std::span<std::int16_t> samples) {
  const std::uint64_t wanted = samples.size_bytes();
  const std::uint32_t stored = stored_size(chunk);
  if (stored != wanted) throw Error(fmt::format("a VBZ chunk holds {} bytes of signal; {} expected", stored, wanted));
  const auto body = chunk.subspan(kHeaderBytes);
  if (vbz.integer_size == 0) {
    const auto raw = unpack(body, vbz, wanted);
    if (raw.size() != wanted) throw Error(fmt::format("a VBZ chunk gave {} bytes; {} expected", raw.size(), wanted));
    if (wanted != 0) std::memcpy(samples.data(), raw.data(), wanted);
    return;
  }
  if (wanted % vbz.integer_size != 0) {
    throw Error(
        fmt::format("a VBZ chunk of {} bytes is no whole number of {}-byte integers", wanted, vbz.integer_size));
  }
  const std::uint64_t count = wanted / vbz.integer_size;
  const auto stream = unpack(body, vbz, stream_vbyte_max_bytes(count));
  const auto needed = stream_vbyte_bytes(stream, count);
  if (!needed)
    throw Error(fmt::format("a VBZ chunk is damaged: {} bytes are too few for {} values", stream.size(), count));
  if (*needed != stream.size()) {
    throw Error(fmt::format("a VBZ chunk is damaged: its keys ask for {} bytes, there are {}", *needed, stream.size()));
  }
  const ValueCoding coding = vbz.zigzag_delta ? ValueCoding::zigzag_delta : ValueCoding::plain;
  if (vbz.integer_size == 2) {
    decode_stream_vbyte(stream.data(), coding, samples);
  } else {
    decode_stream_vbyte_wide(stream.data(), coding, reinterpret_cast<std::byte*>(samples.data()), count);
  }
}

struct VbzEncoder::Context {
  std::unique_ptr<ZSTD_CCtx, FreeCompressor> zstd{ZSTD_createCCtx()};
};

VbzEncoder::VbzEncoder(std::uint32_t level) : context_(std::make_unique<Context>()) {
  vbz_.level = level;
  if (!context_->zstd) throw Error("no memory for a zstd encoder");
}

VbzEncoder::~VbzEncoder() = default;

std::span<const std::byte> VbzEncoder::encode(std::span<const std::int16_t> samples) {
  if (samples.size() >= (std::uint64_t{1} << 31))
    throw Error(fmt::format("{} samples in one VBZ chunk", samples.size()));
  const auto wanted = static_cast<std::uint32_t>(samples.size_bytes());
  stream_.resize(std::max<std::size_t>(stream_.size(), stream_vbyte_max_bytes(samples.size()) + kStreamVbytePadding));
  const std::uint64_t bytes = encode_stream_vbyte(samples, stream_.data());
  const std::size_t room = vbz_.level == 0 ? bytes : ZSTD_compressBound(bytes);
  chunk_.resize(std::max(chunk_.size(), kHeaderBytes + room));
  std::memcpy(chunk_.data(), &wanted, sizeof wanted);
  std::byte* const body = chunk_.data() + kHeaderBytes;
  if (vbz_.level == 0) {
    std::memcpy(body, stream_.data(), bytes);
    return {chunk_.data(), kHeaderBytes + bytes};
  }
  const auto packed =
      ZSTD_compressCCtx(context_->zstd.get(), body, room, stream_.data(), bytes, static_cast<int>(vbz_.level));
  if (ZSTD_isError(packed)) throw Error(fmt::format("zstd: {}", ZSTD_getErrorName(packed)));
  return {chunk_.data(), kHeaderBytes + packed};
}

}  // namespace millrace::io
