#include "io/arrow_ipc.h"

#include <arrow_generated.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "io/arrow_values.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

constexpr std::string_view kMagic = "ARROW1";
constexpr std::uint64_t kHeadBytes = 8;                       // the magic, padded
constexpr std::uint64_t kTailBytes = 4 + kMagic.size();       // the footer's length and the magic
constexpr std::uint64_t kMaxFooterBytes = 256ULL << 20;       // 24 bytes for each of ten million batches
constexpr std::uint64_t kMaxMetadataBytes = 16ULL << 20;      // of one message
constexpr std::uint64_t kMaxLoadedBodyBytes = 1ULL << 30;     // ONT's batches of reads have less than a megabyte
constexpr std::uint64_t kMaxValues = std::uint64_t{1} << 40;  // of one array: sizes below stay below 2^48
constexpr std::uint64_t kPrefixBytes = 8;                     // of a message: the mark and the length
constexpr std::uint32_t kMark = 0xffffffff;
constexpr int kOldestVersion = 3;  // of the metadata: "V4"
constexpr int kNewestVersion = 4;  // "V5"
constexpr int kMilliseconds = 1;   // unit of a timestamp

Error damaged(const std::string& what, std::uint64_t offset) {
  return Error("the Arrow table is damaged: " + what).at_offset(offset);
}

/// True when [offset, offset + length) lies in [0, size).
bool fits(std::int64_t offset, std::int64_t length, std::uint64_t size) {
  return offset >= 0 && length >= 0 && static_cast<std::uint64_t>(offset) <= size &&
         static_cast<std::uint64_t>(length) <= size - static_cast<std::uint64_t>(offset);
}

template <typename T>
T load(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// The message of type T at the start of `bytes`, when it is one from end to end.
template <typename T>
const T* verified(std::span<const std::byte> bytes) {
  const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  flatbuffers::Verifier verifier(data, bytes.size());
  return verifier.VerifyBuffer<T>(nullptr) ? flatbuffers::GetRoot<T>(data) : nullptr;
}

/// An element of a vector of structs, which the verifier does not hold to their alignment.
template <typename T>
T element(const flatbuffers::Vector<const T*>& vector, std::size_t index) {
  T value;
  std::memcpy(&value, vector.Data() + index * sizeof(T), sizeof(T));
  return value;
}

std::string text_of(const flatbuffers::String* text) { return text == nullptr ? std::string() : text->str(); }

// ----------------------------------------------------------------------------------------------------------- schema

std::uint32_t integer_width(const arrow::Int* type, const std::string& column) {
  const int bits = type == nullptr ? 32 : type->bit_width();
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64) {
    throw Error(fmt::format("the column '{}' has integers of {} bits", column, bits));
  }
  return static_cast<std::uint32_t>(bits / 8);
}

void set_kind(ArrowField& field, ArrowKind kind, std::uint32_t width) {
  field.kind = kind;
  field.width = width;
}

