#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/arrow_ipc_writer.h"
#include "io/run_info.h"

namespace millrace::io {

/// One run as the run information table of a POD5 file has it.
struct Pod5RunRow {
  std::string id;            ///< acquisition id
  RunInfo info;              ///< what is known of it, by the names of POD5's columns, or of FAST5's attributes
  double digitisation = 0;   ///< levels of the converter, where `info` has no adc_min and adc_max; 0 = not known
  double sampling_rate = 0;  ///< Hz, where `info` has no sample_rate; 0 = not known
};

/// Appends the table; gives its bytes. What is not known is empty or 0. Facts that no column has go into the maps
/// context_tags and tracking_id, as FAST5 divides them.
std::uint64_t write_pod5_run_table(const std::vector<Pod5RunRow>& runs, const ArrowTableWriter::Metadata& metadata,
                                   const ArrowTableWriter::Append& append);

/// Milliseconds since 1970 of "2019-05-13T11:11:43Z" or "2019-05-13 11:11:43.123+00:00" (UTC whatever stands behind the
/// seconds), or of such a number itself; 0 for anything else.
std::int64_t milliseconds_of(const std::string& time);

/// When a run began, in milliseconds since 1970, by `acquisition_start_time` or FAST5's `exp_start_time` (which counts
/// seconds where it is a number); 0 when neither says.
std::int64_t start_ms_of(const RunInfo& info);

}  // namespace millrace::io
