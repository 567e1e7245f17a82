#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/reader.h"
#include "io/slow5_header.h"
#include "pipeline/core/error.h"

namespace millrace::io {

/// What an index is to hold.
struct Slow5Query {
  /// Whether a read is wanted, by its id; empty = all are. In zstd files this costs reading most of the file.
  std::function<bool(std::string_view id)> wants;
  /// Told of every record that has the id of an earlier one and is left out therefore; empty = that is an Error.
  std::function<void(const Error&)> on_duplicate;
  /// The index ends after so many records.
  std::uint64_t max_records = std::numeric_limits<std::uint64_t>::max();
  /// When not null: set to the number of records seen, also when the index fails; the damaged one counts.
  std::uint64_t* seen = nullptr;
};

/// Where the records of a SLOW5 or BLOW5 file lie, and what its header says.
struct Slow5Index {
  Slow5Header header;
  Slow5Coding coding;
  std::uint64_t bytes = 0;               ///< of the file
  std::vector<Extent> records;           ///< in the order of the file; with the 8 bytes of their length, or whole lines
  std::vector<std::string> ids;          ///< of the records, when the query has `wants`; else empty
  std::uint64_t max_samples = 0;         ///< no record has more
  std::optional<std::uint64_t> samples;  ///< of all records together, where that can be told without unpacking them
};

/// Indexes a file by its first bytes: BLOW5 by the lengths of its records, of which it reads a few hundred bytes each;
/// SLOW5 text by its line ends, for which it reads all of it. Error with path and offset: neither format, a version or
/// compression that is not supported, damage, records that claim more than they can hold, an id that occurs twice (not
/// found in zstd files unless the query asks for ids), a file that is cut off or has no end mark.
Slow5Index index_slow5(const std::filesystem::path& file, const Slow5Query& query = {});

}  // namespace millrace::io
