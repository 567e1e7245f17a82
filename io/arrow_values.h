#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "io/arrow_ipc.h"
#include "pipeline/core/attributes.h"

namespace millrace::io {

// What the buffers of an Arrow array mean (columnar format specification, "physical memory layout"). Pure. `bytes` are
// those of ArrowArray::values, which reach for array.length values.

/// True for what arrow_scalars() and arrow_texts() can give: no lists, structures, binaries or indices.
bool is_plain(const ArrowField& field);

/// Integers, indices, numbers, booleans, timestamps. Error for other kinds.
std::vector<AttributeValue> arrow_scalars(const ArrowField& field, const ArrowArray& array,
                                          std::span<const std::byte> bytes);

/// Texts by their offsets (arrow_offsets) in `data`.
std::vector<AttributeValue> arrow_texts(std::span<const std::uint64_t> offsets, std::span<const std::byte> data);

/// Integers that are not negative, else Error.
std::vector<std::uint64_t> arrow_unsigned(const ArrowField& field, const ArrowArray& array,
                                          std::span<const std::byte> bytes);

/// The length + 1 offsets of texts, binaries and lists, {0} for an empty array. Error when one falls or is above
/// `limit`.
std::vector<std::uint64_t> arrow_offsets(const ArrowField& field, const ArrowArray& array,
                                         std::span<const std::byte> bytes, std::uint64_t limit);

}  // namespace millrace::io
