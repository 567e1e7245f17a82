#include "io/fast5_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "io/byte_stream.h"
#include "io/isolated_call.h"
#include "io/run_info.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

constexpr std::string_view kReadPrefix = "read_";
constexpr std::uint64_t kMaxSamples = std::uint64_t{1} << 31;  // five days of one pore at 5 kHz
constexpr std::size_t kMaxTextLength = 1024;
constexpr std::size_t kMaxFacts = 200;  // of a run
// A file of 4000 reads takes 1 s and has 200 MB: this is for files that make the library go in circles.
constexpr std::uint64_t kIndexSeconds = 30;
constexpr std::uint64_t kBytesPerFurtherSecond = 10'000'000;

// --------------------------------------------------------------------------------- values of whatever type is stored

std::optional<std::int64_t> as_integer(const AttributeValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* number = std::get_if<double>(&value)) {
    if (std::nearbyint(*number) != *number || std::abs(*number) > 9e15) return std::nullopt;
    return static_cast<std::int64_t>(*number);
  }
  const auto& text = std::get<std::string>(value);
  std::int64_t integer = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return integer;
}

std::optional<double> as_number(const AttributeValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  const auto& text = std::get<std::string>(value);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string as_text(const AttributeValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return std::get<std::string>(value);
}

enum class As { integer, number, text };

struct Field {
  std::string_view name;
  As as;
};

constexpr std::array kReadFields{Field{"pore_type", As::text}};

constexpr std::array kRawFields{Field{"read_number", As::integer}, Field{"start_time", As::integer},
                                Field{"duration", As::integer}, Field{"start_mux", As::integer},
                                Field{"median_before", As::number}};

constexpr std::array kChannelFields{Field{"channel_number", As::text}, Field{"digitisation", As::number},
                                    Field{"offset", As::number}, Field{"range", As::number},
                                    Field{"sampling_rate", As::number}};

/// By the numbers of the enumeration that MinKNOW stores with the attribute.
constexpr std::array<std::string_view, 7> kEndReasons{
    "unknown",         "partial",        "mux_change", "unblock_mux_change", "data_service_unblock_mux_change",
    "signal_positive", "signal_negative"};

/// Texts go into tables and onto terminals: printable ASCII from `lowest` on, not endless.
bool is_printable(std::string_view text, char lowest = ' ') {
  return text.size() <= kMaxTextLength && std::all_of(text.begin(), text.end(), [lowest](char character) {
           return character >= lowest && character < '\x7f';
         });
}

Error prefixed(const std::string& what, const Error& error) {
  Error result(what + ": " + error.message(), error.kind());
  if (!error.path().empty()) result.at_path(error.path());
  if (error.offset()) result.at_offset(*error.offset());
  return result;
}

// -------------------------------------------------------------------------------------------------------- one file

/// Where the parts of one read are.
struct Places {
  std::string read;     // the group with the attributes run_id (multi-read)
  std::string raw;      // the group with the attributes of the read and the dataset Signal
  std::string channel;  // the group channel_id
  std::string tracking;
  std::string context;
  std::string id;  // what the read is called when it does not say so itself
};

class Indexer {
 public:
  explicit Indexer(const std::filesystem::path& file) : path_(file), hdf5_(file) {}

  std::vector<Fast5Read> reads(std::uint64_t& seen) {
    const auto found = find_reads();
    seen = found.size();
    std::vector<Fast5Read> reads;
    for (const auto& places : found) {
      try {
        reads.push_back(read(places));
      } catch (Error& error) {
        throw error.at_path(path_);
      }
    }
    // Streams best in the order in which the signal lies; names of reads are random.
    std::stable_sort(reads.begin(), reads.end(), [](const Fast5Read& left, const Fast5Read& right) {
      return first_byte(left) < first_byte(right);
    });
    return reads;
  }

 private:
  static std::uint64_t first_byte(const Fast5Read& read) {
    return read.pieces.empty() ? 0 : read.pieces.front().extent.offset;
  }

  std::vector<Places> find_reads() const {
    std::vector<Places> found;
    if (hdf5_.contains("Raw/Reads")) {
      for (const auto& name : hdf5_.names("Raw/Reads")) {
        found.push_back({"", "Raw/Reads/" + name, "UniqueGlobalKey/channel_id", "UniqueGlobalKey/tracking_id",
                         "UniqueGlobalKey/context_tags", name});
      }
      return found;
    }
    for (const auto& name : hdf5_.names("/")) {
      if (!name.starts_with(kReadPrefix)) continue;
      found.push_back({name, name + "/Raw", name + "/channel_id", name + "/tracking_id", name + "/context_tags",
                       name.substr(kReadPrefix.size())});
    }
    if (found.empty() && (hdf5_.contains("UniqueGlobalKey") || hdf5_.contains("Analyses"))) {
      throw Error("is a FAST5 file without raw signal: it holds only what was made of it").at_path(path_);
    }
    if (found.empty() && !hdf5_.attribute("/", "file_version")) {
      throw Error("is an HDF5 file, but not FAST5: it has no read").at_path(path_);
    }
    return found;
  }

  Fast5Read read(const Places& places) {
    Fast5Read result;
    const Attributes raw = hdf5_.attributes(places.raw);
    take_id(raw, places, result);
    try {
      take_signal(places, result);
    } catch (const Error& error) {
      // The message names the dataset, and so the read, in multi-read files only.
      if (!places.read.empty()) throw;
      throw prefixed("read " + std::string(*result.attributes.text("read_id")), error);
    }
    take_fields(raw, kRawFields, result);
    take_end_reason(raw, result);
    if (hdf5_.contains(places.channel)) take_fields(hdf5_.attributes(places.channel), kChannelFields, result);
    Attributes group;
    if (!places.read.empty()) group = hdf5_.attributes(places.read);
    take_fields(group, kReadFields, result);
    take_run(group, places, result);
    return result;
  }

  static void take_id(const Attributes& raw, const Places& places, Fast5Read& result) {
    const auto* stored = raw.find("read_id");
    std::string id = stored != nullptr ? as_text(*stored) : places.id;
    if (id.empty() || !is_printable(id, '!')) throw Error("'" + places.raw + "' has a read_id that cannot be printed");
    result.attributes.set("read_id", std::move(id));
  }

  template <std::size_t kCount>
  static void take_fields(const Attributes& stored, const std::array<Field, kCount>& fields, Fast5Read& result) {
    for (const auto& field : fields) {
      const auto* value = stored.find(field.name);
      if (value == nullptr) continue;
      const std::string name(field.name);
      if (field.as == As::text) {
        std::string text = as_text(*value);
        if (is_printable(text)) result.attributes.set(name, std::move(text));
      } else if (field.as == As::number) {
        const auto number = as_number(*value);
        if (number && std::isfinite(*number)) result.attributes.set(name, *number);
      } else if (const auto integer = as_integer(*value)) {
        result.attributes.set(name, *integer);
      }
    }
  }

  static void take_end_reason(const Attributes& raw, Fast5Read& result) {
    const auto* const value = raw.find("end_reason");
    if (value == nullptr) return;
    std::string text = as_text(*value);
    if (const auto number = as_integer(*value)) {
      if (!std::in_range<std::size_t>(*number) || static_cast<std::size_t>(*number) >= kEndReasons.size()) return;
      text = kEndReasons[static_cast<std::size_t>(*number)];
    }
    if (!text.empty() && is_printable(text)) result.attributes.set("end_reason", std::move(text));
  }

  /// The groups of a run are read once, however many reads have them, and are kept once, however many copies there are.
  void take_run(const Attributes& group, const Places& places, Fast5Read& result) {
    const auto place_of = [this](const std::string& name) { return hdf5_.contains(name) ? hdf5_.place(name) : 0; };
    const std::array<std::uint64_t, 2> places_of_run{place_of(places.tracking), place_of(places.context)};
    const auto* const own = group.find("run_id");
    std::string id = own == nullptr ? std::string() : as_text(*own);
    if (!is_printable(id)) id.clear();
    auto& run = runs_[{places_of_run, id}];
    if (!run.shared) run = read_run(places_of_run, places, std::move(id));
    if (!run.sample_frequency.empty() && result.attributes.find("sampling_rate") == nullptr) {
      if (const auto rate = as_number(run.sample_frequency)) result.attributes.set("sampling_rate", *rate);
    }
    if (!run.shared->info.empty() || !run.shared->id.empty()) result.run = run.shared;
  }

  struct Run {
    std::shared_ptr<const Fast5Run> shared;
    std::string sample_frequency;
  };

  Run read_run(const std::array<std::uint64_t, 2>& places_of_run, const Places& places, std::string id) {
    RunInfo info;
    if (places_of_run[0] != 0) add_facts(hdf5_.attributes(places.tracking), info);
    if (places_of_run[1] != 0) add_facts(hdf5_.attributes(places.context), info);
    const auto named = info.find("run_id");
    if (id.empty() && named != info.end() && is_printable(named->second)) id = named->second;
    if (!id.empty()) {
      info.try_emplace("run_id", id);
      info.try_emplace("acquisition_id", id);
    }
    const auto frequency = info.find("sample_frequency");
    auto& known = known_runs_[{id, text_of(info)}];
    if (!known) known = std::make_shared<const Fast5Run>(Fast5Run{std::move(id), text_of(info)});
    return {known, frequency == info.end() ? std::string() : frequency->second};
  }

  /// Facts that are absurdly long or many are left out: every read of the run carries them.
  static void add_facts(const Attributes& group, RunInfo& info) {
    for (const auto& [name, value] : group.entries()) {
      std::string text = as_text(value);
      if (info.size() >= kMaxFacts || name.size() > kMaxTextLength || text.size() > kMaxTextLength) continue;
      info.try_emplace(name, std::move(text));
    }
  }

  void take_signal(const Places& places, Fast5Read& result) const {
    const std::string name = places.raw + "/Signal";
    if (!hdf5_.contains(name)) throw Error("there is no dataset '" + name + "'");
    Hdf5Dataset signal = hdf5_.dataset(name);
    if (signal.dtype != DType::i16 || signal.big_endian) {
      throw Error(fmt::format("dataset '{}' has {}{} elements; i16, little-endian, is supported", name,
                              signal.big_endian ? "big-endian " : "", name_of(signal.dtype)));
    }
    for (const auto& filter : signal.filters) result.coding.push_back(coding_step(name, filter));
    check_size(name, signal, result.coding);
    result.samples = signal.elements;
    result.piece_samples = signal.layout == Hdf5Layout::chunked ? signal.chunk_elements : signal.elements;
    result.pieces = std::move(signal.chunks);
    result.compact = std::move(signal.compact);
    result.attributes.set("samples", static_cast<std::int64_t>(result.samples));
    result.attributes.set("coding", text_of(result.coding));
  }

  static SignalFilter coding_step(const std::string& dataset, const Hdf5Filter& filter) {
    using Kind = SignalFilter::Kind;
    try {
      switch (filter.id) {
        case kHdf5Deflate:
          return {Kind::deflate, {}};
        case kHdf5Shuffle:
          return {Kind::shuffle, {}};
        case kHdf5Fletcher32:
          return {Kind::fletcher32, {}};
        case Vbz::kFilterId:
          return {Kind::vbz, Vbz::from_filter_values(filter.values)};
        default:
          throw Error(fmt::format("HDF5 filter {} is not supported", filter.id));
      }
    } catch (const Error& error) {
      throw prefixed("dataset '" + dataset + "'", error);
    }
  }

  /// Refuses what no file of this size can hold, before anybody plans memory for it.
  static void check_size(const std::string& name, const Hdf5Dataset& signal, const SignalCoding& coding) {
    if (signal.elements > kMaxSamples)
      throw Error(fmt::format("dataset '{}' claims {} samples", name, signal.elements));
    if (signal.chunk_elements > kMaxSamples) {
      throw Error(fmt::format("dataset '{}' claims chunks of {} samples", name, signal.chunk_elements));
    }
    if (signal.layout != Hdf5Layout::chunked) return;
    for (const auto& chunk : signal.chunks) {
      const std::uint64_t needed = std::min(signal.chunk_elements, signal.elements - chunk.first);
      if (needed <= max_samples(coding, chunk.extent.length)) continue;
      throw Error(fmt::format("dataset '{}' claims {} samples in {} bytes", name, needed, chunk.extent.length))
          .at_offset(chunk.extent.offset);
    }
  }

  const std::filesystem::path& path_;
  Hdf5Reader hdf5_;
  std::map<std::pair<std::array<std::uint64_t, 2>, std::string>, Run> runs_;  // by place of its groups, and own id
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const Fast5Run>> known_runs_;  // by id and info
};

// ------------------------------------------------------------------------------------------------- between processes

void put_attributes(ByteWriter& out, const Attributes& attributes) {
  out.put<std::uint64_t>(attributes.entries().size());
  for (const auto& [name, value] : attributes.entries()) {
    out.put_text(name);
    out.put(static_cast<std::uint8_t>(value.index()));
    if (const auto* integer = std::get_if<std::int64_t>(&value)) out.put(*integer);
    if (const auto* number = std::get_if<double>(&value)) out.put(*number);
    if (const auto* text = std::get_if<std::string>(&value)) out.put_text(*text);
  }
}

Attributes take_attributes(ByteReader& in) {
  Attributes attributes;
  for (auto count = in.take<std::uint64_t>(); count > 0; --count) {
    std::string name = in.take_text();
    const auto type = in.take<std::uint8_t>();
    if (type == 0) {
      attributes.set(std::move(name), in.take<std::int64_t>());
    } else if (type == 1) {
      attributes.set(std::move(name), in.take<double>());
    } else {
      attributes.set(std::move(name), in.take_text());
    }
  }
  return attributes;
}

/// Runs by number; each is sent with the first of its reads.
using RunNumbers = std::map<const Fast5Run*, std::uint64_t>;
using Runs = std::vector<std::shared_ptr<const Fast5Run>>;

void put_run(ByteWriter& out, const Fast5Run* run, RunNumbers& numbers) {
  const auto [known, is_new] = numbers.try_emplace(run, numbers.size());
  out.put(known->second);
  if (!is_new) return;
  out.put<std::uint8_t>(run != nullptr ? 1 : 0);
  if (run == nullptr) return;
  out.put_text(run->id);
  out.put_text(run->info);
}

std::shared_ptr<const Fast5Run> take_run(ByteReader& in, Runs& runs) {
  const auto number = in.take<std::uint64_t>();
  if (number < runs.size()) return runs[number];
  std::shared_ptr<const Fast5Run> run;
  if (in.take<std::uint8_t>() != 0) {
    std::string id = in.take_text();
    run = std::make_shared<const Fast5Run>(Fast5Run{std::move(id), in.take_text()});
  }
  return runs.emplace_back(std::move(run));
}

void put_read(ByteWriter& out, const Fast5Read& read, RunNumbers& numbers) {
  put_attributes(out, read.attributes);
  put_run(out, read.run.get(), numbers);
  out.put(read.samples);
  out.put(read.piece_samples);
  out.put_text(text_of(read.coding));
  out.put<std::uint64_t>(read.pieces.size());
  for (const auto& piece : read.pieces) {
    out.put(piece.extent.offset);
    out.put(piece.extent.length);
    out.put(piece.filter_mask);
    out.put(piece.first);
  }
  out.put<std::uint64_t>(read.compact.size());
  out.put_bytes(read.compact);
}

Fast5Read take_read(ByteReader& in, Runs& runs) {
  Fast5Read read;
  read.attributes = take_attributes(in);
  read.run = take_run(in, runs);
  read.samples = in.take<std::uint64_t>();
  read.piece_samples = in.take<std::uint64_t>();
  read.coding = parse_signal_coding(in.take_text());
  for (auto count = in.take<std::uint64_t>(); count > 0; --count) {
    Hdf5Chunk piece;
    piece.extent.offset = in.take<std::uint64_t>();
    piece.extent.length = in.take<std::uint64_t>();
    piece.filter_mask = in.take<std::uint32_t>();
    piece.first = in.take<std::uint64_t>();
    read.pieces.push_back(piece);
  }
  const auto compact = in.take_bytes(in.take<std::uint64_t>());
  read.compact.assign(compact.begin(), compact.end());
  return read;
}

/// Indexes one file and packs what came of it.
std::vector<std::byte> packed_index(const std::filesystem::path& file) {
  ByteWriter out;
  std::uint64_t seen = 0;
  try {
    const auto reads = index_fast5(file, &seen);
    out.put(seen);
    out.put<std::uint8_t>(1);
    RunNumbers numbers;
    for (const auto& read : reads) put_read(out, read, numbers);
  } catch (const Error& error) {
    out.put(seen);
    out.put<std::uint8_t>(0);
    out.put_text(error.message());
    out.put<std::uint8_t>(error.offset() ? 1 : 0);
    out.put<std::uint64_t>(error.offset().value_or(0));
  }
  return out.take();
}

Fast5Index unpacked_index(ByteReader in) {
  Fast5Index index;
  index.seen = in.take<std::uint64_t>();
  if (in.take<std::uint8_t>() == 0) {
    index.error = Error(in.take_text());
    const bool has_offset = in.take<std::uint8_t>() != 0;
    const auto offset = in.take<std::uint64_t>();
    if (has_offset) index.error->at_offset(offset);
    return index;
  }
  Runs runs;
  while (!in.empty()) index.reads.push_back(take_read(in, runs));
  return index;
}

IsolationLimits limits_of(const std::filesystem::path& file) {
  std::error_code unknown;
  const std::uintmax_t bytes = std::filesystem::file_size(file, unknown);
  IsolationLimits limits;
  limits.cpu_seconds = kIndexSeconds + (unknown ? 0 : bytes / kBytesPerFurtherSecond);
  return limits;
}

}  // namespace