void set_type(const arrow::Field& stored, ArrowField& field) {
  switch (stored.type_type()) {
    case arrow::Type::Int:
      set_kind(field, ArrowKind::integer, integer_width(stored.type_as_Int(), field.name));
      field.is_signed = stored.type_as_Int() == nullptr || stored.type_as_Int()->is_signed();
      return;
    case arrow::Type::FloatingPoint: {
      const int precision = stored.type_as_FloatingPoint() == nullptr ? 0 : stored.type_as_FloatingPoint()->precision();
      if (precision != 1 && precision != 2) break;
      return set_kind(field, ArrowKind::floating, precision == 1 ? 4 : 8);
    }
    case arrow::Type::Bool:
      return set_kind(field, ArrowKind::boolean, 0);
    case arrow::Type::Utf8:
      return set_kind(field, ArrowKind::text, 4);
    case arrow::Type::LargeUtf8:
      return set_kind(field, ArrowKind::text, 8);
    case arrow::Type::Binary:
      return set_kind(field, ArrowKind::binary, 4);
    case arrow::Type::LargeBinary:
      return set_kind(field, ArrowKind::binary, 8);
    case arrow::Type::FixedSizeBinary: {
      const int width =
          stored.type_as_FixedSizeBinary() == nullptr ? 0 : stored.type_as_FixedSizeBinary()->byte_width();
      if (width <= 0 || width > 0xffff) break;
      return set_kind(field, ArrowKind::fixed_binary, static_cast<std::uint32_t>(width));
    }
    case arrow::Type::Timestamp:
      if (stored.type_as_Timestamp() == nullptr || stored.type_as_Timestamp()->unit() != kMilliseconds) break;
      return set_kind(field, ArrowKind::timestamp, 8);
    case arrow::Type::List:
      return set_kind(field, ArrowKind::list, 4);
    case arrow::Type::LargeList:
      return set_kind(field, ArrowKind::list, 8);
    case arrow::Type::Map:
      return set_kind(field, ArrowKind::map, 4);
    case arrow::Type::Struct:
      return set_kind(field, ArrowKind::structure, 0);
    default:
      break;
  }
  throw Error(fmt::format("the column '{}' has a type that is not supported (number {})", field.name,
                          static_cast<int>(stored.type_type())));
}

ArrowField field_of(const arrow::Field& stored) {
  ArrowField field;
  field.name = text_of(stored.name());
  set_type(stored, field);
  if (stored.metadata() != nullptr) {
    for (const auto* entry : *stored.metadata()) {
      if (text_of(entry->key()) == "ARROW:extension:name") field.extension = text_of(entry->value());
    }
  }
  if (const auto* const dictionary = stored.dictionary()) {
    field.dictionary = dictionary->id();
    field.index_width = integer_width(dictionary->index_type(), field.name);
    field.index_is_signed = dictionary->index_type() == nullptr || dictionary->index_type()->is_signed();
  }
  if (stored.children() != nullptr) {
    for (const auto* child : *stored.children()) field.children.push_back(field_of(*child));
  }
  const bool is_list = field.kind == ArrowKind::list || field.kind == ArrowKind::map;
  if (is_list ? field.children.size() != 1 : field.kind != ArrowKind::structure && !field.children.empty()) {
    throw Error(fmt::format("the column '{}' has {} parts", field.name, field.children.size()));
  }
  return field;
}

const ArrowField* field_with_dictionary(const std::vector<ArrowField>& fields, std::int64_t id) {
  for (const auto& field : fields) {
    if (field.dictionary == id) return &field;
    if (const auto* const found = field_with_dictionary(field.children, id)) return found;
  }
  return nullptr;
}

// ----------------------------------------------------------------------------------------------------------- batches

/// Takes the nodes and buffers of a record batch in their order, which is that of the fields, depth first.
class BatchWalk {
 public:
  BatchWalk(const arrow::RecordBatch& stored, Extent body, std::uint64_t offset)
      : stored_(stored), body_(body), offset_(offset) {
    if (stored.compression() != nullptr) throw Error("compressed Arrow tables are not supported").at_offset(offset);
  }

  ArrowArray array(const ArrowField& field, bool as_dictionary) {
    ArrowArray array;
    array.length = node(field);
    array.is_index = field.dictionary.has_value() && !as_dictionary;
    buffer(0, field);  // which values are missing: none
    if (array.is_index) {
      array.values = buffer(array.length * field.index_width, field);
      return array;
    }
    switch (field.kind) {
      case ArrowKind::structure:
        break;
      case ArrowKind::boolean:
        array.values = buffer((array.length + 7) / 8, field);
        break;
      case ArrowKind::text:
      case ArrowKind::binary:
        array.values = buffer(offsets_bytes(array.length, field), field);
        array.data = buffer(0, field);
        break;
      case ArrowKind::list:
      case ArrowKind::map:
        array.values = buffer(offsets_bytes(array.length, field), field);
        break;
      default:
        array.values = buffer(array.length * field.width, field);
        break;
    }
    for (const auto& child : field.children) {
      array.children.push_back(this->array(child, false));
      if (field.kind == ArrowKind::structure && array.children.back().length != array.length) {
        throw damaged(fmt::format("the parts of '{}' differ in length", field.name), offset_);
      }
    }
    return array;
  }

