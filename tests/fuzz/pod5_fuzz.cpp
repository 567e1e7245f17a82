// POD5 files of any content: indexed, and the signal of what the index gives decoded.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "io/pod5_format.h"
#include "pipeline/core/error.h"
#include "tests/support/memory_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  constexpr std::uint64_t kMaxSamples = 1 << 20;  // more is the memory plan's to refuse
  test::MemoryReader reader({reinterpret_cast<const std::byte*>(data), size});
  try {
    io::SignalDecoder decoder;
    std::vector<std::int16_t> samples;
    for (const auto& read : io::index_pod5(reader)) {
      for (const auto& piece : read.pieces) {
        if (piece.samples > kMaxSamples) continue;
        samples.resize(piece.samples);
        try {
          decoder.decode(reader.read(piece.extent).bytes(), read.coding, 0, samples);
        } catch (const Error&) {
        }
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
