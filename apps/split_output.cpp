#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/nanopore_output.h"

namespace millrace {
namespace {

/// Reads in files of so many each. A file is published when it is full, so that only one is open at a time; what was
/// published is removed again when the last one is not.
class SplitOutput final : public NanoporeOutput {
 public:
  SplitOutput(const GenerateNanopore& options, OutputMaker make) : options_(options), make_(std::move(make)) {}
  ~SplitOutput() override {
    std::error_code ignored;
    for (const auto& path : published_) std::filesystem::remove(path, ignored);
  }

  std::uint64_t add(const EncodedRead& encoded) override {
    if (file_ == nullptr) {
      current_ = options_;
      current_.path = numbered_path(options_.path, published_.size());
      file_ = make_(current_);
    }
    const std::uint64_t bytes = file_->add(encoded);
    if (++reads_ == options_.reads_per_file) publish_file();
    return bytes;
  }

  void publish() override {
    if (file_ != nullptr) publish_file();
    published_.clear();
  }

 private:
  void publish_file() {
    file_->publish();
    file_.reset();
    published_.push_back(current_.path);
    reads_ = 0;
  }

  const GenerateNanopore& options_;
  OutputMaker make_;
  GenerateNanopore current_;
  std::unique_ptr<NanoporeOutput> file_;
  std::uint64_t reads_ = 0;  // in the file
  std::vector<std::filesystem::path> published_;
};

}  // namespace

std::filesystem::path numbered_path(const std::filesystem::path& path, std::uint64_t number) {
  return path.parent_path() / fmt::format("{}_{}{}", path.stem().string(), number, path.extension().string());
}

std::unique_ptr<NanoporeOutput> make_split_output(const GenerateNanopore& options, OutputMaker make) {
  return std::make_unique<SplitOutput>(options, std::move(make));
}

}  // namespace millrace
