#include "io/pod5_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "io/arrow_ipc.h"
#include "io/arrow_values.h"
#include "io/buffered_file.h"
#include "io/pod5_footer.h"
#include "io/pod5_signal_table.h"
#include "io/side_by_side.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

constexpr std::uint64_t kMaxSamples = std::uint64_t{1} << 31;  // five days of one pore at 5 kHz
constexpr std::size_t kMaxTextLength = 1024;

using TakeRead = std::function<void(Pod5Read)>;
using Values = std::vector<AttributeValue>;
using Columns = std::map<std::string, Values>;

/// What a reads table may say: in a column of its own (since v3), or in a part of a dictionary of structures (before).
/// Attributes that start with '*' are for this file alone.
struct Fact {
  std::string_view column;
  std::string_view part;  // empty: the column's value, or that of its dictionary, itself
  std::string_view attribute;
};

constexpr std::string_view kRun = "*run";
constexpr std::string_view kScale = "*scale";
constexpr std::string_view kSamples = "*samples";
constexpr std::array kFacts{Fact{"read_number", "", "read_number"},
                            Fact{"start", "", "start_time"},
                            Fact{"median_before", "", "median_before"},
                            Fact{"channel", "", "channel_number"},
                            Fact{"pore", "channel", "channel_number"},
                            Fact{"well", "", "start_mux"},
                            Fact{"pore", "well", "start_mux"},
                            Fact{"pore_type", "", "pore_type"},
                            Fact{"pore", "pore_type", "pore_type"},
                            Fact{"calibration_offset", "", "offset"},
                            Fact{"calibration", "offset", "offset"},
                            Fact{"calibration_scale", "", kScale},
                            Fact{"calibration", "scale", kScale},
                            Fact{"end_reason", "", "end_reason"},
                            Fact{"end_reason", "name", "end_reason"},
                            Fact{"end_reason_forced", "", "end_reason_forced"},
                            Fact{"end_reason", "forced", "end_reason_forced"},
                            Fact{"run_info", "", kRun},
                            Fact{"run_info", "acquisition_id", kRun},
                            Fact{"num_samples", "", kSamples},
                            Fact{"num_minknow_events", "", "num_minknow_events"},
                            Fact{"tracked_scaling_scale", "", "tracked_scaling_scale"},
                            Fact{"tracked_scaling_shift", "", "tracked_scaling_shift"},
                            Fact{"predicted_scaling_scale", "", "predicted_scaling_scale"},
                            Fact{"predicted_scaling_shift", "", "predicted_scaling_shift"},
                            Fact{"num_reads_since_mux_change", "", "num_reads_since_mux_change"},
                            Fact{"time_since_mux_change", "", "time_since_mux_change"},
                            Fact{"open_pore_level", "", "open_pore_level"}};

/// Texts go into tables and onto terminals: printable ASCII, not endless.
bool is_printable(const std::string& text) {
  return !text.empty() && text.size() <= kMaxTextLength &&
         std::all_of(text.begin(), text.end(), [](char character) { return character >= ' ' && character < '\x7f'; });
}

bool is_known(const AttributeValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return std::isfinite(*number);
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr || is_printable(*text);
}

double number_of(const AttributeValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  const auto* number = std::get_if<double>(&value);
  return number == nullptr ? std::nan("") : *number;
}

std::string key_of(const AttributeValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? std::string() : *text;
}

/// The runs of the table of that name (v3 and later).
Pod5Runs read_runs(const ArrowFile& table) {
  Pod5Runs runs;
  for (std::size_t i = 0; i < table.batches(); ++i) {
    const ArrowBatch batch = table.batch(i, ArrowFile::Body::loaded);
    add_pod5_runs(table, batch, table.fields(), batch.columns, runs);
  }
  return runs;
}

// ------------------------------------------------------------------------------------------------------------ reads

