#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/open_file.h"
#include "io/unpublished_file.h"
#include "io/writer.h"
#include "pipeline/core/io_stats.h"
#include "pipeline/core/stage.h"

namespace millrace::io {

/// A file that appears under its final name only when it is complete. Until then its bytes are in a file of the same
/// directory that has no name or, where that cannot be, a hidden one (io/unpublished_file.h). One thread at a time.
///
/// A sink constructs it in prepare(), appends in consume(), calls finish(end) in finish() and discard() in abandon().
class OutputFile {
 public:
  /// Checks that `target` can be made: its directory exists and can be written, `target` is absent or a regular file
  /// (which publish() will replace; a symbolic link is followed), and no other OutputFile of this process has it.
  /// Settles the transport for its directory. Creates nothing yet. Error with the path.
  OutputFile(std::filesystem::path target, WriteVia via);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Discards when nothing was decided.
  ~OutputFile();

  /// Adds `bytes` at the end. Pieces below 64 KiB are gathered into writes of 256 KiB (counted as copied). Error with
  /// path and offset; a file that failed once has failed for good and can only be discarded.
  void append(std::span<const std::byte> bytes);
  /// The same; the transport may go on writing large pieces from the buffer after this returns.
  void append(const Buffer& buffer);
  /// Text, as bytes.
  void append(std::string_view text) { append(std::as_bytes(std::span(text.data(), text.size()))); }

  /// Overwrites bytes that were appended before, e.g. a header with counts. Error when it reaches past the end.
  void overwrite(std::uint64_t offset, std::span<const std::byte> bytes);

  /// Completes the file under its final name: what is gathered is written, forced to the device as WriteVia::fsync
  /// says, given its name, and (unless `never`) the directory is forced too. When only that last step fails, the file
  /// stands complete under its final name although the error is thrown.
  void publish();
  /// As publish(), but under "<target>.partial": the output of a run that was interrupted and drained.
  void keep_as_partial();
  /// publish() or keep_as_partial(), as the stream ended.
  void finish(Sink::End end);
  /// Removes what was written. Nothing happens after publish() or keep_as_partial().
  void discard() noexcept;

  /// Bytes appended so far.
  std::uint64_t size() const { return size_; }
  /// What was written so far, fsync of the file included.
  IoStats stats() const;
  /// The file under the name that finish() gave it; empty before.
  std::vector<Sink::Output> outputs() const;
  /// For Stage::plan_notes and Stage::buffer_needs.
  std::vector<std::string> plan_notes() const;
  BufferNeeds buffer_needs() const { return io::buffer_needs(via_); }
  /// Memory beside the chunks, for Stage::state_bytes.
  std::uint64_t state_bytes() const;

 private:
  enum class State { untouched, open, finished, discarded };

  void check_open() const;
  Writer& writer();
  template <typename Write>
  void write_out(std::uint64_t bytes, Write&& write);
  void gather(std::span<const std::byte> bytes);
  void flush();
  void finish_as(const std::filesystem::path& final_path);
  template <typename Call>
  void naming_target(Call&& call) const;

  std::filesystem::path target_;
  WriteVia via_;
  State state_ = State::untouched;
  std::optional<UnpublishedFile> file_;
  std::unique_ptr<Writer> writer_;
  std::filesystem::path final_path_;
  std::vector<std::byte> gathered_;  // the last bytes of the file, not written yet
  std::uint64_t size_ = 0;
  std::uint64_t unsynced_bytes_ = 0;
  IoStats closed_stats_;
};

}  // namespace millrace::io
