#include "io/slow5_encoder.h"

#include <fmt/format.h>
#include <libdeflate.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "io/stream_vbyte.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

using Kind = Slow5Field::Kind;

constexpr std::size_t kLengthBytes = 8;
constexpr int kZlibLevel = 6;
constexpr int kZstdLevel = 1;

/// Attributes that are in the primary fields, in the header, or say how a read was stored before.
constexpr std::array<std::string_view, 14> kNoFields{"read_id",  "read_group",    "digitisation", "offset",  "range",
                                                     "samples",  "sampling_rate", "coding",       "pieces",  "run_id",
                                                     "run_info", "piece_samples", "slow5_header", "duration"};

std::vector<Slow5Field> usual_fields() {
  return {{"channel_number", Kind::character, true, {}},
          {"median_before", Kind::f64, false, {}},
          {"read_number", Kind::i32, false, {}},
          {"start_mux", Kind::u8, false, {}},
          {"start_time", Kind::u64, false, {}},
          {"end_reason",
           Kind::enumeration,
           false,
           {"unknown", "mux_change", "unblock_mux_change", "data_service_unblock_mux_change", "signal_positive",
            "signal_negative", "api_request", "device_data_error", "analysis_config_change", "paused", "partial"}}};
}

/// Instruments get new reasons for the end of a read.
void add_label(const Attributes& attributes, Slow5Field& end_reason) {
  const auto reason = attributes.text("end_reason");
  auto& labels = end_reason.labels;
  if (!reason || reason->empty() || reason->find_first_of(",{}\t\n ") != std::string_view::npos) return;
  if (std::find(labels.begin(), labels.end(), *reason) == labels.end()) labels.emplace_back(*reason);
}

Error does_not_fit(const Slow5Field& field, const std::string& value) {
  return Error(fmt::format("attribute '{}' = {} does not fit its field of the file", field.name, value));
}

std::string text_of(const AttributeValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return std::get<std::string>(value);
}

double required_number(const Attributes& attributes, std::string_view name) {
  const auto value = attributes.number(name);
  if (!value) throw Error(fmt::format("needs the attribute '{}', which its input does not have", name));
  return *value;
}

std::string_view required_id(const Attributes& attributes) {
  const auto id = attributes.text("read_id");
  if (!id) throw Error("needs the attribute 'read_id', which its input does not have");
  if (id->empty() || id->size() > std::numeric_limits<std::uint16_t>::max() ||
      id->find_first_of("\t\n") != std::string_view::npos) {
    throw Error("has a read_id that SLOW5 cannot hold");
  }
  return *id;
}

/// Position of a label; nothing when the enumeration does not have it.
std::optional<std::uint8_t> index_of(const Slow5Field& field, std::string_view label) {
  const auto found = std::find(field.labels.begin(), field.labels.end(), label);
  if (found == field.labels.end()) return std::nullopt;
  return static_cast<std::uint8_t>(found - field.labels.begin());
}

/// An attribute as T, which must hold it exactly.
template <typename T>
T number_as(const Slow5Field& field, const AttributeValue& value) {
  if (const auto* number = std::get_if<double>(&value)) {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(*number);
    } else {
      throw does_not_fit(field, fmt::format("{}", *number));
    }
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    if constexpr (!std::is_floating_point_v<T>) {
      if (!std::in_range<T>(*integer)) throw does_not_fit(field, std::to_string(*integer));
    }
    return static_cast<T>(*integer);
  }
  const auto& text = std::get<std::string>(value);
  T result{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (error != std::errc() || end != text.data() + text.size()) throw does_not_fit(field, "'" + text + "'");
  return result;
}

/// What stands for a value that is missing.
template <typename T>
T missing() {
  return std::is_floating_point_v<T> ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::max();
}

}  // namespace

bool is_held_elsewhere(std::string_view attribute) {
  return std::find(kNoFields.begin(), kNoFields.end(), attribute) != kNoFields.end();
}

