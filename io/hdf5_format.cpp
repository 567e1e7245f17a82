#include "io/hdf5_format.h"

#include <fmt/format.h>
#include <hdf5.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <utility>

#include "io/file_descriptor.h"
#include "io/file_signature.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

constexpr std::size_t kMaxTextBytes = 1 << 20;
constexpr std::uint64_t kMaxChunks = 16384;
constexpr std::uint64_t kMaxLinks = 100'000'000;

/// The one lock around the library. Debian's build has a lock of its own; this one also covers what belongs together.
std::mutex& library_lock() {
  static std::mutex lock;
  return lock;
}

/// Holds the library and keeps it from printing on this thread.
class Library {
 public:
  Library() : lock_(library_lock()) {
    hbool_t thread_safe = false;
    if (H5open() < 0 || H5is_library_threadsafe(&thread_safe) < 0) throw Error("the HDF5 library cannot start");
    if (!thread_safe) throw Error("this HDF5 library is not thread-safe; millrace needs Debian's serial build");
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    H5PLset_loading_state(0);
  }

 private:
  std::lock_guard<std::mutex> lock_;
};

/// The first message of the library's error stack: what went wrong deepest inside.
herr_t take_message(unsigned /*depth*/, const H5E_error2_t* error, void* text) {
  if (error->desc == nullptr || *error->desc == '\0') return 0;
  *static_cast<std::string*>(text) = error->desc;
  return 1;
}

Error library_error(const std::filesystem::path& path, const std::string& what_failed) {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_message, &reason);
  H5Eclear2(H5E_DEFAULT);
  for (auto& character : reason) {
    if (static_cast<unsigned char>(character) < ' ') character = ' ';
  }
  Error error(reason.empty() ? what_failed : what_failed + ": " + reason);
  error.at_path(path);
  return error;
}

/// An identifier of the library and the function that closes it.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  bool valid() const { return id_ >= 0; }
  hid_t id() const { return id_; }
  herr_t close() { return id_ >= 0 ? close_(std::exchange(id_, H5I_INVALID_HID)) : 0; }

 private:
  hid_t id_;
  Close close_;
};

/// `id` as a Handle, or the library's error.
Handle checked(hid_t id, Handle::Close close, const std::filesystem::path& path, const std::string& what_failed) {
  if (id < 0) throw library_error(path, what_failed);
  return {id, close};
}

herr_t refuse_external_link(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) { return -1; }

/// Access properties of links that lead to no other file.
Handle inner_links(const std::filesystem::path& path) {
  Handle access = checked(H5Pcreate(H5P_LINK_ACCESS), H5Pclose, path, "cannot make link properties");
  if (H5Pset_elink_cb(access.id(), refuse_external_link, nullptr) < 0) {
    throw library_error(path, "cannot set link properties");
  }
  return access;
}

/// The library locks a file that it writes, with flock(2), and what is in it cannot be trusted until it is closed.
/// Asked here and not by the library, which takes a file system without locks for a refusal.
void refuse_open_for_writing(const FileDescriptor& file) {
  if (::flock(file.get(), LOCK_SH | LOCK_NB) == 0) {
    ::flock(file.get(), LOCK_UN);  // nobody who wants to write is to find this one in his way
    return;
  }
  if (errno != EWOULDBLOCK) return;
  throw Error("is open for writing in another process: it can be read when it is closed there");
}

/// The library's own words for a file of another kind are about a signature, or about a file that was cut off.
void refuse_other_formats(const FileDescriptor& file) {
  std::array<std::byte, kSignatureBytes> head{};
  const ssize_t got = ::pread(file.get(), head.data(), head.size(), 0);
  if (got == 0) throw Error("is empty, not an HDF5 file").at_offset(0);
  if (got < 0) return;
  const auto start = std::span(head).first(static_cast<std::size_t>(got));
  const std::string name = name_by_signature(start);
  if (!name.empty() && name != "HDF5") {
    throw Error("is not an HDF5 file" + but_it_starts_like(start)).at_offset(0);
  }
}