  void finish() const {
    const std::size_t nodes = stored_.nodes() == nullptr ? 0 : stored_.nodes()->size();
    const std::size_t buffers = stored_.buffers() == nullptr ? 0 : stored_.buffers()->size();
    if (node_ != nodes || buffer_ != buffers) {
      throw damaged(
          fmt::format("a batch has {} arrays in {} buffers; {} in {} expected", nodes, buffers, node_, buffer_),
          offset_);
    }
  }

 private:
  static std::uint64_t offsets_bytes(std::uint64_t length, const ArrowField& field) {
    return length == 0 ? 0 : (length + 1) * field.width;
  }

  std::uint64_t node(const ArrowField& field) {
    if (stored_.nodes() == nullptr || node_ >= stored_.nodes()->size()) {
      throw damaged(fmt::format("a batch has no values for '{}'", field.name), offset_);
    }
    const arrow::Node node = element(*stored_.nodes(), node_++);
    if (node.length() < 0 || static_cast<std::uint64_t>(node.length()) > kMaxValues) {
      throw damaged(fmt::format("a batch claims {} values for '{}'", node.length(), field.name), offset_);
    }
    if (node.null_count() != 0) {
      throw Error(fmt::format("the column '{}' has missing values, which are not supported", field.name))
          .at_offset(offset_);
    }
    return static_cast<std::uint64_t>(node.length());
  }

  Extent buffer(std::uint64_t needed, const ArrowField& field) {
    if (stored_.buffers() == nullptr || buffer_ >= stored_.buffers()->size()) {
      throw damaged(fmt::format("a batch has too few buffers for '{}'", field.name), offset_);
    }
    const arrow::BufferRange range = element(*stored_.buffers(), buffer_++);
    if (!fits(range.offset(), range.length(), body_.length)) {
      throw damaged(fmt::format("a buffer of '{}' lies outside its batch", field.name), offset_);
    }
    const auto length = static_cast<std::uint64_t>(range.length());
    if (length < needed) {
      throw damaged(fmt::format("a buffer of '{}' has {} bytes; {} expected", field.name, length, needed), offset_);
    }
    return {body_.offset + static_cast<std::uint64_t>(range.offset()), length};
  }

  const arrow::RecordBatch& stored_;
  Extent body_;
  std::uint64_t offset_;  // of the message, for errors
  std::size_t node_ = 0;
  std::size_t buffer_ = 0;
};

/// Where a message lies, as the footer says; checked against the table.
struct Place {
  Extent metadata;
  Extent body;
};

}  // namespace

const ArrowField* ArrowField::child(std::string_view wanted) const {
  const auto found =
      std::find_if(children.begin(), children.end(), [&](const ArrowField& one) { return one.name == wanted; });
  return found == children.end() ? nullptr : &*found;
}

// -------------------------------------------------------------------------------------------------------- the file

struct ArrowFile::Parts {
  Reader& reader;
  Extent table;
  std::vector<ArrowField> fields;
  std::map<std::string, std::string> metadata;
  std::vector<Place> batches;
  std::uint64_t claimed_bytes = 0;  // by all messages together
  std::map<std::int64_t, std::vector<ArrowBatch>> dictionaries;

  Buffer read(std::uint64_t offset, std::uint64_t length) const { return reader.read({offset, length}); }

  void check_ends() const {
    if (table.offset > reader.size() || table.length > reader.size() - table.offset) {
      throw damaged(fmt::format("it claims {} bytes", table.length), table.offset);
    }
    if (table.length < kHeadBytes + kTailBytes) {
      throw damaged(fmt::format("it has {} bytes", table.length), table.offset);
    }
    check_magic(table.offset, "start");
    check_magic(table.offset + table.length - kMagic.size(), "end");
  }

