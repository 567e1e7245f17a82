#include "io/fast5_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "io/byte_stream.h"
#include "io/isolated_call.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

constexpr std::string_view kReadPrefix = "read_";
constexpr std::uint64_t kMaxSamples = std::uint64_t{1} << 31;  // five days of one pore at 5 kHz
constexpr std::size_t kMaxTextLength = 1024;
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

constexpr std::array kRawFields{Field{"read_number", As::integer},  Field{"start_time", As::integer},
                                Field{"duration", As::integer},     Field{"start_mux", As::integer},
                                Field{"median_before", As::number}, Field{"end_reason", As::text}};

constexpr std::array kChannelFields{Field{"channel_number", As::text}, Field{"digitisation", As::number},
                                    Field{"offset", As::number}, Field{"range", As::number},
                                    Field{"sampling_rate", As::number}};

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
  std::string id;  // what the read is called when it does not say so itself
};

class Indexer {
 public:
  explicit Indexer(const std::filesystem::path& file) : path_(file), hdf5_(file) {}

  std::vector<Fast5Read> reads() const {
    std::vector<Fast5Read> reads;
    for (const auto& places : find_reads()) {
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
        found.push_back({"", "Raw/Reads/" + name, "UniqueGlobalKey/channel_id", "UniqueGlobalKey/tracking_id", name});
      }
      return found;
    }
    for (const auto& name : hdf5_.names("/")) {
      if (!name.starts_with(kReadPrefix)) continue;
      found.push_back(
          {name, name + "/Raw", name + "/channel_id", name + "/tracking_id", name.substr(kReadPrefix.size())});
    }
    if (found.empty() && !hdf5_.attribute("/", "file_version")) {
      throw Error("is an HDF5 file, but not FAST5: it has no read").at_path(path_);
    }
    return found;
  }

  Fast5Read read(const Places& places) const {
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
    if (hdf5_.contains(places.channel)) take_fields(hdf5_.attributes(places.channel), kChannelFields, result);
    take_run_id(places, result);
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
        if (const auto number = as_number(*value)) result.attributes.set(name, *number);
      } else if (const auto integer = as_integer(*value)) {
        result.attributes.set(name, *integer);
      }
    }
  }

  void take_run_id(const Places& places, Fast5Read& result) const {
    std::optional<AttributeValue> value;
    if (!places.read.empty()) value = hdf5_.attribute(places.read, "run_id");
    if (!value && hdf5_.contains(places.tracking)) value = hdf5_.attribute(places.tracking, "run_id");
    if (!value) return;
    std::string text = as_text(*value);
    if (is_printable(text)) result.attributes.set("run_id", std::move(text));
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

void put_read(ByteWriter& out, const Fast5Read& read) {
  put_attributes(out, read.attributes);
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

Fast5Read take_read(ByteReader& in) {
  Fast5Read read;
  read.attributes = take_attributes(in);
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

}  // namespace

std::vector<Fast5Read> index_fast5(const std::filesystem::path& file) { return Indexer(file).reads(); }

std::vector<Fast5Read> index_fast5_isolated(const std::filesystem::path& file) {
  // The child must not inherit the library in the middle of somebody's call.
  auto pause = std::make_unique<Hdf5Pause>();
  const auto work = [&] {
    pause.reset();
    ByteWriter out;
    for (const auto& read : index_fast5(file)) put_read(out, read);
    return out.take();
  };
  std::error_code unknown;
  const std::uintmax_t bytes = std::filesystem::file_size(file, unknown);
  IsolationLimits limits;
  limits.cpu_seconds = kIndexSeconds + (unknown ? 0 : bytes / kBytesPerFurtherSecond);
  std::vector<std::byte> answer;
  try {
    answer = call_isolated(work, limits);
  } catch (Error& error) {
    throw error.at_path(file);
  }
  pause.reset();
  std::vector<Fast5Read> reads;
  for (ByteReader in(answer); !in.empty();) reads.push_back(take_read(in));
  return reads;
}

}  // namespace millrace::io
