#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "io/pod5_runs.h"
#include "io/reader.h"
#include "io/signal_coding.h"
#include "pipeline/core/attributes.h"
#include "pipeline/core/error.h"

namespace millrace::io {

/// One row of a POD5 signal table: a piece of a read's signal.
struct Pod5Piece {
  Extent extent;              ///< of its encoded bytes in the file; inside it, checked
  std::uint64_t samples = 0;  ///< exactly so many; never 0
};

/// One read of a POD5 file: where its encoded signal lies, and what is known about it.
struct Pod5Read {
  /// Always: read_id (a UUID as text), samples (integer), coding (text, see signal_coding.h). When the file has them,
  /// by the names that FAST5 uses: read_number, start_time, start_mux (integers; times in samples), channel_number,
  /// end_reason (text), median_before (pA), digitisation, offset, range, sampling_rate (numbers; the current in
  /// pA is (sample + offset) * range / digitisation). By POD5's own names: pore_type (text), end_reason_forced (0 or
  /// 1), num_minknow_events, num_reads_since_mux_change (integers), time_since_mux_change, tracked_scaling_scale and
  /// _shift, predicted_scaling_scale and _shift, open_pore_level (numbers). Numbers that are not known (NaN), empty
  /// texts and those that cannot be printed count as absent.
  Attributes attributes;
  /// Shared by the reads of a run; its id and info are for the attributes "run_id" and "run_info". Null when the file
  /// does not say of which run the read is.
  std::shared_ptr<const Pod5Run> run;
  std::uint64_t samples = 0;
  SignalCoding coding;
  std::vector<Pod5Piece> pieces;  ///< in order of samples; none for a read without samples
};

/// The reads of a POD5 file of any version (v0 to v4: by the columns that are there), in the order of their signal in
/// the file. A file may hold none. Reads the tables but not the signal. Error with the path and the offset: no POD5
/// file, not complete, damage, what is not supported, two reads of one id, rows that belong to no read or to another.
/// `seen`, when not null, is set to the number of reads that the file claims, also when it is bad, as far as that can
/// be told.
std::vector<Pod5Read> index_pod5(Reader& reader, std::uint64_t* seen = nullptr);
std::vector<Pod5Read> index_pod5(const std::filesystem::path& file, std::uint64_t* seen = nullptr);

/// The same, read by read: for files of millions of reads, of which what is known is better packed at once. The reads
/// that came before an Error have come.
void index_pod5(const std::filesystem::path& file, const std::function<void(Pod5Read)>& take);

/// What came of indexing one of several files.
struct Pod5Index {
  std::vector<Pod5Read> reads;
  std::optional<Error> error;  ///< when set, there are no reads
  std::uint64_t seen = 0;      ///< reads that the file claims; 0 when it could not be told
};

/// The same for many files, side by side, one answer each.
std::vector<Pod5Index> index_pod5(std::span<const std::filesystem::path> files);

}  // namespace millrace::io
