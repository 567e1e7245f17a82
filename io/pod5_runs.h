#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "io/arrow_ipc.h"

namespace millrace::io {

/// What the reads of one run have in common.
struct Pod5Run {
  std::string id;                       ///< the acquisition id
  std::string info;                     ///< all that is known of it, as the attribute "run_info" (io/run_info.h)
  std::optional<double> digitisation;   ///< levels of the converter
  std::optional<double> sampling_rate;  ///< Hz
};

/// By acquisition id.
using Pod5Runs = std::map<std::string, std::shared_ptr<const Pod5Run>>;

/// Adds the rows of one batch of run information: `fields` and `arrays` are the columns of that table (since v3), or
/// the parts of the dictionary of the column "run_info" (before). Facts keep the names of their columns, times as
/// milliseconds since 1970; what the maps tracking_id and context_tags say comes under its own name. Error when there
/// is no column "acquisition_id".
void add_pod5_runs(const ArrowFile& table, const ArrowBatch& batch, std::span<const ArrowField> fields,
                   std::span<const ArrowArray> arrays, Pod5Runs& runs);

}  // namespace millrace::io