Handle open_existing(const std::filesystem::path& path) {
  // The library would wait for ever on a pipe.
  std::error_code problem;
  const auto status = std::filesystem::status(path, problem);
  if (problem || !std::filesystem::exists(status)) {
    throw system_error("cannot open", problem ? problem.value() : ENOENT).at_path(path);
  }
  if (!std::filesystem::is_regular_file(status)) throw Error("is not a regular file").at_path(path);
  const FileDescriptor file = open_input(path);
  try {
    refuse_other_formats(file);
    refuse_open_for_writing(file);
  } catch (Error& error) {
    throw error.at_path(path);
  }
  Handle access = checked(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, path, "cannot make file properties");
  H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG);
  // Locks would refuse files on media that have none, and reading needs none.
  H5Pset_file_locking(access.id(), false, true);
  return checked(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose, path, "cannot open as HDF5");
}

/// A fixed-length string as the library pads it: NUL-terminated, NUL-padded or space-padded.
std::string unpadded(const std::vector<char>& text, H5T_str_t padding) {
  std::string result(text.begin(), std::find(text.begin(), text.end(), '\0'));
  if (padding == H5T_STR_SPACEPAD) result.erase(result.find_last_not_of(' ') + 1);
  return result;
}

std::optional<AttributeValue> read_text(hid_t attribute, hid_t type) {
  if (H5Tis_variable_str(type) > 0) {
    const Handle memory_type(H5Tcopy(type), H5Tclose);
    char* text = nullptr;
    if (!memory_type.valid() || H5Aread(attribute, memory_type.id(), static_cast<void*>(&text)) < 0)
      return std::nullopt;
    std::string result = text == nullptr ? std::string() : std::string(text, strnlen(text, kMaxTextBytes));
    H5free_memory(text);
    return result;
  }
  const std::size_t bytes = H5Tget_size(type);
  if (bytes == 0 || bytes > kMaxTextBytes) return std::nullopt;
  std::vector<char> text(bytes);
  if (H5Aread(attribute, type, text.data()) < 0) return std::nullopt;
  return unpadded(text, H5Tget_strpad(type));
}

std::optional<AttributeValue> read_integer(hid_t attribute) {
  std::int64_t value = 0;
  if (H5Aread(attribute, H5T_NATIVE_INT64, &value) < 0) return std::nullopt;
  return value;
}

std::optional<AttributeValue> read_enumeration(hid_t attribute, hid_t type) {
  std::array<std::byte, 16> value{};
  std::array<char, 256> name{};
  if (H5Tget_size(type) > value.size() || H5Aread(attribute, type, value.data()) < 0) return std::nullopt;
  if (H5Tenum_nameof(type, value.data(), name.data(), name.size()) >= 0) {
    return std::string(name.data(), strnlen(name.data(), name.size()));
  }
  const Handle base(H5Tget_super(type), H5Tclose);
  std::array<std::int64_t, 2> number{};  // H5Tconvert works in place and needs room for both types
  std::memcpy(number.data(), value.data(), value.size());
  if (!base.valid() || H5Tconvert(base.id(), H5T_NATIVE_INT64, 1, number.data(), nullptr, H5P_DEFAULT) < 0) {
    return std::nullopt;
  }
  return number[0];
}

/// The value of a scalar attribute; nothing for types and shapes that no AttributeValue can hold, and for values that
/// the library cannot read.
std::optional<AttributeValue> read_value(hid_t attribute) {
  const Handle space(H5Aget_space(attribute), H5Sclose);
  const Handle type(H5Aget_type(attribute), H5Tclose);
  if (!space.valid() || !type.valid() || H5Sget_simple_extent_npoints(space.id()) != 1) return std::nullopt;
  switch (H5Tget_class(type.id())) {
    case H5T_STRING:
      return read_text(attribute, type.id());
    case H5T_INTEGER:
      return read_integer(attribute);
    case H5T_ENUM:
      return read_enumeration(attribute, type.id());
    case H5T_FLOAT: {
      double value = 0;
      if (H5Aread(attribute, H5T_NATIVE_DOUBLE, &value) < 0) return std::nullopt;
      return value;
    }
    default:
      return std::nullopt;
  }
}