  void check_magic(std::uint64_t offset, const char* where) const {
    const Buffer bytes = read(offset, kMagic.size());
    if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
      throw damaged(fmt::format("there is no ARROW1 at its {}", where), offset);
    }
  }

  void read_footer() {
    const std::uint64_t tail = table.offset + table.length - kTailBytes;
    const auto bytes = static_cast<std::int64_t>(load<std::int32_t>(read(tail, 4).bytes()));
    if (bytes <= 0 ||
        static_cast<std::uint64_t>(bytes) > std::min(table.length - kHeadBytes - kTailBytes, kMaxFooterBytes)) {
      throw damaged(fmt::format("its footer claims {} bytes", bytes), tail);
    }
    const std::uint64_t offset = tail - static_cast<std::uint64_t>(bytes);
    const Buffer stored = read(offset, static_cast<std::uint64_t>(bytes));
    const auto* const footer = verified<arrow::Footer>(stored.bytes());
    if (footer == nullptr || footer->schema() == nullptr) throw damaged("its footer cannot be read", offset);
    try {
      take_schema(footer->version(), *footer->schema());
    } catch (Error& error) {
      throw error.at_offset(offset);
    }
    for (const auto& place : places(footer->record_batches(), offset)) batches.push_back(place);
    for (const auto& place : places(footer->dictionaries(), offset)) take_dictionary(place);
  }

  void take_schema(int version, const arrow::Schema& schema) {
    check_version(version);
    if (schema.endianness() != 0) throw Error("big-endian Arrow tables are not supported");
    if (schema.fields() == nullptr) throw Error("the Arrow table is damaged: it has no columns");
    for (const auto* field : *schema.fields()) fields.push_back(field_of(*field));
    if (schema.metadata() == nullptr) return;
    for (const auto* entry : *schema.metadata()) metadata[io::text_of(entry->key())] = io::text_of(entry->value());
  }

  static void check_version(int version) {
    if (version < kOldestVersion || version > kNewestVersion) {
      throw Error(fmt::format("Arrow tables with metadata of version V{} are not supported", version + 1));
    }
  }

  /// Where the messages of `blocks` lie. A footer that names one place again and again could make any amount of values
  /// out of it, so all of them together must not be longer than the table.
  std::vector<Place> places(const flatbuffers::Vector<const arrow::Block*>* blocks, std::uint64_t footer) {
    std::vector<Place> result;
    if (blocks == nullptr) return result;
    result.reserve(blocks->size());
    const std::uint64_t end = footer - table.offset;
    for (std::size_t i = 0; i < blocks->size(); ++i) {
      const arrow::Block block = element(*blocks, i);
      const std::int64_t metadata_bytes = block.metadata_length();
      if (metadata_bytes <= static_cast<std::int64_t>(kPrefixBytes) ||
          static_cast<std::uint64_t>(metadata_bytes) > kMaxMetadataBytes ||
          !fits(block.offset(), metadata_bytes, end) ||
          !fits(block.offset() + metadata_bytes, block.body_length(), end)) {
        throw damaged(fmt::format("its footer puts {} + {} bytes of a batch at {}, {} bytes from the table's end",
                                  metadata_bytes, block.body_length(), block.offset(), kTailBytes),
                      footer);
      }
      claimed_bytes += static_cast<std::uint64_t>(metadata_bytes + block.body_length());
      if (claimed_bytes > end) throw damaged("the batches of its footer overlap", footer);
      const Extent head{table.offset + static_cast<std::uint64_t>(block.offset()),
                        static_cast<std::uint64_t>(metadata_bytes)};
      result.push_back({head, {head.offset + head.length, static_cast<std::uint64_t>(block.body_length())}});
    }
    return result;
  }

  /// The message at `place`; `bytes` (which must start with its metadata) has to live as long.
  const arrow::Message& message(const Buffer& bytes, const Place& place) const {
    const auto metadata_bytes = bytes.bytes().first(place.metadata.length);
    const std::uint64_t length = load<std::uint32_t>(metadata_bytes.subspan(4));
    if (load<std::uint32_t>(metadata_bytes) != kMark || length > metadata_bytes.size() - kPrefixBytes) {
      throw damaged("there is no message where its footer says", place.metadata.offset);
    }
    const auto* const message = verified<arrow::Message>(metadata_bytes.subspan(kPrefixBytes, length));
    if (message == nullptr) throw damaged("a message cannot be read", place.metadata.offset);
    check_version(message->version());
    if (message->body_length() < 0 || static_cast<std::uint64_t>(message->body_length()) != place.body.length) {
      throw damaged("a message and the footer differ in the length of its body", place.metadata.offset);
    }
    return *message;
  }

  /// The bytes of the metadata alone, or with the body behind it.
  Buffer fetch(const Place& place, Body body) const {
    if (body == Body::left) return reader.read(place.metadata);
    if (place.body.length > kMaxLoadedBodyBytes) {
      throw damaged(fmt::format("a batch claims {} bytes", place.body.length), place.metadata.offset);
    }
    return read(place.metadata.offset, place.metadata.length + place.body.length);
  }

  static ArrowBatch batch_of(const arrow::RecordBatch& stored, const Place& place,
                             std::span<const ArrowField* const> wanted, bool as_dictionary) {
    ArrowBatch batch;
    batch.body = place.body;
    if (stored.length() < 0) throw damaged("a batch has a negative length", place.metadata.offset);
    batch.rows = static_cast<std::uint64_t>(stored.length());
    BatchWalk walk(stored, place.body, place.metadata.offset);
    for (const ArrowField* field : wanted) {
      batch.columns.push_back(walk.array(*field, as_dictionary));
      if (batch.columns.back().length != batch.rows) {
        throw damaged(fmt::format("the column '{}' has {} values in a batch of {} rows", field->name,
                                  batch.columns.back().length, batch.rows),
                      place.metadata.offset);
      }
    }
    walk.finish();
    return batch;
  }

  /// Keeps the body's part of what fetch() gave.
  static void keep_body(ArrowBatch& batch, Buffer bytes, const Place& place) {
    bytes.narrow(place.metadata.length, place.body.length);
    batch.bytes = std::move(bytes);
  }

  void take_dictionary(const Place& place) {
    Buffer bytes = fetch(place, Body::loaded);
    const auto* const stored = message(bytes, place).header_as_DictionaryBatch();
    if (stored == nullptr || stored->data() == nullptr) {
      throw damaged("there is no dictionary where its footer says", place.metadata.offset);
    }
    const ArrowField* const field = field_with_dictionary(fields, stored->id());
    if (field == nullptr) {
      throw damaged(fmt::format("no column has the dictionary {}", stored->id()), place.metadata.offset);
    }
    auto& parts = dictionaries[stored->id()];
    if (!parts.empty() && !stored->is_delta()) {
      throw damaged(fmt::format("the dictionary of '{}' comes twice", field->name), place.metadata.offset);
    }
    parts.push_back(batch_of(*stored->data(), place, std::span(&field, 1), true));
    keep_body(parts.back(), std::move(bytes), place);
  }
};

