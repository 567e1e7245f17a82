// Encoded reads as decode_signal gets them, with any attributes and bytes: what a hostile FAST5 file can make of them.
// (The HDF5 library itself is not fuzzed here: it runs in a process of its own, see tests/io/fast5_format_test.cpp.)
// Input: line 1 = samples and piece_samples, line 2 = coding, line 3 = pieces (may be empty), the rest = the bytes.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>

#include "pipeline/core/error.h"
#include "stages/decode_signal.h"

namespace {

std::shared_ptr<const millrace::Attributes> attributes_of(std::istringstream& input) {
  millrace::Attributes attributes;
  std::string line;
  std::getline(input, line);
  std::int64_t samples = 0;
  std::int64_t piece_samples = 0;
  std::istringstream numbers(line);
  if (numbers >> samples) attributes.set("samples", samples);
  if (numbers >> piece_samples) attributes.set("piece_samples", piece_samples);
  if (std::getline(input, line)) attributes.set("coding", line);
  if (std::getline(input, line) && !line.empty()) attributes.set("pieces", line);
  return std::make_shared<const millrace::Attributes>(std::move(attributes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t kMaxDecoded = 1 << 16;
  std::istringstream input(std::string(reinterpret_cast<const char*>(data), size));
  const auto attributes = attributes_of(input);
  const std::size_t header = input.good() ? static_cast<std::size_t>(input.tellg()) : size;
  millrace::Buffer buffer = millrace::heap_lender().lend(size - header);
  if (header < size) std::memcpy(buffer.writable().data(), data + header, size - header);
  millrace::Chunk chunk(std::move(buffer), millrace::DType::u8);
  chunk.set_attributes(attributes);
  millrace::DecodeSignal decode(millrace::Options{});
  decode.prepare({millrace::DType::u8, "signal.encoded", kMaxDecoded, kMaxDecoded});
  try {
    decode.process(std::move(chunk));
  } catch (const millrace::Error&) {
  }
  return 0;
}
