// Side-cars of checksums: whatever the bytes, they are read or refused with an Error.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "io/checksum_file.h"
#include "pipeline/core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint64_t data_bytes = data[0] + 256U * data[1];
  static const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("millrace_fuzz_checksums_" + std::to_string(::getpid()));
  {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(data) + 2, static_cast<std::streamsize>(size - 2));
  }
  try {
    millrace::io::ChecksumFile file(path, data_bytes);
    std::vector<std::uint32_t> sums;
    file.read(0, data_bytes / file.piece_bytes(), sums);
  } catch (const millrace::Error&) {
  }
  std::filesystem::remove(path);
  return 0;
}
