#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/file_descriptor.h"
#include "io/slow5_format.h"
#include "io/slow5_record.h"
#include "pipeline/core/error.h"

namespace millrace::test {

/// Everything that a run does to a SLOW5 or BLOW5 file of these bytes: index, records, samples, attributes.
inline void read_slow5_file(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t kMaxSamples = 1 << 16;
  const io::FileDescriptor file(::memfd_create("slow5", MFD_CLOEXEC));
  if (::write(file.get(), data, size) != static_cast<ssize_t>(size)) return;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    const auto index = io::index_slow5("/proc/self/fd/" + std::to_string(file.get()));
    io::Slow5RecordDecoder decoder;
    for (const auto& extent : index.records) {
      try {
        const auto record = decoder.open(bytes.subspan(extent.offset, extent.length), index.coding, index.header,
                                         std::min(index.max_samples, kMaxSamples));
        std::vector<std::int16_t> samples(record.samples);
        decoder.decode(record, index.coding, samples);
        Attributes attributes;
        io::Slow5RecordDecoder::add_attributes(record, index.coding, index.header, attributes);
      } catch (const Error&) {
      }
    }
  } catch (const Error&) {
  }
}

}  // namespace millrace::test
