#include "apps/explain_inputs.h"

#include <fmt/format.h>

#include <fstream>
#include <set>

#include "io/page_cache.h"
#include "pipeline/core/error.h"

namespace millrace::apps {
namespace {

using State = io::Residency::State;

/// A file that is to be warm may lack this part of its pages.
constexpr double kWarmFraction = 0.99;

void read_all(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  static constexpr std::size_t kPiece = 256UL << 10;
  std::vector<char> piece(kPiece);
  while (stream.read(piece.data(), kPiece)) {
  }
  if (!stream.eof()) throw Error("cannot be read").at_path(file);
}

bool is_warm(const io::Residency& residency) {
  return residency.resident_bytes &&
         static_cast<double>(*residency.resident_bytes) >= kWarmFraction * static_cast<double>(residency.file_bytes);
}

double percent(const io::Residency& residency) {
  if (residency.file_bytes == 0) return 0;
  return 100.0 * static_cast<double>(residency.resident_bytes.value_or(0)) / static_cast<double>(residency.file_bytes);
}

}  // namespace

InputsKept::InputsKept(const std::vector<std::filesystem::path>& files, const std::string& state) {
  for (const auto& file : std::set<std::filesystem::path>(files.begin(), files.end())) {
    const State found = io::residency_of(file).state;
    const bool known = found == State::cold || found == State::warm;
    if (state == "cold" && !known) {
      throw config_error(found == State::memory ? "lies in memory and cannot be made cold"
                                                : "the kernel does not tell what it has cached of it")
          .at_path(file);
    }
    if (state == "warm" && found == State::unknown) {
      throw config_error("the kernel does not tell what it has cached of it").at_path(file);
    }
    if (state == "as-is" || !known) {
      ++left_alone_;
    } else if (state == "cold" || (state == "auto" && found == State::cold)) {
      cold_.push_back(file);
    } else {
      warm_.push_back(file);
    }
  }
}

std::string InputsKept::restore() const {
  for (const auto& file : cold_) {
    io::evict(file);
    const io::Residency now = io::residency_of(file);
    if (now.state != State::cold)
      return fmt::format("{:.1f} % of {} were cached before it began", percent(now), file.string());
  }
  for (const auto& file : warm_) {
    if (is_warm(io::residency_of(file))) continue;
    read_all(file);
    const io::Residency now = io::residency_of(file);
    if (!is_warm(now)) return fmt::format("only {:.1f} % of {} stayed cached", percent(now), file.string());
  }
  return "";
}

std::string InputsKept::text() const {
  std::string text;
  const auto add = [&text](std::size_t count, const char* how) {
    if (count == 0) return;
    text += text.empty() ? fmt::format("{} input{} {}", count, count == 1 ? "" : "s", how)
                         : fmt::format(", {} {}", count, how);
  };
  add(cold_.size(), "kept cold");
  add(warm_.size(), "kept warm");
  add(left_alone_, "as found");
  return text;
}

}  // namespace millrace::apps