ArrowFile::ArrowFile(Reader& reader, Extent table) : parts_(new Parts{reader, table, {}, {}, {}, 0, {}}) {
  try {
    parts_->check_ends();
    parts_->read_footer();
  } catch (Error& error) {
    throw error.at_offset(table.offset);
  }
}

ArrowFile::~ArrowFile() = default;

const std::vector<ArrowField>& ArrowFile::fields() const { return parts_->fields; }

const Extent& ArrowFile::extent() const { return parts_->table; }

std::optional<std::size_t> ArrowFile::find(std::string_view name) const {
  const auto& fields = parts_->fields;
  const auto found =
      std::find_if(fields.begin(), fields.end(), [name](const ArrowField& field) { return field.name == name; });
  if (found == fields.end()) return std::nullopt;
  return static_cast<std::size_t>(found - fields.begin());
}

std::string ArrowFile::metadata(const std::string& key) const {
  const auto found = parts_->metadata.find(key);
  return found == parts_->metadata.end() ? std::string() : found->second;
}

std::size_t ArrowFile::batches() const { return parts_->batches.size(); }

ArrowBatch ArrowFile::batch(std::size_t index, Body body) const {
  const Place& place = parts_->batches.at(index);
  try {
    Buffer bytes = parts_->fetch(place, body);
    const auto* const stored = parts_->message(bytes, place).header_as_RecordBatch();
    if (stored == nullptr) throw damaged("there is no batch where its footer says", place.metadata.offset);
    std::vector<const ArrowField*> wanted;
    for (const auto& field : parts_->fields) wanted.push_back(&field);
    ArrowBatch batch = Parts::batch_of(*stored, place, wanted, false);
    if (body == Body::loaded) Parts::keep_body(batch, std::move(bytes), place);
    return batch;
  } catch (Error& error) {
    throw error.at_offset(place.metadata.offset);
  }
}