class ReadsTable {
 public:
  ReadsTable(const ArrowFile& table, const Pod5SignalTable& signal, Pod5Runs runs)
      : table_(table), signal_(signal), runs_(std::move(runs)), used_(signal.rows.size()) {
    signal_column_ = require_column(table, "signal");
    const ArrowField& rows = table.fields()[signal_column_];
    if (rows.kind != ArrowKind::list || rows.dictionary) {
      throw Error("the column 'signal' of the reads is no list").at_offset(table.extent().offset);
    }
    for (std::size_t column = 0; column < table.fields().size(); ++column) {
      const ArrowField& field = table.fields()[column];
      if (field.dictionary) dictionaries_[column] = table.dictionary(field);
      if (field.name == "run_info" && field.dictionary && field.kind == ArrowKind::structure) {
        for (const ArrowBatch& part : table.dictionary_parts(field)) {
          add_pod5_runs(table, part, field.children, part.columns.front().children, runs_);
        }
      }
    }
  }

  /// Gives the reads in the order of their signal. Batch by batch where the table has that order, as it usually does;
  /// else all of them have to be there first.
  void give(const TakeRead& take) {
    if (table_.batches() > 1) look_through();
    const bool at_once = table_.batches() > 1 && in_order_;
    for (std::size_t i = 0; i < table_.batches(); ++i) {
      add(table_.batch(i, ArrowFile::Body::loaded));
      if (!at_once) continue;
      for (auto& read : reads_) take(std::move(read));
      reads_.clear();
    }
    if (at_once) return;
    check_ids();
    sort_by_place();
    for (auto& read : reads_) take(std::move(read));
  }

 private:
  /// One fact for every row of a batch.
  struct Source {
    const Fact* fact;
    Values values;             // or indices
    const Values* dictionary;  // null: the values are meant
  };

  std::vector<Source> sources_of(const ArrowBatch& batch) const {
    std::vector<Source> sources;
    for (const Fact& fact : kFacts) {
      const auto column = table_.find(fact.column);
      if (!column) continue;
      const ArrowField& field = table_.fields()[*column];
      const Values* dictionary = nullptr;
      if (field.dictionary) {
        const auto& parts = dictionaries_.at(*column);
        const auto part = parts.find(std::string(fact.part));
        if (part == parts.end()) continue;
        dictionary = &part->second;
      } else if (!fact.part.empty()) {
        continue;
      }
      sources.push_back({&fact, table_.values(batch, field, batch.columns[*column]), dictionary});
    }
    return sources;
  }

  const AttributeValue& value_of(const Source& source, std::size_t row) const {
    const AttributeValue& value = source.values[row];
    if (source.dictionary == nullptr) return value;
    const auto* const index = std::get_if<std::int64_t>(&value);
    if (index == nullptr || *index < 0 || static_cast<std::uint64_t>(*index) >= source.dictionary->size()) {
      throw Error(fmt::format("the column '{}' points outside its dictionary", source.fact->column));
    }
    return (*source.dictionary)[static_cast<std::size_t>(*index)];
  }

