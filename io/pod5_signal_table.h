#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/arrow_ipc.h"
#include "io/signal_coding.h"

namespace millrace::io {

/// A UUID in the order of its text.
using ReadUuid = std::array<std::byte, 16>;

/// "0000173c-bf67-44e7-9a9c-1ad0bc728e74"
std::string text_of(const ReadUuid& id);

/// The signal table of a POD5 file without its signal.
struct Pod5SignalTable {
  struct Row {
    ReadUuid read_id{};
    Extent extent;  ///< of the encoded samples, in the file
    std::uint64_t samples = 0;
  };
  SignalCoding coding;  ///< of all rows
  std::vector<Row> rows;
};

/// Reads the columns of `table` beside the signal itself. Error with the offset: columns that are missing or of another
/// type, a row that claims more samples than its bytes can hold.
Pod5SignalTable read_pod5_signal_table(const ArrowFile& table);

/// The values of the column of UUIDs `name` in one batch. Error when there is no such column.
std::vector<ReadUuid> pod5_uuids(const ArrowFile& table, const ArrowBatch& batch, const std::string& name);

/// The column `name` of `table`. Error when there is none.
std::size_t require_column(const ArrowFile& table, const std::string& name);

}  // namespace millrace::io
