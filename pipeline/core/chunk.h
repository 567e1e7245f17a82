#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "pipeline/core/attributes.h"
#include "pipeline/core/buffer.h"
#include "pipeline/core/dtype.h"

namespace millrace {

/// Extents of a chunk, slowest first (C order); rank 0 to 4. An extent counts elements.
class Shape {
 public:
  static constexpr std::size_t kMaxRank = 4;

  Shape() = default;
  /// Error when there are more than kMaxRank extents.
  Shape(std::initializer_list<std::uint64_t> extents);

  std::size_t rank() const { return rank_; }
  std::uint64_t operator[](std::size_t axis) const { return extents_.at(axis); }
  /// Product of the extents; 1 for rank 0. Error when it does not fit 64 bits.
  std::uint64_t elements() const;
  /// "[3, 128, 128]"
  std::string text() const;
  bool operator==(const Shape&) const = default;

 private:
  std::array<std::uint64_t, kMaxRank> extents_{};
  std::uint8_t rank_ = 0;
};

/// Where the bytes of a chunk came from. `file` is null for generated data.
struct Origin {
  std::shared_ptr<const std::filesystem::path> file;
  std::uint64_t offset = 0;  ///< bytes from the start of the file
  std::uint64_t length = 0;  ///< bytes in the file
};

/// The unit of flow: a counted buffer seen as elements of one type, with its place in the stream, its origin and its
/// attributes. Cheap to move. A chunk belongs to one thread at a time.
class Chunk {
 public:
  Chunk() = default;
  /// The buffer's visible size must be exactly shape.elements() * size_of(dtype) bytes, else Error.
  Chunk(Buffer buffer, DType dtype, Shape shape);
  /// One-dimensional: as many elements as the buffer holds; Error when bytes are left over.
  Chunk(Buffer buffer, DType dtype);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::size_t size_bytes() const { return buffer_.size(); }
  std::uint64_t elements() const { return shape_.elements(); }

  /// Position in the flow of its link, from 0 without gaps; set by the engine.
  std::uint64_t sequence() const { return sequence_; }
  void set_sequence(std::uint64_t sequence) { sequence_ = sequence; }

  const Origin& origin() const { return origin_; }
  void set_origin(Origin origin) { origin_ = std::move(origin); }

  /// Never fails: an empty set when there are none.
  const Attributes& attributes() const;
  const std::shared_ptr<const Attributes>& shared_attributes() const { return attributes_; }
  void set_attributes(std::shared_ptr<const Attributes> attributes) { attributes_ = std::move(attributes); }

  const Buffer& buffer() const { return buffer_; }
  std::span<const std::byte> bytes() const { return buffer_.bytes(); }

  /// The elements for reading. Error when T is not the chunk's dtype or the memory is not aligned for it.
  template <typename T>
  std::span<const T> view() const {
    check_access(dtype_of<T>(), alignof(T));
    return {reinterpret_cast<const T*>(buffer_.data()), buffer_.size() / sizeof(T)};
  }

  /// The elements for writing in place. When the buffer is shared (fan-out) it is first copied once into a loaned
  /// buffer, and the copy is counted. Errors as view().
  template <typename T>
  std::span<T> samples() {
    check_access(dtype_of<T>(), alignof(T));
    make_unique();
    return {reinterpret_cast<T*>(buffer_.writable().data()), buffer_.size() / sizeof(T)};
  }

  /// A chunk with other contents at the same place of the flow: sequence, origin and attributes are taken over.
  Chunk with(Buffer buffer, DType dtype, Shape shape) const;
  Chunk with(Buffer buffer, DType dtype) const;

 private:
  void check_access(DType wanted, std::size_t alignment) const;
  void make_unique();

  Buffer buffer_;
  Shape shape_;
  DType dtype_ = DType::u8;
  std::uint64_t sequence_ = 0;
  Origin origin_;
  std::shared_ptr<const Attributes> attributes_;
};

}  // namespace millrace