herr_t collect_link(hid_t /*group*/, const char* name, const H5L_info_t* info, void* names) {
  if (info->type != H5L_TYPE_HARD && info->type != H5L_TYPE_SOFT) return 0;
  try {
    auto& list = *static_cast<std::vector<std::string>*>(names);
    if (list.size() >= kMaxLinks) return -1;
    list.emplace_back(name);
    return 0;
  } catch (const std::exception&) {
    return -1;  // no memory; an exception must not pass through the library
  }
}

herr_t collect_attribute(hid_t /*object*/, const char* name, const H5A_info_t* /*info*/, void* names) {
  try {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return 0;
  } catch (const std::exception&) {
    return -1;
  }
}

std::optional<DType> integer_type(std::size_t bytes, bool is_signed) {
  switch (bytes) {
    case 1:
      return is_signed ? DType::i8 : DType::u8;
    case 2:
      return is_signed ? DType::i16 : DType::u16;
    case 4:
      return is_signed ? DType::i32 : DType::u32;
    case 8:
      return is_signed ? DType::i64 : DType::u64;
    default:
      return std::nullopt;
  }
}

/// Nothing for types that are no plain machine number.
std::optional<DType> element_type(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  if (kind != H5T_INTEGER && kind != H5T_FLOAT) return std::nullopt;
  const std::size_t bytes = H5Tget_size(type);
  if (bytes == 0 || bytes > 8 || H5Tget_precision(type) != 8 * bytes || H5Tget_offset(type) != 0) return std::nullopt;
  const H5T_order_t order = H5Tget_order(type);
  if (order != H5T_ORDER_LE && order != H5T_ORDER_BE) return std::nullopt;
  if (kind == H5T_INTEGER) return integer_type(bytes, H5Tget_sign(type) == H5T_SGN_2);
  if (bytes == 4) return DType::f32;
  if (bytes == 8) return DType::f64;
  return std::nullopt;
}

hid_t stored_type(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return H5T_STD_U8LE;
    case DType::i8:
      return H5T_STD_I8LE;
    case DType::u16:
      return H5T_STD_U16LE;
    case DType::i16:
      return H5T_STD_I16LE;
    case DType::u32:
      return H5T_STD_U32LE;
    case DType::i32:
      return H5T_STD_I32LE;
    case DType::u64:
      return H5T_STD_U64LE;
    case DType::i64:
      return H5T_STD_I64LE;
    case DType::f32:
      return H5T_IEEE_F32LE;
    case DType::f64:
      return H5T_IEEE_F64LE;
  }
  return H5I_INVALID_HID;
}

}  // namespace

// ------------------------------------------------------------------------------------------------------------ reading

struct Hdf5Reader::File {
  std::filesystem::path path;
  Handle file;
  Handle links;
  std::uint64_t bytes = 0;
  std::uint64_t user_block_bytes = 0;

  Handle open(const std::string& object) const {
    return checked(H5Oopen(file.id(), object.c_str(), links.id()), H5Oclose, path, "cannot open '" + object + "'");
  }

  Error error(const std::string& dataset, const std::string& problem) const {
    Error error("dataset '" + dataset + "' " + problem);
    error.at_path(path);
    return error;
  }

  void read_type(const std::string& name, hid_t dataset, Hdf5Dataset& result) const;
  void read_filters(const std::string& name, hid_t properties, Hdf5Dataset& result) const;
  void read_compact(const std::string& name, hid_t dataset, Hdf5Dataset& result) const;
  void read_contiguous(const std::string& name, hid_t dataset, hid_t properties, Hdf5Dataset& result) const;
  void read_chunked(const std::string& name, hid_t dataset, hid_t properties, Hdf5Dataset& result) const;
  Hdf5Chunk read_chunk(const std::string& name, hid_t dataset, hid_t space, std::uint64_t index) const;
  void check_inside(const std::string& name, const Extent& extent) const;
};

Hdf5Reader::Hdf5Reader(const std::filesystem::path& path) {
  const Library library;
  Handle file = open_existing(path);
  Handle links = inner_links(path);
  hsize_t bytes = 0;
  if (H5Fget_filesize(file.id(), &bytes) < 0) throw library_error(path, "cannot tell its size");
  const Handle properties = checked(H5Fget_create_plist(file.id()), H5Pclose, path, "cannot read its properties");
  hsize_t user_block_bytes = 0;
  if (H5Pget_userblock(properties.id(), &user_block_bytes) < 0) throw library_error(path, "cannot read its properties");
  file_ = std::make_unique<File>(File{path, std::move(file), std::move(links), bytes, user_block_bytes});
}

