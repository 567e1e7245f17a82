#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "pipeline/core/stage.h"

struct ZSTD_CCtx_s;

namespace millrace {

/// `encode_zstd`: compresses every chunk to one Zstandard frame (RFC 8878) that stands alone.
///
/// In: anything. Out: "zstd", u8, [bytes]; the frame says how long its content is and, with `checksum`, carries an
/// XXH64 of it. Frames one after the other are a valid .zst file, which `zstd -d` decodes to the contents one after the
/// other. An empty chunk gives a frame without content. What the elements were (type, shape) is not in the frame.
///
/// The frame is made in memory of the output link that holds the worst case. One context per instance; it gets the
/// memory it needs for the largest chunk in prepare and keeps it.
class EncodeZstd final : public Transform {
 public:
  explicit EncodeZstd(const Options& options);
  ~EncodeZstd() override;

  ChunkType prepare(const ChunkType& input) override;
  std::optional<Chunk> process(Chunk chunk) override;
  bool parallel() const override { return true; }
  std::uint64_t state_bytes() const override;

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };

  int level_;
  bool checksum_;
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
};

}  // namespace millrace
