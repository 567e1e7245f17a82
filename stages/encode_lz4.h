#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "pipeline/core/stage.h"

struct LZ4F_cctx_s;

namespace millrace {

/// `encode_lz4`: compresses every chunk to one LZ4 frame (LZ4 Frame Format 1.6) that stands alone.
///
/// In: anything. Out: "lz4", u8, [bytes]; the frame says how long its content is (unless it is empty: the format has no
/// way to say that) and, with `checksum`, carries an XXH32 of it. Frames one after the other are a valid .lz4 file,
/// which `lz4 -d` decodes to the contents one after the other. What the elements were (type, shape) is not in the
/// frame.
///
/// The frame is made in memory of the output link that holds the worst case. One context per instance; it gets its
/// memory in prepare and keeps it.
class EncodeLz4 final : public Transform {
 public:
  explicit EncodeLz4(const Options& options);
  ~EncodeLz4() override;

  ChunkType prepare(const ChunkType& input) override;
  std::optional<Chunk> process(Chunk chunk) override;
  bool parallel() const override { return true; }
  std::uint64_t state_bytes() const override;

 private:
  struct Free {
    void operator()(LZ4F_cctx_s* context) const;
  };

  int level_;
  bool checksum_;
  std::unique_ptr<LZ4F_cctx_s, Free> context_;
};

}  // namespace millrace