Hdf5Reader::~Hdf5Reader() {
  const std::lock_guard lock(library_lock());
  file_.reset();
}

std::uint64_t Hdf5Reader::file_bytes() const { return file_->bytes; }

bool Hdf5Reader::contains(const std::string& object) const {
  const Library library;
  for (std::size_t end = 0; end != std::string::npos;) {
    end = object.find('/', end + 1);
    const std::string part = object.substr(0, end);
    if (part.empty() || part == "/") continue;
    if (H5Lexists(file_->file.id(), part.c_str(), file_->links.id()) <= 0) return false;
    // A link that leads nowhere (or to another file) reaches no object.
    if (H5Oexists_by_name(file_->file.id(), part.c_str(), file_->links.id()) <= 0) return false;
  }
  return true;
}

std::uint64_t Hdf5Reader::place(const std::string& object) const {
  const Library library;
  H5O_info_t info;
  if (H5Oget_info_by_name2(file_->file.id(), object.c_str(), &info, H5O_INFO_BASIC, file_->links.id()) < 0) {
    throw library_error(file_->path, "cannot find '" + object + "'");
  }
  return info.addr;
}

std::vector<std::string> Hdf5Reader::names(const std::string& group) const {
  const Library library;
  std::vector<std::string> names;
  if (H5Literate_by_name(file_->file.id(), group.c_str(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_link, &names,
                         file_->links.id()) < 0) {
    throw library_error(file_->path, "cannot list '" + group + "'");
  }
  return names;
}

Attributes Hdf5Reader::attributes(const std::string& object) const {
  const Library library;
  const Handle opened = file_->open(object);
  std::vector<std::string> names;
  hsize_t position = 0;
  if (H5Aiterate2(opened.id(), H5_INDEX_NAME, H5_ITER_NATIVE, &position, collect_attribute, &names) < 0) {
    throw library_error(file_->path, "cannot list the attributes of '" + object + "'");
  }
  Attributes result;
  for (auto& name : names) {
    const Handle attribute = checked(H5Aopen(opened.id(), name.c_str(), H5P_DEFAULT), H5Aclose, file_->path,
                                     "cannot open attribute " + name);
    if (auto value = read_value(attribute.id())) result.set(std::move(name), std::move(*value));
  }
  return result;
}

std::optional<AttributeValue> Hdf5Reader::attribute(const std::string& object, const std::string& name) const {
  const Library library;
  const Handle opened = file_->open(object);
  if (H5Aexists(opened.id(), name.c_str()) <= 0) return std::nullopt;
  const Handle attribute =
      checked(H5Aopen(opened.id(), name.c_str(), H5P_DEFAULT), H5Aclose, file_->path, "cannot open attribute " + name);
  return read_value(attribute.id());
}

Hdf5Dataset Hdf5Reader::dataset(const std::string& object) const {
  const Library library;
  const Handle opened = file_->open(object);
  if (H5Iget_type(opened.id()) != H5I_DATASET) throw file_->error(object, "is not a dataset");
  const Handle properties =
      checked(H5Dget_create_plist(opened.id()), H5Pclose, file_->path, "cannot read the layout of '" + object + "'");
  Hdf5Dataset result;
  file_->read_type(object, opened.id(), result);
  file_->read_filters(object, properties.id(), result);
  switch (H5Pget_layout(properties.id())) {
    case H5D_COMPACT:
      file_->read_compact(object, opened.id(), result);
      break;
    case H5D_CONTIGUOUS:
      file_->read_contiguous(object, opened.id(), properties.id(), result);
      break;
    case H5D_CHUNKED:
      file_->read_chunked(object, opened.id(), properties.id(), result);
      break;
    default:
      throw file_->error(object, "has a layout that is not supported");
  }
  return result;
}

void Hdf5Reader::File::read_type(const std::string& name, hid_t dataset, Hdf5Dataset& result) const {
  const Handle type = checked(H5Dget_type(dataset), H5Tclose, path, "cannot read the type of '" + name + "'");
  const auto dtype = element_type(type.id());
  if (!dtype) throw error(name, "has elements of a type that is not supported");
  result.dtype = *dtype;
  result.big_endian = H5Tget_order(type.id()) == H5T_ORDER_BE;

  const Handle space = checked(H5Dget_space(dataset), H5Sclose, path, "cannot read the shape of '" + name + "'");
  if (H5Sget_simple_extent_type(space.id()) != H5S_SIMPLE || H5Sget_simple_extent_ndims(space.id()) != 1) {
    throw error(name, "is not one-dimensional");
  }
  hsize_t elements = 0;
  if (H5Sget_simple_extent_dims(space.id(), &elements, nullptr) < 0) {
    throw library_error(path, "cannot read the shape of '" + name + "'");
  }
  if (elements > (std::uint64_t{1} << 48)) throw error(name, fmt::format("claims {} elements", elements));
  result.elements = elements;
}

void Hdf5Reader::File::read_filters(const std::string& name, hid_t properties, Hdf5Dataset& result) const {
  const int filters = H5Pget_nfilters(properties);
  if (filters < 0) throw library_error(path, "cannot read the filters of '" + name + "'");
  for (int index = 0; index < filters; ++index) {
    unsigned flags = 0;
    std::array<unsigned, 64> values{};
    std::size_t count = values.size();
    const H5Z_filter_t id =
        H5Pget_filter2(properties, static_cast<unsigned>(index), &flags, &count, values.data(), 0, nullptr, nullptr);
    if (id < 0) throw library_error(path, "cannot read the filters of '" + name + "'");
    if (count > values.size()) throw error(name, fmt::format("has a filter with {} parameters", count));
    result.filters.push_back(
        {static_cast<std::uint32_t>(id), {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)}});
  }
}

