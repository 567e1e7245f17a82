#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace millrace::apps {

/// Brings input files into the same cache state before every run of an experiment.
class InputsKept {
 public:
  /// `state`: "cold" (evicted), "warm" (read), "as-is", or "auto": each file stays what it is found to be now; what the
  /// kernel does not tell about, or what has no device, is left alone. Error (kind config) with the path for "cold"
  /// where a file cannot be made or seen to be cold, and for "warm" where the kernel does not tell.
  InputsKept(const std::vector<std::filesystem::path>& files, const std::string& state);

  /// Evicts and reads, then looks. Gives why the next run cannot count, naming the first file that is not as it should
  /// be; empty when all are.
  std::string restore() const;

  /// "2 inputs kept cold, 1 kept warm, 1 as it is"; empty when there is no input.
  std::string text() const;

 private:
  std::vector<std::filesystem::path> cold_;
  std::vector<std::filesystem::path> warm_;
  std::size_t left_alone_ = 0;
};

}  // namespace millrace::apps
