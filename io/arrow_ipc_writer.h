#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/arrow_ipc.h"

namespace millrace::io {

/// The buffers of one batch in the order of its fields, depth first, as they will lie in the file. Every column is
/// begun with array(), then come its buffers. Values are never missing.
class ArrowBody {
 public:
  /// Begins an array: its length, and the empty buffer that says that no value is missing.
  void array(std::uint64_t length);
  void buffer(std::span<const std::byte> bytes);
  /// A whole column of values of fixed width.
  template <typename T>
  void values(std::span<const T> values) {
    array(values.size());
    buffer(std::as_bytes(values));
  }
  void booleans(const std::vector<bool>& values);
  void texts(std::span<const std::string> values);
  /// Empties it, and keeps the memory.
  void clear();

  std::span<const std::byte> bytes() const { return bytes_; }

  struct Range {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };
  const std::vector<std::uint64_t>& lengths() const { return lengths_; }
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  std::vector<std::byte> bytes_;
  std::vector<std::uint64_t> lengths_;
  std::vector<Range> ranges_;
};

/// Writes one Arrow file (as ArrowFile reads it) front to back: nothing is gone back to. Every column may have missing
/// values by its type, only the entries of maps and their keys may not; time zones are "UTC"; indices of dictionaries
/// have 16 bits.
class ArrowTableWriter {
 public:
  using Append = std::function<void(std::span<const std::byte>)>;
  using Metadata = std::vector<std::pair<std::string, std::string>>;

  /// Appends the start and the schema.
  ArrowTableWriter(std::vector<ArrowField> fields, Metadata metadata, Append append);

  void write_batch(std::uint64_t rows, const ArrowBody& body);
  /// The values of a dictionary; before the first batch. Once per dictionary, or again for values that are added.
  void write_dictionary(std::int64_t id, std::uint64_t rows, const ArrowBody& body);
  /// Appends the footer; gives the bytes of the whole file.
  std::uint64_t finish();

 private:
  struct Block {
    std::uint64_t offset = 0;
    std::uint64_t metadata_bytes = 0;
    std::uint64_t body_bytes = 0;
  };

  void append(std::span<const std::byte> bytes);
  Block append_message(std::span<const std::byte> message, std::span<const std::byte> body);

  std::vector<ArrowField> fields_;
  Metadata metadata_;
  Append append_;
  std::uint64_t size_ = 0;
  std::vector<Block> batches_;
  std::vector<Block> dictionaries_;
  std::vector<std::int64_t> known_dictionaries_;
};

}  // namespace millrace::io