void Hdf5Reader::File::check_inside(const std::string& name, const Extent& extent) const {
  if (extent.offset <= bytes && extent.length <= bytes - extent.offset) return;
  Error outside = error(name, fmt::format("has {} bytes beyond the end of the file ({} bytes)", extent.length, bytes));
  throw outside.at_offset(extent.offset);
}

void Hdf5Reader::File::read_compact(const std::string& name, hid_t dataset, Hdf5Dataset& result) const {
  result.layout = Hdf5Layout::compact;
  const std::uint64_t wanted = result.elements * size_of(result.dtype);
  if (H5Dget_storage_size(dataset) != wanted) throw error(name, "does not hold as much as its shape says");
  if (wanted > bytes) throw error(name, fmt::format("claims {} bytes", wanted));
  result.compact.resize(wanted);
  const Handle type = checked(H5Dget_type(dataset), H5Tclose, path, "cannot read the type of '" + name + "'");
  if (wanted != 0 && H5Dread(dataset, type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, result.compact.data()) < 0) {
    throw library_error(path, "cannot read '" + name + "'");
  }
}

void Hdf5Reader::File::read_contiguous(const std::string& name, hid_t dataset, hid_t properties,
                                       Hdf5Dataset& result) const {
  result.layout = Hdf5Layout::contiguous;
  if (H5Pget_external_count(properties) != 0) throw error(name, "is stored in other files");
  if (!result.filters.empty()) throw error(name, "has filters but no chunks");
  if (result.elements == 0) return;
  const std::uint64_t wanted = result.elements * size_of(result.dtype);
  if (H5Dget_storage_size(dataset) != wanted) throw error(name, "does not hold as much as its shape says");
  const haddr_t offset = H5Dget_offset(dataset);
  if (offset == HADDR_UNDEF) throw error(name, "has no stored values");
  result.chunks.push_back({{offset, wanted}, 0, 0});
  check_inside(name, result.chunks.back().extent);
}

