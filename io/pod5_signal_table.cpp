#include "io/pod5_signal_table.h"

#include <fmt/format.h>

#include <cstring>

#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

/// How many bytes one sample has in an uncompressed table, and that it is one.
bool is_uncompressed(const ArrowField& signal) {
  return signal.kind == ArrowKind::list && signal.children.front().kind == ArrowKind::integer &&
         signal.children.front().width == sizeof(std::int16_t) && signal.children.front().is_signed;
}

SignalCoding coding_of(const ArrowField& signal, std::uint64_t offset) {
  if (signal.dictionary) throw Error("signal in a dictionary is not supported").at_offset(offset);
  if (is_uncompressed(signal)) return {};
  if (signal.kind == ArrowKind::binary && signal.extension == "minknow.vbz") {
    return {{SignalFilter::Kind::pod5_vbz, {}}};
  }
  throw Error(fmt::format("signal of the type '{}' is not supported", signal.extension)).at_offset(offset);
}

void check_row(const Pod5SignalTable& table, std::size_t number) {
  const auto& row = table.rows[number];
  const std::uint64_t most = max_samples(table.coding, row.extent.length);
  if (row.samples <= most && (!table.coding.empty() || row.samples == most)) return;
  throw Error(fmt::format("row {} of the signal claims {} samples in {} bytes", number, row.samples, row.extent.length))
      .at_offset(row.extent.offset);
}

}  // namespace

std::string text_of(const ReadUuid& id) {
  std::string text;
  for (std::size_t i = 0; i < id.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", std::to_integer<unsigned>(id[i]));
  }
  return text;
}

std::size_t require_column(const ArrowFile& table, const std::string& name) {
  const auto column = table.find(name);
  if (!column) throw Error(fmt::format("there is no column '{}'", name)).at_offset(table.extent().offset);
  return *column;
}

std::vector<ReadUuid> pod5_uuids(const ArrowFile& table, const ArrowBatch& batch, const std::string& name) {
  const std::size_t column = require_column(table, name);
  const ArrowField& field = table.fields()[column];
  if (field.kind != ArrowKind::fixed_binary || field.width != sizeof(ReadUuid) || field.dictionary) {
    throw Error(fmt::format("the column '{}' does not hold UUIDs", name)).at_offset(table.extent().offset);
  }
  const std::uint64_t bytes = batch.rows * sizeof(ReadUuid);
  const Buffer values = table.bytes(batch, {batch.columns[column].values.offset, bytes});
  std::vector<ReadUuid> ids(batch.rows);
  if (!ids.empty()) std::memcpy(ids.data(), values.data(), bytes);
  return ids;
}

Pod5SignalTable read_pod5_signal_table(const ArrowFile& table) {
  const std::size_t signal = require_column(table, "signal");
  const std::size_t samples = require_column(table, "samples");
  Pod5SignalTable result;
  result.coding = coding_of(table.fields()[signal], table.extent().offset);
  for (std::size_t i = 0; i < table.batches(); ++i) {
    const ArrowBatch batch = table.batch(i, ArrowFile::Body::left);
    const auto ids = pod5_uuids(table, batch, "read_id");
    const auto counts = table.unsigned_values(batch, table.fields()[samples], batch.columns[samples]);
    const ArrowArray& rows = batch.columns[signal];
    const auto offsets = table.offsets(batch, table.fields()[signal], rows);
    const std::uint64_t start = rows.children.empty() ? rows.data.offset : rows.children.front().values.offset;
    const std::uint64_t unit = rows.children.empty() ? 1 : sizeof(std::int16_t);
    for (std::size_t row = 0; row < ids.size(); ++row) {
      const Extent extent{start + unit * offsets[row], unit * (offsets[row + 1] - offsets[row])};
      result.rows.push_back({ids[row], extent, counts[row]});
      check_row(result, result.rows.size() - 1);
    }
  }
  return result;
}

}  // namespace millrace::io
