#include "io/slow5_unpack.h"

#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>

#include "io/stream_vbyte.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

// Deflate stores at best 258 bytes in 2 bits; zstd at best a block of 128 KiB in 4 bytes.
constexpr std::uint64_t kMaxDeflateRatio = 1032;
constexpr std::uint64_t kMaxZstdRatio = 1 << 15;
constexpr std::uint64_t kMinRoom = 4096;
constexpr std::uint64_t kMaxDeflated = std::numeric_limits<std::uint32_t>::max();  // ISA-L counts in 32 bits

Error damaged(const char* what) { return Error(fmt::format("a record is damaged: {}", what)); }

Error too_large(std::uint64_t max_bytes) {
  return Error(fmt::format("a record holds more than the {} bytes that are possible", max_bytes));
}

}  // namespace

struct Slow5Unpacker::Contexts {
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> zstd{ZSTD_createDCtx()};
  inflate_state zlib{};

  void begin_zlib(std::span<const std::byte> input) {
    isal_inflate_init(&zlib);
    zlib.crc_flag = ISAL_ZLIB;
    // The library does not write to its input, it only does not say so.
    zlib.next_in = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(input.data()));
    zlib.avail_in = static_cast<std::uint32_t>(input.size());
  }
};

Slow5Unpacker::Slow5Unpacker() : contexts_(std::make_unique<Contexts>()) {
  if (!contexts_->zstd) throw Error("no memory for a zstd decoder");
}

Slow5Unpacker::~Slow5Unpacker() = default;

std::span<const std::byte> Slow5Unpacker::unpack(std::span<const std::byte> record, Slow5Packing packing,
                                                 std::uint64_t max_bytes) {
  if (packing == Slow5Packing::zlib) return inflate(record, max_bytes);
  if (packing == Slow5Packing::zstd) return decompress(record, max_bytes);
  return record;
}

std::span<const std::byte> Slow5Unpacker::decompress(std::span<const std::byte> record, std::uint64_t max_bytes) {
  const auto bytes = unpacked_bytes(record, Slow5Packing::zstd);
  if (!bytes) throw damaged("it is no zstd frame of known size");
  if (*bytes > max_bytes) throw too_large(max_bytes);
  if (*bytes > max_unpacked_bytes(record.size(), Slow5Packing::zstd)) {
    throw Error(fmt::format("a record claims {} bytes in {}", *bytes, record.size()));
  }
  unpacked_.resize(std::max<std::size_t>(unpacked_.size(), *bytes + kStreamVbytePadding));
  const auto got = ZSTD_decompressDCtx(contexts_->zstd.get(), unpacked_.data(), *bytes, record.data(), record.size());
  if (ZSTD_isError(got)) throw damaged(ZSTD_getErrorName(got));
  if (got != *bytes) throw damaged("its zstd frame ends too early");
  return {unpacked_.data(), got};
}

/// zlib does not say how much is inside: the room grows as bytes come.
std::span<const std::byte> Slow5Unpacker::inflate(std::span<const std::byte> record, std::uint64_t max_bytes) {
  if (record.size() > kMaxDeflated) throw Error(fmt::format("a zlib record of {} bytes is too long", record.size()));
  // One byte more: whether the data ends is only known when there is room after it.
  const std::uint64_t most = std::min(max_bytes, kMaxDeflated - 1) + 1;
  inflate_state& zlib = contexts_->zlib;
  contexts_->begin_zlib(record);
  std::uint64_t got = 0;
  for (;;) {
    const std::uint64_t room = std::min(most, std::max({kMinRoom, 2 * record.size(), 2 * got}));
    if (unpacked_.size() < room + kStreamVbytePadding) unpacked_.resize(room + kStreamVbytePadding);
    const std::uint64_t usable = std::min<std::uint64_t>(unpacked_.size() - kStreamVbytePadding, most);
    zlib.next_out = reinterpret_cast<std::uint8_t*>(unpacked_.data() + got);
    zlib.avail_out = static_cast<std::uint32_t>(usable - got);
    const int result = isal_inflate(&zlib);
    got = usable - zlib.avail_out;
    if (result == ISAL_INCORRECT_CHECKSUM) throw damaged("its checksum does not match");
    if (result < 0 || result == ISAL_NEED_DICT) throw damaged("bad zlib data");
    if (zlib.block_state == ISAL_BLOCK_FINISH) break;
    if (zlib.avail_out != 0) throw damaged("its zlib data ends too early");
    if (got == most) throw too_large(max_bytes);
  }
  if (got > max_bytes) throw too_large(max_bytes);
  if (zlib.avail_in != 0 || zlib.read_in_length >= 8) throw damaged("there is more behind its zlib data");
  return {unpacked_.data(), got};
}

std::span<const std::byte> Slow5Unpacker::unpack_front(std::span<const std::byte> front, Slow5Packing packing,
                                                       std::uint64_t wanted) {
  if (packing == Slow5Packing::none) return front.first(std::min<std::uint64_t>(front.size(), wanted));
  unpacked_.resize(std::max<std::size_t>(unpacked_.size(), wanted + kStreamVbytePadding));
  if (packing == Slow5Packing::zlib) {
    contexts_->begin_zlib(front);
    contexts_->zlib.next_out = reinterpret_cast<std::uint8_t*>(unpacked_.data());
    contexts_->zlib.avail_out = static_cast<std::uint32_t>(wanted);
    if (isal_inflate(&contexts_->zlib) < 0) throw damaged("bad zlib data");
    return {unpacked_.data(), wanted - contexts_->zlib.avail_out};
  }
  ZSTD_DCtx_reset(contexts_->zstd.get(), ZSTD_reset_session_only);
  ZSTD_outBuffer out{unpacked_.data(), wanted, 0};
  ZSTD_inBuffer in{front.data(), front.size(), 0};
  while (out.pos < out.size) {
    const std::size_t before = out.pos + in.pos;
    const auto left = ZSTD_decompressStream(contexts_->zstd.get(), &out, &in);
    if (ZSTD_isError(left)) throw damaged(ZSTD_getErrorName(left));
    if (left == 0 || out.pos + in.pos == before) break;
  }
  return {unpacked_.data(), out.pos};
}

std::optional<std::uint64_t> Slow5Unpacker::unpacked_bytes(std::span<const std::byte> front, Slow5Packing packing) {
  if (packing != Slow5Packing::zstd) return std::nullopt;
  const auto bytes = ZSTD_getFrameContentSize(front.data(), front.size());
  if (bytes == ZSTD_CONTENTSIZE_ERROR || bytes == ZSTD_CONTENTSIZE_UNKNOWN) return std::nullopt;
  return bytes;
}

std::uint64_t max_unpacked_bytes(std::uint64_t bytes, Slow5Packing packing) {
  const std::uint64_t ratio = packing == Slow5Packing::zlib   ? kMaxDeflateRatio
                              : packing == Slow5Packing::zstd ? kMaxZstdRatio
                                                              : 1;
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  return bytes > kMost / ratio ? kMost : bytes * ratio;
}

}  // namespace millrace::io