  /// Sees whether the reads are in the order of their signal, and that none comes twice.
  void look_through() {
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < table_.batches(); ++i) {
      const ArrowBatch batch = table_.batch(i, ArrowFile::Body::loaded);
      const auto ids = pod5_uuids(table_, batch, "read_id");
      ids_.insert(ids_.end(), ids.begin(), ids.end());
      const ArrowField& list = table_.fields()[signal_column_];
      const ArrowArray& lists = batch.columns[signal_column_];
      const auto offsets = table_.offsets(batch, list, lists);
      const auto rows = table_.unsigned_values(batch, list.children.front(), lists.children.front());
      for (std::size_t row = 0; row < ids.size(); ++row) {
        // As for sort_by_place(): what counts is the first row that has samples. Rows that are not there are refused
        // later.
        for (std::uint64_t j = offsets[row]; j < offsets[row + 1]; ++j) {
          if (rows[j] >= signal_.rows.size() || signal_.rows[rows[j]].samples == 0) continue;
          const std::uint64_t place = signal_.rows[rows[j]].extent.offset;
          in_order_ = in_order_ && place >= last;
          last = place;
          break;
        }
      }
    }
    check_ids();
    ids_.clear();
  }

  void add(const ArrowBatch& batch) {
    const auto ids = pod5_uuids(table_, batch, "read_id");
    const ArrowField& list = table_.fields()[signal_column_];
    const ArrowArray& lists = batch.columns[signal_column_];
    const auto offsets = table_.offsets(batch, list, lists);
    const auto rows = table_.unsigned_values(batch, list.children.front(), lists.children.front());
    const auto sources = sources_of(batch);
    for (std::size_t row = 0; row < ids.size(); ++row) {
      try {
        Pod5Read read;
        read.coding = signal_.coding;
        read.attributes.set("read_id", text_of(ids[row]));
        for (std::uint64_t i = offsets[row]; i < offsets[row + 1]; ++i) add_piece(rows[i], ids[row], read);
        read.attributes.set("samples", static_cast<std::int64_t>(read.samples));
        read.attributes.set("coding", text_of(read.coding));
        set_facts(sources, row, read);
        reads_.push_back(std::move(read));
        ids_.push_back(ids[row]);
      } catch (const Error& error) {
        Error named(fmt::format("read {}: {}", text_of(ids[row]), error.message()));
        throw named.at_offset(error.offset().value_or(batch.body.offset));
      }
    }
  }

  void add_piece(std::uint64_t number, const ReadUuid& id, Pod5Read& read) {
    if (number >= signal_.rows.size()) {
      throw Error(fmt::format("has row {} of the signal, which has {}", number, signal_.rows.size()));
    }
    const auto& row = signal_.rows[number];
    if (row.read_id != id)
      throw Error(fmt::format("has row {} of the signal, which belongs to {}", number, text_of(row.read_id)));
    if (used_[number]) throw Error(fmt::format("has row {} of the signal twice", number));
    used_[number] = true;
    read.samples += row.samples;
    if (read.samples > kMaxSamples) throw Error(fmt::format("claims {} samples", read.samples));
    if (row.samples != 0) read.pieces.push_back({row.extent, row.samples});
  }

  void set_facts(const std::vector<Source>& sources, std::size_t row, Pod5Read& read) const {
    double scale = std::nan("");
    for (const Source& source : sources) {
      const AttributeValue& value = value_of(source, row);
      const std::string_view attribute = source.fact->attribute;
      if (attribute == kRun) {
        read.run = run_of(key_of(value));
      } else if (attribute == kScale) {
        scale = number_of(value);
      } else if (attribute == kSamples) {
        if (number_of(value) == static_cast<double>(read.samples)) continue;
        throw Error(fmt::format("claims {} samples, its rows have {}", number_of(value), read.samples));
      } else if (attribute == "channel_number") {
        read.attributes.set("channel_number", fmt::format("{}", number_of(value)));
      } else if (is_known(value)) {
        read.attributes.set(std::string(attribute), value);
      }
    }
    if (!read.run) return;
    if (read.run->sampling_rate) read.attributes.set("sampling_rate", *read.run->sampling_rate);
    if (!read.run->digitisation || !std::isfinite(scale)) return;
    read.attributes.set("digitisation", *read.run->digitisation);
    read.attributes.set("range", scale * *read.run->digitisation);
  }

  const std::shared_ptr<const Pod5Run>& run_of(const std::string& id) const {
    const auto found = runs_.find(id);
    if (found == runs_.end()) throw Error("belongs to a run that the file does not describe");
    return found->second;
  }

  void check_ids() const {
    auto ids = ids_;
    std::sort(ids.begin(), ids.end());
    const auto twice = std::adjacent_find(ids.begin(), ids.end());
    if (twice == ids.end()) return;
    throw Error(fmt::format("read {} comes twice", text_of(*twice))).at_offset(table_.extent().offset);
  }

  /// Streams best in the order in which the signal lies. A read without signal stays behind the one before it.
  void sort_by_place() {
    std::vector<std::pair<std::uint64_t, std::size_t>> order;
    std::uint64_t place = 0;
    for (const auto& read : reads_) {
      if (!read.pieces.empty()) place = read.pieces.front().extent.offset;
      order.emplace_back(place, order.size());
    }
    std::sort(order.begin(), order.end());
    std::vector<Pod5Read> sorted;
    sorted.reserve(reads_.size());
    for (const auto& [offset, index] : order) sorted.push_back(std::move(reads_[index]));
    reads_ = std::move(sorted);
  }

  const ArrowFile& table_;
  const Pod5SignalTable& signal_;
  Pod5Runs runs_;
  std::map<std::size_t, Columns> dictionaries_;  // by column
  std::size_t signal_column_ = 0;
  std::vector<bool> used_;  // rows of the signal
  bool in_order_ = true;
  std::vector<ReadUuid> ids_;
  std::vector<Pod5Read> reads_;
};