std::vector<Slow5Field> slow5_fields_for(const Attributes& attributes) {
  std::vector<Slow5Field> fields = usual_fields();
  add_label(attributes, fields.back());
  for (const auto& [name, value] : attributes.entries()) {
    const auto has_name = [&name = name](const Slow5Field& field) { return field.name == name; };
    if (is_held_elsewhere(name)) continue;
    if (std::any_of(fields.begin(), fields.end(), has_name)) continue;
    if (name.empty() || name.find_first_of("\t\n") != std::string::npos) continue;
    if (std::holds_alternative<std::int64_t>(value)) {
      fields.push_back({name, Kind::i64, false, {}});
    } else if (std::holds_alternative<double>(value)) {
      fields.push_back({name, Kind::f64, false, {}});
    } else {
      fields.push_back({name, Kind::character, true, {}});
    }
  }
  return fields;
}

struct Slow5RecordEncoder::Contexts {
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    void operator()(libdeflate_compressor* context) const { libdeflate_free_compressor(context); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> zstd;
  std::unique_ptr<libdeflate_compressor, Free> zlib;
};

Slow5RecordEncoder::Slow5RecordEncoder(std::vector<Slow5Field> fields, const Slow5Coding& coding, int level)
    : contexts_(std::make_unique<Contexts>()), fields_(std::move(fields)), coding_(coding), level_(level) {
  if (coding.packing == Slow5Packing::zstd) {
    if (level_ == 0) level_ = kZstdLevel;
    contexts_->zstd.reset(ZSTD_createCCtx());
    if (!contexts_->zstd) throw Error("no memory for a zstd encoder");
  } else if (coding.packing == Slow5Packing::zlib) {
    if (level_ == 0) level_ = kZlibLevel;
    contexts_->zlib.reset(libdeflate_alloc_compressor(level_));
    if (!contexts_->zlib) throw Error(fmt::format("no deflate encoder of level {}", level_));
  }
}

Slow5RecordEncoder::~Slow5RecordEncoder() = default;

std::span<const std::byte> Slow5RecordEncoder::encode(const Attributes& attributes, std::uint32_t group,
                                                      std::span<const std::int16_t> samples) {
  plain_.clear();
  if (samples.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(fmt::format("{} samples in one read", samples.size()));
  }
  if (coding_.text) {
    encode_text(attributes, group, samples);
    return plain_;
  }
  encode_binary(attributes, group, samples);
  return pack();
}

void Slow5RecordEncoder::append_bytes(const void* bytes, std::size_t count) {
  const auto* const first = static_cast<const std::byte*>(bytes);
  plain_.insert(plain_.end(), first, first + count);
}

template <typename T>
void Slow5RecordEncoder::append(T value) {
  append_bytes(&value, sizeof value);
}

void Slow5RecordEncoder::encode_binary(const Attributes& attributes, std::uint32_t group,
                                       std::span<const std::int16_t> samples) {
  plain_.resize(kLengthBytes);
  const std::string_view id = required_id(attributes);
  append(static_cast<std::uint16_t>(id.size()));
  append_bytes(id.data(), id.size());
  append(group);
  for (const char* const name : {"digitisation", "offset", "range", "sampling_rate"}) {
    append(required_number(attributes, name));
  }
  const std::size_t length_at = plain_.size();
  append(std::uint64_t{0});
  const std::uint64_t length = append_signal(samples);
  std::memcpy(plain_.data() + length_at, &length, sizeof length);
  for (const auto& field : fields_) append_field(field, attributes.find(field.name));
}

/// Returns what goes into the field len_raw_signal: samples, or the bytes of their coding.
std::uint64_t Slow5RecordEncoder::append_signal(std::span<const std::int16_t> samples) {
  if (coding_.signal == Slow5SignalCoding::none) {
    append_bytes(samples.data(), samples.size_bytes());
    return samples.size();
  }
  append(static_cast<std::uint32_t>(samples.size()));
  const std::size_t stream_at = plain_.size();
  plain_.resize(stream_at + stream_vbyte_max_bytes(samples.size()) + kStreamVbytePadding);
  const std::uint64_t bytes = encode_stream_vbyte(samples, plain_.data() + stream_at);
  plain_.resize(stream_at + bytes);
  return sizeof(std::uint32_t) + bytes;
}

void Slow5RecordEncoder::append_field(const Slow5Field& field, const AttributeValue* value) {
  const auto append_number = [&]<typename T>(T /*type*/) {
    append(value == nullptr ? missing<T>() : number_as<T>(field, *value));
  };
  if (field.array && field.kind != Kind::character) throw Error("field '" + field.name + "' is an array of numbers");
  switch (field.kind) {
    case Kind::i8:
      return append_number(std::int8_t{});
    case Kind::i16:
      return append_number(std::int16_t{});
    case Kind::i32:
      return append_number(std::int32_t{});
    case Kind::i64:
      return append_number(std::int64_t{});
    case Kind::u8:
      return append_number(std::uint8_t{});
    case Kind::u16:
      return append_number(std::uint16_t{});
    case Kind::u32:
      return append_number(std::uint32_t{});
    case Kind::u64:
      return append_number(std::uint64_t{});
    case Kind::f32:
      return append_number(float{});
    case Kind::f64:
      return append_number(double{});
    case Kind::character: {
      const std::string text = value == nullptr ? "" : text_of(*value);
      append(static_cast<std::uint64_t>(text.size()));
      return append_bytes(text.data(), text.size());
    }
    case Kind::enumeration: {
      const auto index = value == nullptr ? missing<std::uint8_t>() : index_of(field, text_of(*value));
      if (!index) throw does_not_fit(field, "'" + text_of(*value) + "'");
      return append(*index);
    }
  }
}

void Slow5RecordEncoder::encode_text(const Attributes& attributes, std::uint32_t group,
                                     std::span<const std::int16_t> samples) {
  std::string line = fmt::format("{}\t{}", required_id(attributes), group);
  for (const char* const name : {"digitisation", "offset", "range", "sampling_rate"}) {
    fmt::format_to(std::back_inserter(line), "\t{}", required_number(attributes, name));
  }
  fmt::format_to(std::back_inserter(line), "\t{}\t{}", samples.size(), fmt::join(samples, ","));
  if (samples.empty()) line += '.';
  for (const auto& field : fields_) {
    const auto* const value = attributes.find(field.name);
    std::string text = value == nullptr ? "." : text_of(*value);
    if (value != nullptr && field.kind == Kind::enumeration) {
      const auto index = index_of(field, text);
      if (!index) throw does_not_fit(field, "'" + text + "'");
      text = std::to_string(*index);
    }
    if (text.empty()) text = ".";
    if (text.find_first_of("\t\n") != std::string::npos)
      throw does_not_fit(field, "a text of several lines or columns");
    line += '\t' + text;
  }
  line += '\n';
  append_bytes(line.data(), line.size());
}

std::span<const std::byte> Slow5RecordEncoder::pack() {
  const auto record = std::span<const std::byte>(plain_).subspan(kLengthBytes);
  std::uint64_t length = record.size();
  std::vector<std::byte>* out = &plain_;
  if (coding_.packing == Slow5Packing::zstd) {
    packed_.resize(kLengthBytes + ZSTD_compressBound(record.size()));
    length = ZSTD_compressCCtx(contexts_->zstd.get(), packed_.data() + kLengthBytes, packed_.size() - kLengthBytes,
                               record.data(), record.size(), level_);
    if (ZSTD_isError(length)) throw Error(fmt::format("zstd: {}", ZSTD_getErrorName(length)));
    out = &packed_;
  } else if (coding_.packing == Slow5Packing::zlib) {
    packed_.resize(kLengthBytes + libdeflate_zlib_compress_bound(contexts_->zlib.get(), record.size()));
    length = libdeflate_zlib_compress(contexts_->zlib.get(), record.data(), record.size(),
                                      packed_.data() + kLengthBytes, packed_.size() - kLengthBytes);
    if (length == 0) throw Error("libdeflate could not compress a record");
    out = &packed_;
  }
  std::memcpy(out->data(), &length, sizeof length);
  return std::span<const std::byte>(*out).first(kLengthBytes + length);
}

}  // namespace millrace::io
