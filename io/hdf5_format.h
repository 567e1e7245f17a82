#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/reader.h"
#include "pipeline/core/attributes.h"
#include "pipeline/core/dtype.h"

namespace millrace::io {

// HDF5 files, for their structure only: groups, attributes and where the bytes of datasets lie. Bulk data is read by
// Reader and decoded outside the library. All functions may be called from any thread; one lock of the whole process
// serves them one after the other. Every failure of the library is an Error with the file's path.
//
// The library cannot be trusted with hostile files: 1.10 has bugs that overrun buffers or never return. What can be
// checked from outside is checked here; who opens files of unknown origin does it in a process of its own
// (io/isolated_call.h).

/// A filter of a dataset, in the order of encoding.
struct Hdf5Filter {
  std::uint32_t id = 0;
  std::vector<std::uint32_t> values;
  bool operator==(const Hdf5Filter&) const = default;
};

inline constexpr std::uint32_t kHdf5Deflate = 1;
inline constexpr std::uint32_t kHdf5Shuffle = 2;
inline constexpr std::uint32_t kHdf5Fletcher32 = 3;

/// One stored piece of a dataset.
struct Hdf5Chunk {
  Extent extent;                  ///< in the file; inside it, checked
  std::uint32_t filter_mask = 0;  ///< bit i set: filter i was not applied
  std::uint64_t first = 0;        ///< index of its first element
};

enum class Hdf5Layout { compact, contiguous, chunked };

/// A one-dimensional dataset.
struct Hdf5Dataset {
  DType dtype = DType::u8;
  bool big_endian = false;
  std::uint64_t elements = 0;
  Hdf5Layout layout = Hdf5Layout::contiguous;
  std::vector<Hdf5Filter> filters;
  /// Elements that every encoded chunk holds, the last one too (its surplus has no meaning); chunked only.
  std::uint64_t chunk_elements = 0;
  /// In order of `first` and without gaps: chunked; contiguous: one; none when there are no elements, or compact.
  std::vector<Hdf5Chunk> chunks;
  /// The values themselves, as stored, when the layout is compact.
  std::vector<std::byte> compact;
};

/// An HDF5 file open for reading. External links are not followed, filter plugins never loaded.
class Hdf5Reader {
 public:
  /// Error when it is no HDF5 file, is shorter than its superblock says, or is open for writing elsewhere (which shows
  /// by the mark that newer layouts have for it, or by the lock of the library that writes).
  explicit Hdf5Reader(const std::filesystem::path& path);
  Hdf5Reader(const Hdf5Reader&) = delete;
  Hdf5Reader& operator=(const Hdf5Reader&) = delete;
  ~Hdf5Reader();

  /// True when `object` ("a/b/c", from the root) can be reached.
  bool contains(const std::string& object) const;
  /// Where an object is kept: the same for all of its names. Error when it cannot be reached.
  std::uint64_t place(const std::string& object) const;
  /// Names of the links in a group ("/" = the root), in order of name.
  std::vector<std::string> names(const std::string& group) const;
  /// The scalar attributes of an object: integers, floating-point numbers and strings (fixed or variable length, cut at
  /// the first NUL); an enumeration gives the name of its member, or the number when it has none. Attributes of other
  /// types or shapes are left out.
  Attributes attributes(const std::string& object) const;
  /// One of them; nothing when it is absent or left out.
  std::optional<AttributeValue> attribute(const std::string& object, const std::string& name) const;
  /// Error for what the structs above cannot say: other ranks and types, virtual and external storage, missing chunks,
  /// more than 16384 chunks (the library's search is quadratic), extents beyond the file's end.
  Hdf5Dataset dataset(const std::string& object) const;

  std::uint64_t file_bytes() const;

 private:
  struct File;
  std::unique_ptr<File> file_;
};

/// While one lives, no other thread is inside the library: to be held around a fork, so that the child (which destroys
/// its copy first of all) finds the library at rest. Its holder must not call the library.
class Hdf5Pause {
 public:
  Hdf5Pause();
  Hdf5Pause(const Hdf5Pause&) = delete;
  Hdf5Pause& operator=(const Hdf5Pause&) = delete;
  ~Hdf5Pause();
};

/// An attribute to write. Numbers are stored as f64, integers as `stored`, text as fixed-length strings.
struct Hdf5Attribute {
  std::string name;
  AttributeValue value;
  DType stored = DType::i64;
};

/// A new HDF5 file. Written in the oldest layout that every library reads. One thread at a time.
class Hdf5Writer {
 public:
  /// Creates `path`, which must not exist.
  explicit Hdf5Writer(const std::filesystem::path& path);
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;
  ~Hdf5Writer();

  void create_group(const std::string& group, std::span<const Hdf5Attribute> attributes = {});
  void set_attribute(const std::string& object, const Hdf5Attribute& attribute);
  /// A further name for an object.
  void link(const std::string& existing, const std::string& name);
  /// A one-dimensional dataset without filters. `values` holds its elements, little-endian.
  void write_contiguous(const std::string& dataset, DType dtype, std::span<const std::byte> values);
  /// A one-dimensional dataset of one chunk, which is as long as the dataset and has been encoded by `filters` already.
  void write_encoded(const std::string& dataset, DType dtype, std::uint64_t elements,
                     std::span<const Hdf5Filter> filters, std::span<const std::byte> chunk);
  /// Flushes and closes. The destructor closes too, but cannot report.
  void close();

 private:
  struct File;
  std::unique_ptr<File> file_;
};

}  // namespace millrace::io
