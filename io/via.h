#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "io/faulty.h"
#include "io/throttled.h"
#include "pipeline/core/options.h"

namespace millrace::io {

/// What the kernel is told about reads that are to come.
struct AdvicePolicy {
  enum class Kind {
    none,        ///< nothing: the kernel's own read-ahead works as it does for everybody
    normal,      ///< said once for the whole file: the kernel's default
    sequential,  ///< said once: twice the read-ahead
    random,      ///< said once: no read-ahead
    willneed,    ///< said again and again: fetch the window in front of the reader
    populate,    ///< mmap only: page tables are filled and pages fetched, extent by extent, before they are handed on
  };
  enum class Scope {
    window,  ///< willneed covers `window_bytes` in front of the reader, in steps that the kernel accepts
    file,    ///< willneed is one call for the whole file: the naive way, of which the kernel does the first step only
  };
  Kind kind = Kind::none;
  Scope scope = Scope::window;
  std::uint64_t window_bytes = 16ULL << 20;
  std::uint64_t step_bytes = 0;  ///< 0 = the most that the device's kernel settings let one call fetch; see settle()
};

/// "willneed" and so on.
std::string name_of(AdvicePolicy::Kind kind);

/// How a stage wants its input read: its `via` table, checked. Copyable; holds no file.
struct ReadVia {
  std::string transport_requested = "buffered";  ///< what the config says
  std::string transport = "buffered";            ///< what will run: the same, or after settle() the fallback
  std::string fallback;                          ///< transport that may run instead; empty = none
  std::string note;                              ///< for Stage::plan_notes when the fallback runs, else empty
  /// For Stage::plan_notes: settings that cannot do here what they are for. Filled by settle().
  std::vector<std::string> warnings;
  std::uint64_t block_bytes = 16ULL << 20;  ///< preferred length of one read; never 0
  std::uint32_t depth = 0;                  ///< reads in flight; 0 = what suits the transport
  AdvicePolicy advice;
  bool drop_behind = false;      ///< the page cache forgets what was read
  bool consumer_faults = false;  ///< mmap only: whoever touches a page first waits for it
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
  std::string fallback;
  std::string note;
  std::vector<std::string> warnings;  ///< from settle(): what the transport does not do at its place
  std::uint32_t depth = 0;            ///< writes in flight; 0 = what suits the transport
  Fsync fsync = Fsync::close;
  std::uint64_t fsync_bytes = 256ULL << 20;        ///< used with Fsync::interval; never 0
  std::uint64_t write_behind_bytes = 16ULL << 20;  ///< buffered: writeback is started every so many bytes; 0 = never
  std::uint64_t preallocate_bytes = 0;             ///< room is asked for in steps of so many bytes; 0 = never
  bool drop_behind = false;                        ///< the page cache forgets what is on the device
  Throttle throttle;
  Fault fault;
};

/// Reads the table `via` of a stage's options. To be called in the stage's constructor: touches no file. Error (kind
/// config, with the position) for what cannot be, whatever the files are.
ReadVia read_via(const Options& options);
WriteVia write_via(const Options& options);

/// Probes the transport on the file systems of `files`, once each, and puts `fallback` in its place (with a note) where
/// one refuses. Error (kind config) with the reason when there is no fallback. Fills `warnings`, and the step of
/// willneed where the config leaves it to the devices: the least that one call starts on any of them. To be called in
/// prepare().
void settle(ReadVia& via, const std::vector<std::filesystem::path>& files);
/// The same for a file that is to be made in `directory`, which must exist.
void settle(WriteVia& via, const std::filesystem::path& directory);

}  // namespace millrace::io
