#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "io/reader.h"
#include "io/writer.h"
#include "pipeline/core/call_context.h"

namespace millrace::test {

/// A reader over a string that calls `before` at each read, to move clocks or to throw.
class ScriptedReader final : public io::Reader {
 public:
  explicit ScriptedReader(std::string contents, std::function<void(io::Extent)> before = {})
      : contents_(std::move(contents)), before_(std::move(before)) {
    stats_.transport_requested = "direct";
    stats_.transport_used = "scripted";
  }

  Buffer read(io::Extent extent) override {
    if (before_) before_(extent);
    ++stats_.calls;
    stats_.bytes += extent.length;
    if (extent.length == 0) return {};
    Buffer buffer = loan(extent.length);
    std::memcpy(buffer.writable().data(), contents_.data() + extent.offset, extent.length);
    return buffer;
  }
  std::uint64_t size() const override { return contents_.size(); }
  const std::filesystem::path& path() const override { return path_; }
  IoStats stats() const override { return stats_; }

 private:
  std::string contents_;
  std::function<void(io::Extent)> before_;
  std::filesystem::path path_ = "/scripted/input";
  IoStats stats_;
};

/// What a ScriptedWriter was told to do.
struct Written {
  std::string contents;
  int syncs = 0;
};

/// A writer into a string that calls `before` at each write and sync, to move clocks or to throw.
class ScriptedWriter final : public io::Writer {
 public:
  explicit ScriptedWriter(Written& written, std::function<void()> before = {})
      : written_(written), before_(std::move(before)) {
    stats_.transport_requested = "direct";
    stats_.transport_used = "scripted";
  }

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    if (before_) before_();
    ++stats_.calls;
    stats_.bytes += bytes.size();
    auto& contents = written_.contents;
    contents.resize(std::max<std::size_t>(contents.size(), offset + bytes.size()));
    std::transform(bytes.begin(), bytes.end(), contents.begin() + static_cast<std::ptrdiff_t>(offset),
                   [](std::byte byte) { return static_cast<char>(byte); });
  }
  void sync() override {
    if (before_) before_();
    ++written_.syncs;
    ++stats_.fsync_calls;
  }
  const std::filesystem::path& path() const override { return path_; }
  IoStats stats() const override { return stats_; }

 private:
  Written& written_;
  std::function<void()> before_;
  std::filesystem::path path_ = "/scripted/output";
  IoStats stats_;
};

/// The bytes of a text, and the text of a buffer.
inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
inline std::string text_of(const Buffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
}

}  // namespace millrace::test
