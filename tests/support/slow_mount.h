#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/command.h"
#include "tests/support/slowfs/control.h"
#include "tests/support/temp_directory.h"

namespace millrace::test {

/// A directory that slowfs (tests/support/slowfs) shows again, for one test. The destructor unmounts it and ends the
/// server, whatever state it is in. Needs FUSE: ask mounted() and skip with reason().
class SlowMount {
 public:
  /// `keys`: of `slowfs mount`, e.g. {"max_readahead=24576"}.
  explicit SlowMount(const std::vector<std::string>& keys = {});
  SlowMount(const SlowMount&) = delete;
  SlowMount& operator=(const SlowMount&) = delete;
  ~SlowMount();

  bool mounted() const { return control_.has_value(); }
  const std::string& reason() const { return reason_; }

  /// Where slowfs shows the files, and where they really are. Writing a file to source() makes no request.
  const std::filesystem::path& directory() const { return directory_; }
  const TempDirectory& source() const { return source_; }

  /// Settings and what was seen. While mounted() only.
  slowfs::Control& control() const { return **control_; }

  /// Waits until so many requests are held up by `stall`; false when that does not happen within a minute.
  bool wait_for_stalled(std::uint32_t requests) const;

  struct Request {
    slowfs::Kind kind;
    std::uint64_t offset;
    std::uint64_t bytes;
  };
  /// What was seen since the last reset, in order of arrival.
  std::vector<Request> requests() const;
  /// Length -> how many reads asked for it.
  std::map<std::uint64_t, std::uint64_t> reads_by_length() const;
  /// KiB that the kernel reads ahead here (128 unless max_readahead says less); 0 when it does not tell.
  std::uint64_t read_ahead_kib() const;
  /// For the message of a test that fails: "3 x 131072 1 x 4096, most in flight 2".
  std::string seen() const;

  /// Sends SIGTERM to the server and waits for it; gives how it ended. Once.
  CommandResult end_server();

 private:
  TempDirectory source_;
  TempDirectory home_;  // of the mount point and the control file
  std::filesystem::path directory_;
  std::string reason_;
  std::optional<Command> server_;
  std::optional<slowfs::ControlFile> control_;
};

}  // namespace millrace::test
