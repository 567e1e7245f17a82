#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pipeline/core/attributes.h"

namespace millrace {

/// Attribute sets of very many reads, packed into some 100 bytes each: names are kept once, numbers in as few bytes as
/// hold them exactly, texts that come again once. Filled by one thread; then any number may take sets out.
class AttributeStore {
 public:
  /// Adds a set; they are numbered from 0.
  void add(const Attributes& attributes);
  /// After the last set: gives back memory that was for more.
  void complete();
  /// Set number `number` as it was added: names, values, types and order.
  Attributes at(std::size_t number) const;

  std::size_t size() const { return starts_.size(); }
  std::uint64_t memory_bytes() const;

 private:
  using Names = std::vector<std::string>;

  void put_text(const std::string& text);

  std::vector<Names> schemas_;
  std::map<Names, std::uint64_t> schema_numbers_;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint64_t> text_numbers_;
  std::uint64_t text_bytes_ = 0;
  std::vector<std::uint64_t> starts_;  // of each set in bytes_
  std::vector<std::uint8_t> bytes_;
};

}  // namespace millrace
