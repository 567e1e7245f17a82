#include "stages/file_sink.h"

namespace millrace {

FileSink::FileSink(const Options& options, const std::string& help)
    : path_(options.require<std::filesystem::path>("path", help)), via_(io::write_via(options)) {}

void FileSink::open() { output_.emplace(path_, via_); }

void FileSink::finish(End end) {
  complete();
  output_->finish(end);
}

void FileSink::abandon() noexcept {
  if (output_) output_->discard();
}

std::vector<Sink::Output> FileSink::outputs() const { return output_ ? output_->outputs() : std::vector<Output>{}; }

std::optional<IoStats> FileSink::io_stats() const { return output_ ? std::optional(output_->stats()) : std::nullopt; }

std::vector<std::string> FileSink::plan_notes() const {
  return output_ ? output_->plan_notes() : std::vector<std::string>{};
}

}  // namespace millrace
