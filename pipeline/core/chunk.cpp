#include "pipeline/core/chunk.h"

#include <cstring>
#include <limits>
#include <utility>

#include "pipeline/core/call_context.h"
#include "pipeline/core/error.h"

namespace millrace {

Shape::Shape(std::initializer_list<std::uint64_t> extents) {
  if (extents.size() > kMaxRank) throw Error("a shape of rank " + std::to_string(extents.size()) + "; at most 4");
  for (const auto extent : extents) extents_.at(rank_++) = extent;
}

std::uint64_t Shape::elements() const {
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    if (extents_[axis] == 0) return 0;
  }
  std::uint64_t product = 1;
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    if (product > std::numeric_limits<std::uint64_t>::max() / extents_[axis]) {
      throw Error("shape " + text() + " has more than 2^64 elements");
    }
    product *= extents_[axis];
  }
  return product;
}

std::string Shape::text() const {
  std::string result = "[";
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    if (axis != 0) result += ", ";
    result += std::to_string(extents_[axis]);
  }
  return result + "]";
}

Chunk::Chunk(Buffer buffer, DType dtype, Shape shape) : buffer_(std::move(buffer)), shape_(shape), dtype_(dtype) {
  const std::size_t width = size_of(dtype);
  if (buffer_.size() % width != 0 || shape_.elements() != buffer_.size() / width) {
    throw Error("shape " + shape_.text() + " of " + std::string(name_of(dtype)) + " does not fit a buffer of " +
                std::to_string(buffer_.size()) + " bytes");
  }
}

Chunk::Chunk(Buffer buffer, DType dtype) : buffer_(std::move(buffer)), dtype_(dtype) {
  const std::size_t width = size_of(dtype);
  if (buffer_.size() % width != 0) {
    throw Error("a buffer of " + std::to_string(buffer_.size()) + " bytes is not a whole number of " +
                std::string(name_of(dtype)));
  }
  shape_ = Shape{buffer_.size() / width};
}

const Attributes& Chunk::attributes() const {
  static const Attributes kNone;
  return attributes_ ? *attributes_ : kNone;
}

Chunk Chunk::with(Buffer buffer, DType dtype, Shape shape) const {
  Chunk result(std::move(buffer), dtype, shape);
  result.sequence_ = sequence_;
  result.origin_ = origin_;
  result.attributes_ = attributes_;
  return result;
}

Chunk Chunk::with(Buffer buffer, DType dtype) const {
  const std::size_t width = size_of(dtype);
  const Shape shape{buffer.size() / width};
  return with(std::move(buffer), dtype, shape);
}

void Chunk::check_access(DType wanted, std::size_t alignment) const {
  if (wanted != dtype_) {
    throw Error("a chunk of " + std::string(name_of(dtype_)) + " was viewed as " + std::string(name_of(wanted)));
  }
  if (reinterpret_cast<std::uintptr_t>(buffer_.data()) % alignment != 0) {
    throw Error("the chunk's memory is not aligned for " + std::string(name_of(wanted)));
  }
}

void Chunk::make_unique() {
  if (buffer_.empty() || buffer_.unique()) return;
  Buffer own = loan(buffer_.size());
  std::memcpy(own.writable().data(), buffer_.data(), buffer_.size());
  call_context().tally.copied_bytes += buffer_.size();
  buffer_ = std::move(own);
}

}  // namespace millrace
