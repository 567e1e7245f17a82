#include "stages/encode_lz4.h"

#include <lz4.h>
#include <lz4frame.h>
#include <lz4hc.h>

#include <array>
#include <string>
#include <utility>

namespace millrace {
namespace {

/// LZ4's own limit (an acceleration of 65537).
constexpr int kFastestLevel = -65536;
/// History of a frame of linked blocks, kept by the context.
constexpr std::uint64_t kHistoryBytes = 64 << 10;

std::size_t checked(std::size_t result) {
  if (LZ4F_isError(result) != 0) throw Error("lz4 cannot compress: " + std::string(LZ4F_getErrorName(result)));
  return result;
}

/// The smallest block that takes the content whole, at most 4 MiB.
LZ4F_blockSizeID_t block_for(std::uint64_t bytes) {
  if (bytes <= 64 << 10) return LZ4F_max64KB;
  if (bytes <= 256 << 10) return LZ4F_max256KB;
  if (bytes <= 1 << 20) return LZ4F_max1MB;
  return LZ4F_max4MB;
}

/// autoFlush: every block is made straight from the caller's memory, and the context needs no buffer for input.
LZ4F_preferences_t preferences(int level, bool checksum, std::uint64_t bytes) {
  LZ4F_preferences_t result = LZ4F_INIT_PREFERENCES;
  result.frameInfo.blockSizeID = block_for(bytes);
  result.frameInfo.blockMode = LZ4F_blockLinked;
  result.frameInfo.contentChecksumFlag = checksum ? LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum;
  result.frameInfo.contentSize = bytes;
  result.compressionLevel = level;
  result.autoFlush = 1;
  return result;
}

}  // namespace

EncodeLz4::EncodeLz4(const Options& options)
    : level_(options.get<int>("level", 0,
                              "below 0: faster; 0: fast; " + std::to_string(LZ4HC_CLEVEL_MIN) + " to " +
                                  std::to_string(LZ4F_compressionLevel_max()) + ": high compression")),
      checksum_(options.get<bool>("checksum", true, "add an XXH32 of the content to every frame")) {
  if (level_ < kFastestLevel || level_ > LZ4F_compressionLevel_max()) {
    throw options.error_at("level", "'level' must be between " + std::to_string(kFastestLevel) + " and " +
                                        std::to_string(LZ4F_compressionLevel_max()) + ", not " +
                                        std::to_string(level_));
  }
}

EncodeLz4::~EncodeLz4() = default;

ChunkType EncodeLz4::prepare(const ChunkType& input) {
  LZ4F_cctx* context = nullptr;
  checked(LZ4F_createCompressionContext(&context, LZ4F_VERSION));
  context_.reset(context);
  // The context takes its memory at the first frame: now, not in the run.
  std::array<std::byte, LZ4F_HEADER_SIZE_MAX> header{};
  const LZ4F_preferences_t any = preferences(level_, checksum_, input.max_bytes);
  checked(LZ4F_compressBegin(context, header.data(), header.size(), &any));
  if (input.max_bytes == 0) return {DType::u8, "lz4", 0};
  return {DType::u8, "lz4", LZ4F_compressFrameBound(input.max_bytes, &any), input.max_bytes};
}

std::optional<Chunk> EncodeLz4::process(Chunk chunk) {
  const LZ4F_preferences_t wanted = preferences(level_, checksum_, chunk.size_bytes());
  Buffer frame = loan(LZ4F_compressFrameBound(chunk.size_bytes(), &wanted));
  const auto out = frame.writable();
  const LZ4F_compressOptions_t stable{.stableSrc = 1, .reserved = {}};
  std::size_t used = checked(LZ4F_compressBegin(context_.get(), out.data(), out.size(), &wanted));
  used += checked(LZ4F_compressUpdate(context_.get(), out.data() + used, out.size() - used, chunk.bytes().data(),
                                      chunk.size_bytes(), &stable));
  used += checked(LZ4F_compressEnd(context_.get(), out.data() + used, out.size() - used, &stable));
  frame.resize(used);
  return chunk.with(std::move(frame), DType::u8);
}

std::uint64_t EncodeLz4::state_bytes() const {
  const int tables = level_ < LZ4HC_CLEVEL_MIN ? LZ4_sizeofState() : LZ4_sizeofStateHC();
  return static_cast<std::uint64_t>(tables) + kHistoryBytes;
}

void EncodeLz4::Free::operator()(LZ4F_cctx_s* context) const { LZ4F_freeCompressionContext(context); }

}  // namespace millrace