Hdf5Chunk Hdf5Reader::File::read_chunk(const std::string& name, hid_t dataset, hid_t space, std::uint64_t index) const {
  hsize_t first = 0;
  unsigned mask = 0;
  haddr_t offset = HADDR_UNDEF;
  hsize_t length = 0;
  if (H5Dget_chunk_info(dataset, space, index, &first, &mask, &offset, &length) < 0) {
    throw library_error(path, fmt::format("cannot find chunk {} of '{}'", index, name));
  }
  if (offset == HADDR_UNDEF || offset > bytes) throw error(name, fmt::format("has no stored chunk {}", index));
  // Unlike H5Dget_offset, this address does not count the user block before the superblock.
  const Hdf5Chunk chunk{{offset + user_block_bytes, length}, mask, first};
  check_inside(name, chunk.extent);
  return chunk;
}

void Hdf5Reader::File::read_chunked(const std::string& name, hid_t dataset, hid_t properties,
                                    Hdf5Dataset& result) const {
  result.layout = Hdf5Layout::chunked;
  hsize_t chunk_elements = 0;
  if (H5Pget_chunk(properties, 1, &chunk_elements) != 1 || chunk_elements == 0) {
    throw error(name, "has chunks of no usable shape");
  }
  result.chunk_elements = chunk_elements;
  const std::uint64_t expected = result.elements / chunk_elements + (result.elements % chunk_elements != 0 ? 1 : 0);
  if (expected > kMaxChunks) throw error(name, fmt::format("has {} chunks; {} at most", expected, kMaxChunks));
  if (expected == 0) return;

  const Handle space = checked(H5Dget_space(dataset), H5Sclose, path, "cannot read the shape of '" + name + "'");
  hsize_t stored = 0;
  if (H5Dget_num_chunks(dataset, space.id(), &stored) < 0) {
    throw library_error(path, "cannot count the chunks of '" + name + "'");
  }
  if (stored != expected) throw error(name, fmt::format("has {} stored chunks; {} expected", stored, expected));
  for (std::uint64_t index = 0; index < expected; ++index) {
    result.chunks.push_back(read_chunk(name, dataset, space.id(), index));
  }
  std::sort(result.chunks.begin(), result.chunks.end(),
            [](const Hdf5Chunk& left, const Hdf5Chunk& right) { return left.first < right.first; });
  for (std::uint64_t index = 0; index < expected; ++index) {
    if (result.chunks[index].first != index * chunk_elements) {
      throw error(name, fmt::format("has no stored chunk at element {}", index * chunk_elements));
    }
  }
}

Hdf5Pause::Hdf5Pause() {
  // A started library spares every child the start (10 ms).
  { const Library started; }
  library_lock().lock();
}

Hdf5Pause::~Hdf5Pause() { library_lock().unlock(); }

// ------------------------------------------------------------------------------------------------------------ writing

struct Hdf5Writer::File {
  std::filesystem::path path;
  Handle file;

  Handle open(const std::string& object) const {
    return checked(H5Oopen(file.id(), object.c_str(), H5P_DEFAULT), H5Oclose, path, "cannot open '" + object + "'");
  }
  void require(herr_t result, const std::string& what_failed) const {
    if (result < 0) throw library_error(path, what_failed);
  }
  void write_attribute(hid_t object, const Hdf5Attribute& attribute) const;
  void write_text(hid_t object, const std::string& name, const std::string& text) const;
  void write_scalar(hid_t object, const std::string& name, hid_t file_type, hid_t memory_type, const void* value) const;
};

Hdf5Writer::Hdf5Writer(const std::filesystem::path& path) {
  const Library library;
  file_ = std::make_unique<File>(File{path, checked(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT),
                                                    H5Fclose, path, "cannot create as HDF5")});
}

Hdf5Writer::~Hdf5Writer() {
  const std::lock_guard lock(library_lock());
  file_.reset();
}

void Hdf5Writer::close() {
  const Library library;
  file_->require(H5Fflush(file_->file.id(), H5F_SCOPE_LOCAL), "cannot write");
  file_->require(file_->file.close(), "cannot close");
}

void Hdf5Writer::File::write_scalar(hid_t object, const std::string& name, hid_t file_type, hid_t memory_type,
                                    const void* value) const {
  const Handle space = checked(H5Screate(H5S_SCALAR), H5Sclose, path, "cannot make a scalar");
  const Handle attribute = checked(H5Acreate2(object, name.c_str(), file_type, space.id(), H5P_DEFAULT, H5P_DEFAULT),
                                   H5Aclose, path, "cannot create attribute " + name);
  require(H5Awrite(attribute.id(), memory_type, value), "cannot write attribute " + name);
}

