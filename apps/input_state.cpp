#include "apps/input_state.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "apps/environment.h"
#include "io/file_descriptor.h"
#include "io/page_cache.h"
#include "pipeline/core/error.h"

namespace millrace::apps {
namespace {

using Paths = std::vector<std::filesystem::path>;

/// At most this share may be in the page cache in a cold run, and must be at least in a warm one.
constexpr double kColdShare = 0.01;
constexpr double kWarmShare = 0.99;

void read_whole(const std::filesystem::path& path, Interruption& interruption) {
  constexpr std::size_t kBlockBytes = 1U << 20;
  const io::FileDescriptor file = io::open_input(path);
  std::vector<std::byte> block(kBlockBytes);
  while (!interruption.requested()) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error("cannot read the input to warm the page cache", errno).at_path(path);
    if (got == 0) return;
  }
}

}  // namespace

InputState judged(CacheMode mode, double resident, const std::string& when) {
  InputState state{resident, ""};
  if (mode == CacheMode::as_is) return state;
  if (resident < 0) {
    state.problem = fmt::format("what the page cache held of the input {} is not known", when);
  } else if (mode == CacheMode::cold && resident > kColdShare) {
    state.problem =
        fmt::format("{:.1f} % of the input was in the page cache {}, not at most 1 %", resident * 100, when);
  } else if (mode == CacheMode::warm && resident < kWarmShare) {
    state.problem = fmt::format("{:.1f} % of the input was in the page cache {}, not 99 %", resident * 100, when);
  }
  return state;
}

InputState bring_inputs_to(CacheMode mode, const Paths& inputs, Interruption& interruption) {
  if (inputs.empty()) return {};
  for (const auto& input : inputs) {
    if (interruption.requested()) return {};
    if (mode == CacheMode::cold) io::evict(input);
    if (mode == CacheMode::warm) read_whole(input, interruption);
  }
  return judged(mode, look_at_cache(inputs).resident_fraction, "before the run");
}

void require_possible(CacheMode mode, const Paths& inputs) {
  if (mode == CacheMode::as_is) return;
  const std::string name = name_of(mode);
  if (inputs.empty()) {
    throw config_error(fmt::format("--cache {} is about input files, and no stage reads any; use as-is", name));
  }
  for (const auto& input : inputs) {
    const io::Residency here = io::residency_of(input);
    if (mode == CacheMode::cold && here.state == io::Residency::State::memory) {
      throw config_error("--cache cold is not possible: this file system is in memory and has no device to read from")
          .at_path(input);
    }
    if (!here.resident_bytes) {
      throw config_error(
          fmt::format("--cache {} cannot be verified: the kernel does not tell what it has cached of this "
                      "file (it must be yours, or writable); use as-is",
                      name))
          .at_path(input);
    }
  }
}

CacheMode usual_mode(const Paths& inputs) {
  const bool on_devices = std::all_of(inputs.begin(), inputs.end(), [](const auto& input) {
    const auto state = io::residency_of(input).state;
    return state == io::Residency::State::cold || state == io::Residency::State::warm;
  });
  return on_devices && !inputs.empty() ? CacheMode::cold : CacheMode::as_is;
}

}  // namespace millrace::apps
