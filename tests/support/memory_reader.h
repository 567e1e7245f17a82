#pragma once

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>

#include "io/reader.h"
#include "pipeline/core/call_context.h"
#include "pipeline/core/error.h"

namespace millrace::test {

/// A reader of bytes in memory that keeps the promise of every reader: what lies outside is an Error.
class MemoryReader final : public io::Reader {
 public:
  explicit MemoryReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Buffer read(io::Extent extent) override {
    if (extent.length == 0) return {};
    if (extent.offset > bytes_.size() || extent.length > bytes_.size() - extent.offset) {
      throw Error("truncated").at_path(path_).at_offset(extent.offset);
    }
    Buffer buffer = loan(extent.length);
    std::memcpy(buffer.writable().data(), bytes_.data() + extent.offset, extent.length);
    return buffer;
  }
  std::uint64_t size() const override { return bytes_.size(); }
  const std::filesystem::path& path() const override { return path_; }
  IoStats stats() const override { return {}; }

 private:
  std::span<const std::byte> bytes_;
  std::filesystem::path path_ = "/memory/input";
};

}  // namespace millrace::test
