#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "io/faulty.h"
#include "io/reader.h"
#include "io/throttled.h"
#include "io/writer.h"
#include "pipeline/core/io_stats.h"
#include "pipeline/core/options.h"

namespace millrace::io {

/// How a stage wants its input read: its `via` table, checked. Copyable; holds no file.
struct ReadVia {
  std::string transport_requested = "buffered";  ///< what the config says
  std::string transport = "buffered";            ///< what will run: the same, or the fallback the config names
  std::string note;                              ///< for Stage::plan_notes when the fallback runs, else empty
  std::uint64_t block_bytes = 16ULL << 20;       ///< preferred length of one read; never 0
  Throttle throttle;
  Fault fault;
};

/// When written data is forced onto the device.
enum class Fsync {
  never,     ///< the kernel decides; a crash may lose a published file
  close,     ///< once, before the file gets its final name
  interval,  ///< every fsync_bytes written, and before the file gets its final name
};

/// How a stage wants its output written: its `via` table, checked. Copyable; holds no file.
struct WriteVia {
  std::string transport_requested = "buffered";
  std::string transport = "buffered";
  std::string note;
  Fsync fsync = Fsync::close;
  std::uint64_t fsync_bytes = 256ULL << 20;  ///< used with Fsync::interval; never 0
  Throttle throttle;
  Fault fault;
};

/// Reads the table `via` of a stage's options. To be called in the stage's constructor: touches no file. Error (kind
/// config, with the position) for a transport that does not exist or that this version has not got, unless the table
/// names a `fallback` that it has.
ReadVia read_via(const Options& options);
WriteVia write_via(const Options& options);

/// Opens a regular file for reading with the transport of `via`: timed(throttled(faulty(backend))), the inner ones only
/// where they are asked for. Error with the path when it cannot be opened or is no regular file.
std::unique_ptr<Reader> open_reader(const std::filesystem::path& path, const ReadVia& via);

/// Creates `path`, which must not exist, and opens it for writing, decorated like open_reader. Stages write through
/// OutputFile (io/output_file.h), which calls this.
std::unique_ptr<Writer> create_writer(const std::filesystem::path& path, const WriteVia& via);

/// One open reader at a time over a list of files, for sources that walk through many. One thread at a time.
class CurrentReader {
 public:
  explicit CurrentReader(ReadVia via) : via_(std::move(via)) {}

  /// The reader of `path`: the open one when it is the same file as last time, else opened anew.
  Reader& at(const std::filesystem::path& path);
  /// What all readers did together.
  IoStats stats() const;

 private:
  ReadVia via_;
  std::unique_ptr<Reader> reader_;
  IoStats closed_;
};

/// Adds the counts of `more` to `sum`; the texts of `sum` stay.
void add_stats(IoStats& sum, const IoStats& more);

}  // namespace millrace::io
