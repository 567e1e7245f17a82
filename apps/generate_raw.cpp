#include "apps/generate_raw.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <vector>

#include "io/open_file.h"
#include "io/output_file.h"
#include "stages/counter_random.h"

namespace millrace {

void generate_raw(const std::filesystem::path& path, std::uint64_t bytes, std::uint64_t seed) {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::uint64_t kBlockWords = 1 << 17;
  io::WriteVia via;
  via.fsync = io::Fsync::never;  // it can be made again
  io::OutputFile output(path, via);
  std::vector<std::uint64_t> words(kBlockWords);
  for (std::uint64_t written = 0; written < bytes;) {
    const std::uint64_t first = written / sizeof(std::uint64_t);
    for (std::uint64_t i = 0; i < kBlockWords; ++i) words[i] = counter_random(seed, 0, first + i);
    const std::uint64_t piece = std::min<std::uint64_t>(bytes - written, kBlockWords * sizeof(std::uint64_t));
    output.append(std::as_bytes(std::span(words)).first(piece));
    written += piece;
  }
  output.publish();
}

}  // namespace millrace