void check_identity(const ArrowFile& table, const Pod5Footer& footer) {
  const std::string identifier = table.metadata("MINKNOW:file_identifier");
  if (identifier.empty() || identifier == footer.file_identifier) return;
  throw Error("the POD5 file is damaged: a table in it belongs to another file").at_offset(table.extent().offset);
}

void index_tables(Reader& reader, const Pod5Footer& footer, const TakeRead& take) {
  const ArrowFile signal(reader, *footer.signal);
  check_identity(signal, footer);
  const Pod5SignalTable rows = read_pod5_signal_table(signal);
  Pod5Runs runs;
  if (footer.run_info) {
    const ArrowFile table(reader, *footer.run_info);
    check_identity(table, footer);
    runs = read_runs(table);
  }
  const ArrowFile reads(reader, *footer.reads);
  check_identity(reads, footer);
  ReadsTable(reads, rows, std::move(runs)).give(take);
}

/// A file whose end is fetched in one go: of a small one, all tables but that of the signal lie there, in some forty
/// places. Where there are thousands of small files, these calls are what reading costs.
class EndInMemory final : public Reader {
 public:
  explicit EndInMemory(const std::filesystem::path& file) : file_(file, "buffered") {
    // Places in the file and in memory have the same remainders, as far as anybody aligns tables.
    constexpr std::uint64_t kBytes = 64 << 10;
    constexpr std::uint64_t kAlignment = 64;
    start_ = (file_.size() - std::min(file_.size(), kBytes)) / kAlignment * kAlignment;
    end_ = file_.read({start_, file_.size() - start_});
  }

  Buffer read(Extent extent) override {
    if (extent.length == 0 || extent.offset < start_ || extent.offset > file_.size() ||
        extent.length > file_.size() - extent.offset) {
      return file_.read(extent);
    }
    Buffer part = end_;
    part.narrow(extent.offset - start_, extent.length);
    return part;
  }
  std::uint64_t size() const override { return file_.size(); }
  const std::filesystem::path& path() const override { return file_.path(); }
  IoStats stats() const override { return file_.stats(); }

 private:
  BufferedReader file_;
  std::uint64_t start_ = 0;
  Buffer end_;
};

/// Rows of the reads table, for a file that is bad in another place; 0 when the table cannot be read either.
std::uint64_t reads_claimed(Reader& reader, const Pod5Footer& footer) {
  try {
    const ArrowFile reads(reader, *footer.reads);
    std::uint64_t rows = 0;
    for (std::size_t i = 0; i < reads.batches(); ++i) rows += reads.batch(i, ArrowFile::Body::left).rows;
    return rows;
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace

std::vector<Pod5Read> index_pod5(Reader& reader, std::uint64_t* seen) {
  const Pod5Footer footer = read_pod5_footer(reader);
  try {
    std::vector<Pod5Read> reads;
    index_tables(reader, footer, [&reads](Pod5Read read) { reads.push_back(std::move(read)); });
    if (seen != nullptr) *seen = reads.size();
    return reads;
  } catch (Error& error) {
    if (seen != nullptr) *seen = reads_claimed(reader, footer);
    throw error.at_path(reader.path());
  }
}

std::vector<Pod5Read> index_pod5(const std::filesystem::path& file, std::uint64_t* seen) {
  if (seen != nullptr) *seen = 0;
  EndInMemory reader(file);
  return index_pod5(reader, seen);
}

void index_pod5(const std::filesystem::path& file, const TakeRead& take) {
  EndInMemory reader(file);
  const Pod5Footer footer = read_pod5_footer(reader);
  try {
    index_tables(reader, footer, take);
  } catch (Error& error) {
    throw error.at_path(file);
  }
}

std::vector<Pod5Index> index_pod5(std::span<const std::filesystem::path> files) {
  std::vector<Pod5Index> indices(files.size());
  side_by_side(files.size(), [&](std::size_t i) {
    try {
      indices[i].reads = index_pod5(files[i], &indices[i].seen);
    } catch (const Error& error) {
      indices[i].error = error;
    }
  });
  return indices;
}

}  // namespace millrace::io
