// Runs a fuzz target without libFuzzer: over every seed of the directories given, then over a fixed number of random
// mutations of them. The seed of the random numbers is fixed, so a failure comes back. Usage: test_fuzz_x CORPUS...

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

constexpr int kMutations = 20'000;
constexpr std::size_t kMaxGrowth = 64;

std::vector<Input> read_seeds(int count, char** directories) {
  std::vector<std::filesystem::path> files;
  for (int i = 0; i < count; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(directories[i])) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Input> seeds;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return seeds;
}

std::size_t below(std::size_t bound, std::mt19937_64& random) {
  return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
}

/// One of: flip a bit, set a byte to an extreme, cut the end, repeat a piece, overwrite with a piece of another seed.
void mutate(Input& input, const std::vector<Input>& seeds, std::mt19937_64& random) {
  if (input.empty()) {
    input.push_back(static_cast<std::uint8_t>(random()));
    return;
  }
  const std::size_t at = below(input.size(), random);
  switch (below(5, random)) {
    case 0:
      input[at] ^= static_cast<std::uint8_t>(1U << below(8, random));
      break;
    case 1: {
      constexpr std::uint8_t kExtremes[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
      input[at] = kExtremes[below(std::size(kExtremes), random)];
      break;
    }
    case 2:
      input.resize(at);
      break;
    case 3: {
      const Input piece(input.begin() + static_cast<std::ptrdiff_t>(at),
                        input.begin() + static_cast<std::ptrdiff_t>(std::min(input.size(), at + kMaxGrowth)));
      input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), piece.begin(), piece.end());
      break;
    }
    default: {
      const Input& other = seeds[below(seeds.size(), random)];
      const std::size_t length = std::min({other.size(), input.size() - at, kMaxGrowth});
      std::copy_n(other.begin(), length, input.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    }
  }
}

void run(const std::vector<Input>& seeds) {
  for (const auto& seed : seeds) LLVMFuzzerTestOneInput(seed.data(), seed.size());
  std::mt19937_64 random(20261130);
  for (int i = 0; i < kMutations; ++i) {
    Input input = seeds[below(seeds.size(), random)];
    const std::size_t steps = 1 + below(6, random);
    for (std::size_t step = 0; step < steps; ++step) mutate(input, seeds, random);
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto seeds = read_seeds(argc - 1, argv + 1);
    if (seeds.empty()) throw std::runtime_error("no seeds");  // nothing would have been tested
    run(seeds);
    std::printf("%zu seeds and %d mutations\n", seeds.size(), kMutations);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fuzz target let an exception out: %s\n", error.what());
    return 1;
  }
}
