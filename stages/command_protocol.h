#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "pipeline/core/chunk.h"
#include "pipeline/core/stage.h"

/// What flows between the stage `command` and the program that it runs, as bytes. The format is described for authors
/// of such programs in stages/command_protocol.md. Pure; Error (kind run) for bytes that are no such frame.
namespace millrace::command {

enum class FrameKind : std::uint32_t {
  hello = 1,  ///< JSON: what will flow; the first frame of either side
  chunk = 2,  ///< facts, attributes, payload
  none = 3,   ///< the sequence number of a chunk for which nothing comes
  end = 4,    ///< nothing; the last frame of either side
};

inline constexpr std::uint32_t kVersion = 1;
/// In front of every frame: "MRC1", kind (u32), bytes that follow (u64).
inline constexpr std::size_t kHeadBytes = 16;
/// In front of a chunk's attributes: sequence (u64), dtype (u8), rank (u8), 0 (u16), bytes of attributes (u32), four
/// extents (u64 each; those beyond the rank are 0).
inline constexpr std::size_t kFactBytes = 48;
inline constexpr std::size_t kNoneBytes = 8;
/// Most bytes of a hello or of the attributes of a chunk.
inline constexpr std::uint64_t kMaxTextBytes = 1 << 20;

struct Head {
  FrameKind kind = FrameKind::end;
  std::uint64_t bytes = 0;
};

struct Facts {
  std::uint64_t sequence = 0;
  DType dtype = DType::u8;
  Shape shape;
  std::uint32_t attribute_bytes = 0;
  std::uint64_t payload_bytes = 0;
};

struct Hello {
  std::string stage;
  ChunkType input;
  ChunkType output;
  std::uint32_t in_flight = 1;  ///< chunks that are sent before the first must be answered
  std::string options;
};

std::string hello_frame(const Hello& hello);
std::string end_frame();
/// The frame of a chunk up to its payload, which lies at a multiple of 8 bytes in the frame. Error when its attributes
/// are too long.
std::string chunk_opening(const Chunk& chunk);
std::string none_frame(std::uint64_t sequence);

Head parse_head(std::span<const std::byte, kHeadBytes> bytes);
/// `head`: of the frame, kind chunk. Checks that the parts fill it and that the payload is what dtype and shape say.
Facts parse_facts(std::span<const std::byte, kFactBytes> bytes, const Head& head);
std::uint64_t parse_none(std::span<const std::byte, kNoneBytes> bytes);
/// A flat JSON object of at most 256 texts and numbers; integers stay integers, null is nothing. Empty text: none.
Attributes parse_attributes(std::string_view json);
/// Error unless it is the hello of a program that speaks this version.
void check_hello(std::string_view json);

/// An answer of the program.
struct Reply {
  FrameKind kind = FrameKind::end;
  std::uint64_t sequence = 0;  ///< chunk and none
  DType dtype = DType::u8;
  Shape shape;
  Attributes attributes;  ///< those that it set
  Buffer payload;
};

/// Makes replies of a stream of bytes, in pieces of any length. Payloads are read straight into loaned buffers
/// (millrace::loan), and only when they fit: nothing is allocated because a program says so.
class ReplyReader {
 public:
  /// `output`: what chunks may be.
  explicit ReplyReader(ChunkType output) : output_(std::move(output)) {}

  /// Where the next bytes go; never empty.
  std::span<std::byte> room();
  /// The first `bytes` bytes of room() were filled: the reply that they complete, if they do.
  std::optional<Reply> filled(std::size_t bytes);
  /// Whether a frame has begun that is not whole yet.
  bool in_a_frame() const { return part_ != Part::head || filled_ != 0; }

 private:
  enum class Part { head, hello, facts, attributes, payload, none };

  void begin(Part part, std::size_t bytes);
  std::optional<Reply> next_part();
  std::optional<Reply> begin_frame();
  void begin_chunk();
  std::optional<Reply> begin_payload();
  std::string_view text() const { return {text_.data(), text_.size()}; }

  ChunkType output_;
  Part part_ = Part::head;
  std::size_t wanted_ = kHeadBytes;  // bytes of the part
  std::size_t filled_ = 0;           // of them, those that are there
  std::array<std::byte, kFactBytes> fixed_{};
  std::string text_;
  Head head_;
  Facts facts_;
  Reply reply_;
};

}  // namespace millrace::command
