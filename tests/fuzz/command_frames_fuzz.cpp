// What a program of the stage `command` may write, of any content. Input: byte 0 = how many bytes come at a time, less
// one; the rest is the stream.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "pipeline/core/error.h"
#include "stages/command_protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] + 1U;
  millrace::command::ReplyReader reader({millrace::DType::i16, "signal", 4096});
  try {
    for (std::size_t at = 1; at < size;) {
      const auto room = reader.room();
      if (room.empty()) __builtin_trap();  // a reader that has no room would wait for ever
      const std::size_t bytes = std::min({piece, room.size(), size - at});
      std::memcpy(room.data(), data + at, bytes);
      at += bytes;
      const auto reply = reader.filled(bytes);
      if (reply && reply->payload.size() > 4096) __builtin_trap();
    }
  } catch (const millrace::Error&) {
  }
  return 0;
}
