#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/generate_nanopore.h"
#include "apps/nanopore_simulator.h"
#include "io/hdf5_format.h"

namespace millrace {

struct EncodedRead {
  SimulatedRead read;
  std::vector<std::byte> chunk;  ///< the samples as FAST5 stores them; empty where the output encodes them
};

/// A file of simulated reads in the making, under another name until publish(); gone when that is not called.
class NanoporeOutput {
 public:
  NanoporeOutput() = default;
  NanoporeOutput(const NanoporeOutput&) = delete;
  NanoporeOutput& operator=(const NanoporeOutput&) = delete;
  virtual ~NanoporeOutput() = default;

  /// Bytes of encoded signal that the read took.
  virtual std::uint64_t add(const EncodedRead& encoded) = 0;
  virtual void publish() = 0;
};

/// `filters`: how the chunks are encoded.
std::unique_ptr<NanoporeOutput> make_fast5_output(const GenerateNanopore& options, const NanoporeProfile& profile,
                                                  std::vector<io::Hdf5Filter> filters);
/// Encodes the reads itself. Error (kind config) for a coding that POD5 does not have.
std::unique_ptr<NanoporeOutput> make_pod5_output(const GenerateNanopore& options, const NanoporeProfile& profile);
/// The same for BLOW5, or SLOW5 text by the extension .slow5. "vbz" is zstd over svb-zd here, "deflate" zlib over
/// svb-zd.
std::unique_ptr<NanoporeOutput> make_slow5_output(const GenerateNanopore& options, const NanoporeProfile& profile);

using OutputMaker = std::function<std::unique_ptr<NanoporeOutput>(const GenerateNanopore& options)>;
/// Many files of options.reads_per_file reads each, made one after the other. `options` must outlive it.
std::unique_ptr<NanoporeOutput> make_split_output(const GenerateNanopore& options, OutputMaker make);
/// "dir/reads_7.pod5" of "dir/reads.pod5" and 7.
std::filesystem::path numbered_path(const std::filesystem::path& path, std::uint64_t number);

/// Name of the run that `seed` makes: 40 hexadecimal digits.
std::string simulated_run_id(std::uint64_t seed);

/// When each read begins, by the reads of its channel before it.
class ChannelClocks {
 public:
  explicit ChannelClocks(const NanoporeProfile& profile) : ends_(static_cast<std::size_t>(profile.channels)) {}
  /// In samples since the start of the run. Once per read, in order.
  std::uint64_t start_of(const SimulatedRead& read);

 private:
  std::vector<std::uint64_t> ends_;
};

}  // namespace millrace
