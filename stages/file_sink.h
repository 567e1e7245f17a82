#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/open_file.h"
#include "io/output_file.h"
#include "pipeline/core/stage.h"

namespace millrace {

/// What sinks share that write one file: the options `path` and `via`, a file that appears under its name when it is
/// complete, and everything that a report wants to know of it.
///
/// A derived class calls open() in prepare() and appends to output() in consume(); what it still has to write at the
/// end of the stream it writes in complete().
class FileSink : public Sink {
 public:
  void finish(End end) final;
  void abandon() noexcept final;
  std::vector<Output> outputs() const final;

  std::uint64_t state_bytes() const override { return output_ ? output_->state_bytes() : 0; }
  BufferNeeds buffer_needs() const final { return output_ ? output_->buffer_needs() : BufferNeeds{}; }
  std::optional<IoStats> io_stats() const final;
  std::vector<std::string> plan_notes() const final;

 protected:
  /// `help`: of the option `path`.
  FileSink(const Options& options, const std::string& help);

  /// Checks the place and settles the transport; creates nothing. Error as io::OutputFile.
  void open();
  /// From open() on.
  io::OutputFile& output() { return *output_; }
  /// Called once after the last chunk, before the file gets its name.
  virtual void complete() {}

 private:
  std::filesystem::path path_;
  io::WriteVia via_;
  std::optional<io::OutputFile> output_;
};

}  // namespace millrace