Buffer ArrowFile::bytes(const ArrowBatch& batch, Extent extent) const {
  if (extent.length == 0) return {};
  if (batch.bytes.empty()) return parts_->reader.read(extent);
  return batch.bytes.slice(extent.offset - batch.body.offset, extent.length);
}

std::vector<AttributeValue> ArrowFile::values(const ArrowBatch& batch, const ArrowField& field,
                                              const ArrowArray& array) const {
  if (field.kind == ArrowKind::text && !array.is_index) {
    return arrow_texts(offsets(batch, field, array), bytes(batch, array.data).bytes());
  }
  try {
    return arrow_scalars(field, array, bytes(batch, array.values).bytes());
  } catch (Error& error) {
    throw error.at_offset(batch.body.offset);
  }
}

std::vector<std::uint64_t> ArrowFile::unsigned_values(const ArrowBatch& batch, const ArrowField& field,
                                                      const ArrowArray& array) const {
  try {
    return arrow_unsigned(field, array, bytes(batch, array.values).bytes());
  } catch (Error& error) {
    throw error.at_offset(batch.body.offset);
  }
}

std::vector<std::uint64_t> ArrowFile::offsets(const ArrowBatch& batch, const ArrowField& field,
                                              const ArrowArray& array) const {
  const std::uint64_t limit = array.children.empty() ? array.data.length : array.children.front().length;
  try {
    return arrow_offsets(field, array, bytes(batch, array.values).bytes(), limit);
  } catch (Error& error) {
    throw error.at_offset(batch.body.offset);
  }
}

const std::vector<ArrowBatch>& ArrowFile::dictionary_parts(const ArrowField& field) const {
  const auto found = parts_->dictionaries.find(field.dictionary.value_or(-1));
  if (!field.dictionary || found == parts_->dictionaries.end()) {
    throw damaged(fmt::format("the column '{}' has no dictionary", field.name), parts_->table.offset);
  }
  return found->second;
}

std::map<std::string, std::vector<AttributeValue>> ArrowFile::dictionary(const ArrowField& field) const {
  std::map<std::string, std::vector<AttributeValue>> result;
  const auto add = [&](const std::string& name, std::vector<AttributeValue> more) {
    auto& all = result[name];
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  for (const ArrowBatch& batch : dictionary_parts(field)) {
    const ArrowArray& array = batch.columns.front();
    if (field.kind != ArrowKind::structure) {
      add("", values(batch, field, array));
      continue;
    }
    for (std::size_t i = 0; i < field.children.size(); ++i) {
      const ArrowField& child = field.children[i];
      if (is_plain(child)) add(child.name, values(batch, child, array.children[i]));
    }
  }
  return result;
}

}  // namespace millrace::io
