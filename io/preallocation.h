#pragma once

#include <cstdint>
#include <string>

#include "io/file_descriptor.h"

namespace millrace::io {

/// Room on the device for a file that grows, asked for in steps ahead of the writing (fallocate with KEEP_SIZE).
class Preallocation {
 public:
  /// `step_bytes` 0: never asks.
  explicit Preallocation(std::uint64_t step_bytes) : step_bytes_(step_bytes) {}

  /// Makes room for the bytes before `end`. What fails is not thrown: a write that has no room will say so itself.
  void reserve(const FileDescriptor& file, std::uint64_t end);

  /// Place in the file up to which room was asked for.
  std::uint64_t reserved_until() const { return reserved_; }
  /// The file was cut there: room beyond it is given back.
  void cut(std::uint64_t size);

  /// For IoStats::detail: why there is none although it was wanted; else empty.
  const std::string& refusal() const { return refusal_; }

 private:
  std::uint64_t step_bytes_;
  std::uint64_t reserved_ = 0;
  std::string refusal_;
};

}  // namespace millrace::io