std::vector<Fast5Read> index_fast5(const std::filesystem::path& file, std::uint64_t* seen) {
  std::uint64_t nobody = 0;
  return Indexer(file).reads(seen == nullptr ? nobody : *seen);
}

std::vector<Fast5Read> index_fast5_isolated(const std::filesystem::path& file) {
  auto index = std::move(index_fast5_isolated(std::span(&file, 1)).front());
  if (index.error) throw *index.error;
  return std::move(index.reads);
}

std::vector<Fast5Index> index_fast5_isolated(std::span<const std::filesystem::path> files) {
  std::vector<IsolationLimits> limits;
  for (const auto& file : files) limits.push_back(limits_of(file));
  std::vector<IsolatedAnswer> answers;
  {
    // A child must not inherit the library in the middle of somebody's call.
    auto pause = std::make_unique<Hdf5Pause>();
    const auto work = [&](std::size_t index) {
      pause.reset();
      return packed_index(files[index]);
    };
    answers = call_isolated_each(work, limits, std::thread::hardware_concurrency());
  }
  std::vector<Fast5Index> indices;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    auto& index = indices.emplace_back();
    if (answers[i].error) {
      index.error = answers[i].error;
    } else {
      index = unpacked_index(ByteReader(answers[i].bytes));
    }
    if (index.error) index.error->at_path(files[i]);
    answers[i] = {};
  }
  return indices;
}

}  // namespace millrace::io
