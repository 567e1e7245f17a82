#include "io/pod5_vbz.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <limits>

#include "io/stream_vbyte16.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

Error damaged(const std::string& what) { return Error("a row of signal is damaged: " + what); }

}  // namespace

struct Pod5VbzDecoder::Context {
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> zstd{ZSTD_createDCtx()};
};

Pod5VbzDecoder::Pod5VbzDecoder() : context_(std::make_unique<Context>()) {
  if (!context_->zstd) throw Error("no memory for a zstd decoder");
}

Pod5VbzDecoder::~Pod5VbzDecoder() = default;

void Pod5VbzDecoder::decode(std::span<const std::byte> row, std::span<std::int16_t> samples) {
  if (samples.empty()) return;
  const std::uint64_t most = stream_vbyte16_max_bytes(samples.size());
  const auto bytes = ZSTD_getFrameContentSize(row.data(), row.size());
  if (bytes == ZSTD_CONTENTSIZE_ERROR || bytes == ZSTD_CONTENTSIZE_UNKNOWN) {
    throw damaged("it is no zstd frame of known size");
  }
  if (bytes > most) throw damaged(fmt::format("it claims {} bytes for {} samples", bytes, samples.size()));
  scratch_.resize(std::max<std::size_t>(scratch_.size(), bytes + kStreamVbyte16Padding));
  const auto got = ZSTD_decompressDCtx(context_->zstd.get(), scratch_.data(), bytes, row.data(), row.size());
  if (ZSTD_isError(got)) throw damaged(fmt::format("zstd: {}", ZSTD_getErrorName(got)));
  if (got != bytes) throw damaged(fmt::format("{} bytes instead of {}", got, bytes));
  const std::span<const std::byte> stream(scratch_.data(), got);
  const auto needed = stream_vbyte16_bytes(stream, samples.size());
  if (needed.value_or(0) != got) {
    throw damaged(fmt::format("its {} bytes are not those of {} samples", got, samples.size()));
  }
  decode_stream_vbyte16(stream.data(), samples);
}

struct Pod5VbzEncoder::Context {
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> zstd{ZSTD_createCCtx()};
};

Pod5VbzEncoder::Pod5VbzEncoder(int level) : context_(std::make_unique<Context>()), level_(level) {
  if (!context_->zstd) throw Error("no memory for a zstd encoder");
}

Pod5VbzEncoder::~Pod5VbzEncoder() = default;

std::span<const std::byte> Pod5VbzEncoder::encode(std::span<const std::int16_t> samples) {
  if (samples.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(fmt::format("{} samples in one row of signal", samples.size()));
  }
  stream_.resize(
      std::max<std::size_t>(stream_.size(), stream_vbyte16_max_bytes(samples.size()) + kStreamVbyte16Padding));
  const std::uint64_t bytes = encode_stream_vbyte16(samples, stream_.data());
  row_.resize(std::max<std::size_t>(row_.size(), ZSTD_compressBound(bytes)));
  const auto packed = ZSTD_compressCCtx(context_->zstd.get(), row_.data(), row_.size(), stream_.data(), bytes, level_);
  if (ZSTD_isError(packed)) throw Error(fmt::format("zstd: {}", ZSTD_getErrorName(packed)));
  return {row_.data(), packed};
}

}  // namespace millrace::io
