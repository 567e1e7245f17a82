#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "io/file_descriptor.h"
#include "io/reader.h"
#include "io/via.h"
#include "io/writer.h"

namespace millrace::io {

/// Whether a transport works at a place, found out by trying.
struct Probe {
  bool works = true;
  std::string reason;  ///< why not; or, when it works, what it does not promise here; may be empty
};

/// What the readers that one thread opens share, as a ring. Made by the transport, kept by who opens them.
class ReaderSession {
 public:
  ReaderSession() = default;
  ReaderSession(const ReaderSession&) = delete;
  ReaderSession& operator=(const ReaderSession&) = delete;
  virtual ~ReaderSession() = default;
};

/// One way to move bytes (contract section 3). The backends know nothing of the decorators around them.
struct Transport {
  std::string_view name;
  std::string_view summary;  ///< for help texts and tables
  /// Reads in flight when the config does not say; 1 = none beside the one that is waited for.
  std::uint32_t read_depth;
  std::uint32_t write_depth;
  /// The transport keeps its own queue of reads; others get reader threads for a depth above 1 (io/queued_reader.h).
  bool queues_reads;
  /// Goes through the page cache, so that advice means something.
  bool cached;
  /// Bytes that a buffer must have beyond the extent, for whole blocks of the device around it.
  std::uint64_t read_padding_bytes;
  /// Memory of a writer beside the chunks, for pieces that are no whole blocks: one such buffer, and one more for each
  /// write in flight where it queues.
  std::uint64_t write_staging_bytes;

  /// Tries the transport on an existing regular file, or on a file without a name in a directory.
  Probe (*probe_read)(const std::filesystem::path& file);
  Probe (*probe_write)(const std::filesystem::path& directory);
  /// Null pointer: the transport's readers share nothing.
  std::shared_ptr<ReaderSession> (*make_session)(const ReadVia& via);
  /// Error with the path when the file cannot be opened or is no regular file. `session`: from make_session, or null.
  std::unique_ptr<Reader> (*open_reader)(const std::filesystem::path& path, const ReadVia& via,
                                         const std::shared_ptr<ReaderSession>& session);
  /// Takes an empty regular file that is open for reading and writing. `path`: for errors.
  std::unique_ptr<Writer> (*open_writer)(FileDescriptor file, const std::filesystem::path& path, const WriteVia& via);
};

/// All of them, `buffered` first.
std::span<const Transport> transports();
/// Null when there is none of that name.
const Transport* find_transport(std::string_view name);
/// "buffered, mmap, ..."
std::string transport_names();

}  // namespace millrace::io
