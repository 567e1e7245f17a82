#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/reader.h"
#include "pipeline/core/attributes.h"
#include "pipeline/core/buffer.h"

namespace millrace::io {

// Reading Arrow IPC files (Feather version 2), as far as POD5 needs it: little-endian, uncompressed, without missing
// values, metadata of version 4 or 5, the types of ArrowKind. Everything else is an Error that says what it is. Source:
// Apache Arrow's columnar format specification. Nothing in a file is trusted: every place is checked against the table
// and every length against the place before memory is asked for.

enum class ArrowKind {
  integer,
  floating,  ///< 4 or 8 bytes
  boolean,
  text,          ///< utf8, offsets of 4 or 8 bytes
  binary,        ///< offsets of 4 or 8 bytes
  fixed_binary,  ///< `width` bytes each
  timestamp,     ///< 8 bytes, milliseconds
  list,          ///< offsets of 4 or 8 bytes; one child
  map,           ///< a list whose child is a structure of key and value
  structure,
};

/// A column of a table, or a part of one.
struct ArrowField {
  std::string name;
  ArrowKind kind = ArrowKind::integer;
  std::uint32_t width = 0;  ///< bytes of one value, or of one offset; 0 for booleans and structures
  bool is_signed = false;   ///< integers
  std::string extension;    ///< name of the extension type; empty = none
  std::vector<ArrowField> children;
  /// The column's values are indices into this dictionary; `kind` and the rest describe the dictionary's values.
  std::optional<std::int64_t> dictionary;
  std::uint32_t index_width = 4;
  bool index_is_signed = true;

  /// Null when there is none of that name.
  const ArrowField* child(std::string_view wanted) const;
};

/// The values of one field in one batch: places in the file, inside the batch and long enough for `length` values.
struct ArrowArray {
  std::uint64_t length = 0;
  Extent values;  ///< of fixed width (or bits), or the offsets of texts, binaries and lists; none for structures
  Extent data;    ///< of texts and binaries
  bool is_index = false;  ///< of a dictionary
  std::vector<ArrowArray> children;
};

/// One record batch. Moves and copies cheaply.
struct ArrowBatch {
  std::uint64_t rows = 0;
  std::vector<ArrowArray> columns;  ///< as the fields of the table
  Extent body;                      ///< in the file
  Buffer bytes;                     ///< of the body, when it was loaded
};

/// One Arrow file inside another file, open for reading. One thread at a time.
class ArrowFile {
 public:
  /// Reads the footer and the dictionaries. `reader` must outlive this; offsets count from the start of its file. Error
  /// (with the offset in the file) for anything that is damaged or not supported.
  ArrowFile(Reader& reader, Extent table);
  ArrowFile(const ArrowFile&) = delete;
  ArrowFile& operator=(const ArrowFile&) = delete;
  ~ArrowFile();

  const std::vector<ArrowField>& fields() const;
  /// Index of the field of that name; nothing when there is none.
  std::optional<std::size_t> find(std::string_view name) const;
  /// The file's own metadata (of the schema); empty when it is not there.
  std::string metadata(const std::string& key) const;

  std::size_t batches() const;
  enum class Body {
    loaded,  ///< in one read, with the metadata
    left,    ///< read piece by piece, as the calls below ask for it: for batches whose bulk is not wanted
  };
  ArrowBatch batch(std::size_t index, Body body) const;

  /// The values of an array of integers, indices, numbers, booleans (0 and 1), timestamps or texts.
  /// Error for other kinds. An unsigned integer above the range of std::int64_t becomes a number.
  std::vector<AttributeValue> values(const ArrowBatch& batch, const ArrowField& field, const ArrowArray& array) const;
  /// The values of an array of unsigned integers of `field.width` bytes, or of signed ones that are not negative.
  std::vector<std::uint64_t> unsigned_values(const ArrowBatch& batch, const ArrowField& field,
                                             const ArrowArray& array) const;
  /// The length + 1 offsets of texts, binaries and lists: they never fall, and the last is at most the bytes of `data`,
  /// or the length of the child. {0} when the array is empty.
  std::vector<std::uint64_t> offsets(const ArrowBatch& batch, const ArrowField& field, const ArrowArray& array) const;
  /// Bytes of the batch's body, read or from memory.
  Buffer bytes(const ArrowBatch& batch, Extent extent) const;

  /// The values of the dictionary of `field`: by the name of the part when they are structures (parts that are no plain
  /// values are left out), else under "". All have the same length. Error when the file has no such dictionary.
  std::map<std::string, std::vector<AttributeValue>> dictionary(const ArrowField& field) const;

  /// The dictionary of `field` as it is stored, in parts of one column each. Error as dictionary().
  const std::vector<ArrowBatch>& dictionary_parts(const ArrowField& field) const;

  /// Of the table in the file.
  const Extent& extent() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::io
