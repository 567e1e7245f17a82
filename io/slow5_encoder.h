#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/slow5_header.h"
#include "pipeline/core/attributes.h"

namespace millrace::io {

/// The auxiliary fields of a file for reads like this one: those that all instruments write (channel_number,
/// median_before, read_number, start_mux, start_time, end_reason), then its other attributes: integers as int64_t,
/// numbers as double, texts as char*. What the eight primary fields and the header hold is not among them.
std::vector<Slow5Field> slow5_fields_for(const Attributes& attributes);

/// Whether the eight primary fields or the header hold an attribute of this name, or it only says how a read was stored
/// before: no auxiliary field does.
bool is_held_elsewhere(std::string_view attribute);

/// Makes records of reads, as they stand in a file. One thread at a time.
class Slow5RecordEncoder {
 public:
  /// `level`: of zlib (0 to 12, see libdeflate) or zstd; 0 = what slow5tools uses (6, 1).
  Slow5RecordEncoder(std::vector<Slow5Field> fields, const Slow5Coding& coding, int level = 0);
  Slow5RecordEncoder(const Slow5RecordEncoder&) = delete;
  Slow5RecordEncoder& operator=(const Slow5RecordEncoder&) = delete;
  ~Slow5RecordEncoder();

  /// One record with its length, or one line; valid until the next call. Fields without an attribute get the format's
  /// value for "missing". Error: read_id, digitisation, offset, range or sampling_rate is missing, an attribute does
  /// not fit its field, more than 2^32 - 1 samples.
  std::span<const std::byte> encode(const Attributes& attributes, std::uint32_t group,
                                    std::span<const std::int16_t> samples);

  const std::vector<Slow5Field>& fields() const { return fields_; }

 private:
  void encode_text(const Attributes& attributes, std::uint32_t group, std::span<const std::int16_t> samples);
  void encode_binary(const Attributes& attributes, std::uint32_t group, std::span<const std::int16_t> samples);
  std::uint64_t append_signal(std::span<const std::int16_t> samples);
  void append_bytes(const void* bytes, std::size_t count);
  template <typename T>
  void append(T value);
  void append_field(const Slow5Field& field, const AttributeValue* value);
  std::span<const std::byte> pack();

  struct Contexts;
  std::unique_ptr<Contexts> contexts_;
  std::vector<Slow5Field> fields_;
  Slow5Coding coding_;
  int level_;
  std::vector<std::byte> plain_;   // 8 bytes for the length, then the record before compression
  std::vector<std::byte> packed_;  // the same after it
};

}  // namespace millrace::io