void Hdf5Writer::File::write_text(hid_t object, const std::string& name, const std::string& text) const {
  const Handle type = checked(H5Tcopy(H5T_C_S1), H5Tclose, path, "cannot make a string type");
  require(H5Tset_size(type.id(), text.size() + 1), "cannot size attribute " + name);
  write_scalar(object, name, type.id(), type.id(), text.c_str());
}

void Hdf5Writer::File::write_attribute(hid_t object, const Hdf5Attribute& attribute) const {
  if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    write_text(object, attribute.name, *text);
  } else if (const auto* number = std::get_if<double>(&attribute.value)) {
    write_scalar(object, attribute.name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, number);
  } else {
    write_scalar(object, attribute.name, stored_type(attribute.stored), H5T_NATIVE_INT64,
                 std::get_if<std::int64_t>(&attribute.value));
  }
}

void Hdf5Writer::create_group(const std::string& group, std::span<const Hdf5Attribute> attributes) {
  const Library library;
  const Handle created = checked(H5Gcreate2(file_->file.id(), group.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                                 H5Gclose, file_->path, "cannot create group '" + group + "'");
  for (const auto& attribute : attributes) file_->write_attribute(created.id(), attribute);
}

void Hdf5Writer::set_attribute(const std::string& object, const Hdf5Attribute& attribute) {
  const Library library;
  const Handle opened = file_->open(object);
  file_->write_attribute(opened.id(), attribute);
}

void Hdf5Writer::link(const std::string& existing, const std::string& name) {
  const Library library;
  file_->require(
      H5Lcreate_hard(file_->file.id(), existing.c_str(), file_->file.id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT),
      "cannot link '" + existing + "' as '" + name + "'");
}

void Hdf5Writer::write_contiguous(const std::string& dataset, DType dtype, std::span<const std::byte> values) {
  const Library library;
  const hsize_t elements = values.size() / size_of(dtype);
  const Handle space = checked(H5Screate_simple(1, &elements, nullptr), H5Sclose, file_->path, "cannot make a shape");
  const Handle created = checked(H5Dcreate2(file_->file.id(), dataset.c_str(), stored_type(dtype), space.id(),
                                            H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                                 H5Dclose, file_->path, "cannot create dataset '" + dataset + "'");
  if (elements == 0) return;
  file_->require(H5Dwrite(created.id(), stored_type(dtype), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
                 "cannot write '" + dataset + "'");
}

void Hdf5Writer::write_encoded(const std::string& dataset, DType dtype, std::uint64_t elements,
                               std::span<const Hdf5Filter> filters, std::span<const std::byte> chunk) {
  const Library library;
  const hsize_t extent = elements;
  const hsize_t chunk_extent = std::max<std::uint64_t>(elements, 1);
  const Handle space = checked(H5Screate_simple(1, &extent, nullptr), H5Sclose, file_->path, "cannot make a shape");
  const Handle properties =
      checked(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, file_->path, "cannot make dataset properties");
  file_->require(H5Pset_chunk(properties.id(), 1, &chunk_extent), "cannot set the chunks of '" + dataset + "'");
  for (const auto& filter : filters) {
    // Optional: the library need not have the filter, it is never asked to run it.
    file_->require(H5Pset_filter(properties.id(), static_cast<H5Z_filter_t>(filter.id), H5Z_FLAG_OPTIONAL,
                                 filter.values.size(), filter.values.data()),
                   "cannot set the filters of '" + dataset + "'");
  }
  const Handle created = checked(H5Dcreate2(file_->file.id(), dataset.c_str(), stored_type(dtype), space.id(),
                                            H5P_DEFAULT, properties.id(), H5P_DEFAULT),
                                 H5Dclose, file_->path, "cannot create dataset '" + dataset + "'");
  if (elements == 0) return;
  const hsize_t first = 0;
  file_->require(H5Dwrite_chunk(created.id(), H5P_DEFAULT, 0, &first, chunk.size(), chunk.data()),
                 "cannot write '" + dataset + "'");
}

}  // namespace millrace::io
