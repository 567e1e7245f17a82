#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "io/hdf5_format.h"
#include "io/signal_coding.h"
#include "pipeline/core/attributes.h"

namespace millrace::io {

/// One read of a FAST5 file: where its encoded signal lies, and what is known about it.
struct Fast5Read {
  /// Always: read_id (text), samples (integer), coding (text, see signal_coding.h).
  /// When the file has them: run_id, channel_number, end_reason (text); read_number, start_time, duration, start_mux
  /// (integers; times in samples); median_before (pA), digitisation, offset, range, sampling_rate (numbers; the
  /// current in pA is (sample + offset) * range / digitisation). Numbers that a file stores as text and the reverse
  /// are converted; what cannot be converted or printed counts as absent.
  Attributes attributes;
  std::uint64_t samples = 0;
  SignalCoding coding;
  /// Samples that each piece holds. The last one may hold more than are left (the surplus has no meaning), or only
  /// those.
  std::uint64_t piece_samples = 0;
  std::vector<Hdf5Chunk> pieces;   ///< in order of samples; `first` counts samples
  std::vector<std::byte> compact;  ///< the samples themselves, when they are stored inside the metadata
};

/// The reads of a FAST5 file, multi-read (read_<id>/Raw/Signal) or single-read (Raw/Reads/Read_<n>/Signal), in the
/// order of their signal in the file. A file that says it is FAST5 may hold none. Error with the path (and the read):
/// not a FAST5 file, damage, a coding or element type that is not supported, signal beyond the end of the file.
/// Runs the HDF5 library in this process: for trusted files and tests.
std::vector<Fast5Read> index_fast5(const std::filesystem::path& file);

/// The same in a child process, so that a file that brings the HDF5 library down is an Error like any other.
std::vector<Fast5Read> index_fast5_isolated(const std::filesystem::path& file);

}  // namespace millrace::io
