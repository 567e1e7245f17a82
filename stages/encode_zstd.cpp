#include "stages/encode_zstd.h"

#include <zstd.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace millrace {
namespace {

/// The furthest that any level looks back; contents beyond it do not make the context larger.
constexpr std::uint64_t kLargestWindow = 128 << 20;

std::size_t checked(std::size_t result) {
  if (ZSTD_isError(result) != 0) throw Error("zstd cannot compress: " + std::string(ZSTD_getErrorName(result)));
  return result;
}

/// Most bytes that a frame of `bytes` bytes needs.
std::size_t bound_of(std::uint64_t bytes) {
  const std::size_t bound = ZSTD_compressBound(bytes);
  if (bound < bytes || ZSTD_isError(bound) != 0) {
    throw config_error("zstd cannot make one frame of " + format_bytes(bytes));
  }
  return bound;
}

std::size_t compress(ZSTD_CCtx* context, std::span<std::byte> frame, std::span<const std::byte> content) {
  return checked(ZSTD_compress2(context, frame.data(), frame.size(), content.data(), content.size()));
}

}  // namespace

EncodeZstd::EncodeZstd(const Options& options)
    : level_(options.get<int>(
          "level", 3,
          std::to_string(ZSTD_minCLevel()) + " (fastest) to " + std::to_string(ZSTD_maxCLevel()) + " (smallest)")),
      checksum_(options.get<bool>("checksum", true, "add an XXH64 of the content to every frame")) {
  if (level_ < ZSTD_minCLevel() || level_ > ZSTD_maxCLevel()) {
    throw options.error_at("level", "'level' must be between " + std::to_string(ZSTD_minCLevel()) + " and " +
                                        std::to_string(ZSTD_maxCLevel()) + ", not " + std::to_string(level_));
  }
}

EncodeZstd::~EncodeZstd() = default;

ChunkType EncodeZstd::prepare(const ChunkType& input) {
  context_.reset(ZSTD_createCCtx());
  if (!context_) throw std::bad_alloc();
  checked(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level_));
  checked(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, checksum_ ? 1 : 0));
  checked(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_contentSizeFlag, 1));
  if (input.max_bytes == 0) return {DType::u8, "zstd", 0};

  // The context takes its memory at the first frame, by level and content size; it is to have it before the run and to
  // say in the memory plan how much it is. Zeros compress at several GB/s.
  const std::size_t bound = bound_of(input.max_bytes);
  const std::vector<std::byte> zeros(std::min(input.max_bytes, kLargestWindow));
  std::vector<std::byte> frame(bound_of(zeros.size()));
  compress(context_.get(), frame, zeros);
  return {DType::u8, "zstd", bound, input.max_bytes};
}

std::optional<Chunk> EncodeZstd::process(Chunk chunk) {
  Buffer frame = loan(bound_of(chunk.size_bytes()));
  frame.resize(compress(context_.get(), frame.writable(), chunk.bytes()));
  return chunk.with(std::move(frame), DType::u8);
}

std::uint64_t EncodeZstd::state_bytes() const { return context_ ? ZSTD_sizeof_CCtx(context_.get()) : 0; }

void EncodeZstd::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

}  // namespace millrace
