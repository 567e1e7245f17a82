#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/reader.h"

namespace millrace::io {

// The frame of a POD5 file: signature, section mark, Arrow files with a mark behind each, footer, mark, signature.
// Source: the POD5 format specification of Oxford Nanopore (nanoporetech/pod5-file-format).

inline constexpr std::string_view kPod5Signature = "\x8BPOD\r\n\x1A\n";
inline constexpr std::size_t kPod5MarkBytes = 16;
/// What stands in front of the first table.
inline constexpr std::uint64_t kPod5HeadBytes = kPod5Signature.size() + kPod5MarkBytes;
/// Tables and footer are padded to multiples of this.
inline constexpr std::uint64_t kPod5Alignment = 8;

using Pod5Mark = std::array<std::byte, kPod5MarkBytes>;

struct Pod5Footer {
  std::string file_identifier;  ///< a UUID as text
  std::string software;
  std::string version;  ///< of the format, "a.b.c"
  std::optional<Extent> reads;
  std::optional<Extent> signal;
  std::optional<Extent> run_info;  ///< since 0.0.38; before, it is a dictionary of the reads
};

/// Reads the frame of a POD5 file. Error with the offset, and the path, for what is no POD5 file, is not complete, or
/// points outside itself.
Pod5Footer read_pod5_footer(Reader& reader);

/// What comes behind the mark of the last table: footer, mark and signature.
std::vector<std::byte> pod5_tail(const Pod5Footer& footer, const Pod5Mark& mark);

}  // namespace millrace::io
