#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5_format.h"
#include "io/signal_coding.h"
#include "pipeline/core/attributes.h"
#include "pipeline/core/error.h"

namespace millrace::io {

/// What the reads of one run have in common.
struct Fast5Run {
  std::string id;    ///< the read's own "run_id", else that of the group tracking_id; may be empty
  std::string info;  ///< what the groups tracking_id and context_tags say, as the attribute "run_info" (run_info.h)
};

/// One read of a FAST5 file: where its encoded signal lies, and what is known about it.
struct Fast5Read {
  /// Always: read_id (text), samples (integer), coding (text, see signal_coding.h).
  /// When the file has them: channel_number, end_reason, pore_type (text); read_number, start_time, duration, start_mux
  /// (integers; times in samples); median_before (pA), digitisation, offset, range, sampling_rate (numbers; the
  /// current in pA is (sample + offset) * range / digitisation). Numbers that a file stores as text and the reverse
  /// are converted; what cannot be converted or printed, or is no finite number, counts as absent. A sampling_rate that
  /// channel_id lacks is taken from the sample_frequency of context_tags; an end_reason that is a bare number has the
  /// name that MinKNOW's files give to it.
  Attributes attributes;
  /// Shared by the reads of a run; its id and info are for the attributes "run_id" and "run_info". Null when the file
  /// says nothing of the run. Facts have the names of FAST5's attributes, and "acquisition_id" is the id of the run, as
  /// POD5 calls it.
  std::shared_ptr<const Fast5Run> run;
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
/// not a FAST5 file, no raw signal, damage, a coding or element type that is not supported, signal beyond the end of
/// the file. `seen`, when not null, is set to the number of reads that the file names, also when one of them is bad.
/// Runs the HDF5 library in this process: for trusted files and tests.
std::vector<Fast5Read> index_fast5(const std::filesystem::path& file, std::uint64_t* seen = nullptr);

/// The same in a child process, so that a file that brings the HDF5 library down is an Error like any other.
std::vector<Fast5Read> index_fast5_isolated(const std::filesystem::path& file);

/// What came of indexing one of several files.
struct Fast5Index {
  std::vector<Fast5Read> reads;
  std::optional<Error> error;  ///< when set, there are no reads
  std::uint64_t seen = 0;      ///< reads that the file names; 0 when it could not be told
};

/// The same for many files, one answer each, in as many child processes as there are cores: each indexes file after
/// file, because starting one costs more than a small file.
std::vector<Fast5Index> index_fast5_isolated(std::span<const std::filesystem::path> files);

}  // namespace millrace::io
