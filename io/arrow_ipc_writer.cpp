#include "io/arrow_ipc_writer.h"

#include <arrow_generated.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;

constexpr std::string_view kMagic = "ARROW1";
constexpr std::size_t kAlignment = 8;
constexpr std::uint32_t kMark = 0xffffffff;
constexpr std::int16_t kVersion = 4;  // "V5"
constexpr std::int16_t kMilliseconds = 1;

std::size_t padding_of(std::size_t bytes) { return (kAlignment - bytes % kAlignment) % kAlignment; }

void put_bytes(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const std::size_t at = to.size();
  to.resize(at + bytes.size());
  std::memcpy(to.data() + at, bytes.data(), bytes.size());
}

template <typename T>
void put(std::vector<std::byte>& to, const T& value) {
  put_bytes(to, std::as_bytes(std::span(&value, 1)));
}

std::span<const std::byte> bytes_of(const Builder& builder) {
  return std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// A type of the schema: its tag and its table.
struct Type {
  arrow::Type tag = arrow::Type::NONE;
  flatbuffers::Offset<void> table;
};

Type type_of(Builder& builder, const ArrowField& field) {
  const bool large = field.width == sizeof(std::int64_t);
  switch (field.kind) {
    case ArrowKind::integer:
      return {arrow::Type::Int, arrow::CreateInt(builder, static_cast<int>(field.width * 8), field.is_signed).Union()};
    case ArrowKind::floating:
      return {arrow::Type::FloatingPoint, arrow::CreateFloatingPoint(builder, large ? 2 : 1).Union()};
    case ArrowKind::boolean:
      return {arrow::Type::Bool, arrow::CreateBool(builder).Union()};
    case ArrowKind::text:
      if (large) return {arrow::Type::LargeUtf8, arrow::CreateLargeUtf8(builder).Union()};
      return {arrow::Type::Utf8, arrow::CreateUtf8(builder).Union()};
    case ArrowKind::binary:
      if (large) return {arrow::Type::LargeBinary, arrow::CreateLargeBinary(builder).Union()};
      return {arrow::Type::Binary, arrow::CreateBinary(builder).Union()};
    case ArrowKind::fixed_binary:
      return {arrow::Type::FixedSizeBinary,
              arrow::CreateFixedSizeBinary(builder, static_cast<int>(field.width)).Union()};
    case ArrowKind::timestamp: {
      const auto zone = builder.CreateString("UTC");
      return {arrow::Type::Timestamp, arrow::CreateTimestamp(builder, kMilliseconds, zone).Union()};
    }
    case ArrowKind::list:
      if (large) return {arrow::Type::LargeList, arrow::CreateLargeList(builder).Union()};
      return {arrow::Type::List, arrow::CreateList(builder).Union()};
    case ArrowKind::map:
      return {arrow::Type::Map, arrow::CreateMap(builder, false).Union()};
    case ArrowKind::structure:
      return {arrow::Type::Struct, arrow::CreateStruct(builder).Union()};
  }
  return {};
}

using Pairs = flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<arrow::KeyValue>>>;

Pairs put_metadata(Builder& builder, const ArrowTableWriter::Metadata& metadata) {
  std::vector<flatbuffers::Offset<arrow::KeyValue>> pairs;
  for (const auto& [key, value] : metadata) {
    const auto stored_key = builder.CreateString(key);
    pairs.push_back(arrow::CreateKeyValue(builder, stored_key, builder.CreateString(value)));
  }
  return builder.CreateVector(pairs);
}

flatbuffers::Offset<arrow::Field> put_field(Builder& builder, const ArrowField& field, bool nullable) {
  std::vector<flatbuffers::Offset<arrow::Field>> children;
  for (const auto& child : field.children) {
    // The entries of a map, and their keys, are always there.
    const bool is_key = !nullable && &child == &field.children.front();
    children.push_back(put_field(builder, child, field.kind != ArrowKind::map && !is_key));
  }
  const auto name = builder.CreateString(field.name);
  const Type type = type_of(builder, field);
  flatbuffers::Offset<arrow::DictionaryEncoding> dictionary;
  if (field.dictionary) {
    dictionary = arrow::CreateDictionaryEncoding(builder, *field.dictionary, arrow::CreateInt(builder, 16, true));
  }
  const auto stored_children = builder.CreateVector(children);  // older readers want it also when it is empty
  Pairs metadata;
  if (!field.extension.empty()) {
    metadata =
        put_metadata(builder, {{"ARROW:extension:name", field.extension}, {"ARROW:extension:metadata", std::string()}});
  }
  return arrow::CreateField(builder, name, nullable, type.tag, type.table, dictionary, stored_children, metadata);
}

flatbuffers::Offset<arrow::Schema> put_schema(Builder& builder, const std::vector<ArrowField>& fields,
                                              const ArrowTableWriter::Metadata& metadata) {
  std::vector<flatbuffers::Offset<arrow::Field>> stored;
  for (const auto& field : fields) stored.push_back(put_field(builder, field, true));
  const auto stored_fields = builder.CreateVector(stored);
  return arrow::CreateSchema(builder, 0, stored_fields, put_metadata(builder, metadata));
}

flatbuffers::Offset<arrow::RecordBatch> put_batch(Builder& builder, std::uint64_t rows, const ArrowBody& body) {
  std::vector<arrow::Node> nodes;
  for (const auto length : body.lengths()) nodes.emplace_back(static_cast<std::int64_t>(length), 0);
  std::vector<arrow::BufferRange> buffers;
  for (const auto& range : body.ranges()) {
    buffers.emplace_back(static_cast<std::int64_t>(range.offset), static_cast<std::int64_t>(range.length));
  }
  const auto stored_nodes = builder.CreateVectorOfStructs(nodes);
  const auto stored_buffers = builder.CreateVectorOfStructs(buffers);
  return arrow::CreateRecordBatch(builder, static_cast<std::int64_t>(rows), stored_nodes, stored_buffers);
}

void finish_message(Builder& builder, arrow::Header tag, flatbuffers::Offset<void> header, std::uint64_t body_bytes) {
  builder.Finish(arrow::CreateMessage(builder, kVersion, tag, header, static_cast<std::int64_t>(body_bytes)));
}

}  // namespace

void ArrowBody::array(std::uint64_t length) {
  lengths_.push_back(length);
  ranges_.push_back({bytes_.size(), 0});
}

void ArrowBody::buffer(std::span<const std::byte> bytes) {
  ranges_.push_back({bytes_.size(), bytes.size()});
  put_bytes(bytes_, bytes);
  bytes_.resize(bytes_.size() + padding_of(bytes_.size()));
}

void ArrowBody::booleans(const std::vector<bool>& values) {
  std::vector<std::byte> bits((values.size() + 7) / 8);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) bits[i / 8] |= std::byte{1} << (i % 8);
  }
  array(values.size());
  buffer(bits);
}

void ArrowBody::texts(std::span<const std::string> values) {
  std::vector<std::int32_t> offsets{0};
  std::string all;
  for (const auto& value : values) {
    all += value;
    if (all.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
      throw Error("the texts of a column are longer than 2 GiB");
    }
    offsets.push_back(static_cast<std::int32_t>(all.size()));
  }
  array(values.size());
  buffer(std::as_bytes(std::span(offsets)));
  buffer(bytes_of(all));
}

void ArrowBody::clear() {
  bytes_.clear();
  lengths_.clear();
  ranges_.clear();
}

ArrowTableWriter::ArrowTableWriter(std::vector<ArrowField> fields, Metadata metadata, Append append)
    : fields_(std::move(fields)), metadata_(std::move(metadata)), append_(std::move(append)) {
  std::array<std::byte, kAlignment> head{};
  std::copy_n(bytes_of(kMagic).begin(), kMagic.size(), head.begin());
  this->append(head);
  Builder builder;
  const auto schema = put_schema(builder, fields_, metadata_);
  finish_message(builder, arrow::Header::Schema, schema.Union(), 0);
  append_message(bytes_of(builder), {});
}

void ArrowTableWriter::append(std::span<const std::byte> bytes) {
  append_(bytes);
  size_ += bytes.size();
}

ArrowTableWriter::Block ArrowTableWriter::append_message(std::span<const std::byte> message,
                                                         std::span<const std::byte> body) {
  const std::size_t padded = message.size() + padding_of(message.size());
  std::vector<std::byte> head;
  put(head, kMark);
  put(head, static_cast<std::uint32_t>(padded));
  put_bytes(head, message);
  head.resize(head.size() + padded - message.size());
  const Block block{size_, head.size(), body.size()};
  append(head);
  append(body);
  return block;
}

void ArrowTableWriter::write_batch(std::uint64_t rows, const ArrowBody& body) {
  Builder builder;
  const auto batch = put_batch(builder, rows, body);
  finish_message(builder, arrow::Header::RecordBatch, batch.Union(), body.bytes().size());
  batches_.push_back(append_message(bytes_of(builder), body.bytes()));
}

void ArrowTableWriter::write_dictionary(std::int64_t id, std::uint64_t rows, const ArrowBody& body) {
  const bool is_delta =
      std::find(known_dictionaries_.begin(), known_dictionaries_.end(), id) != known_dictionaries_.end();
  if (!is_delta) known_dictionaries_.push_back(id);
  Builder builder;
  const auto values = put_batch(builder, rows, body);
  const auto dictionary = arrow::CreateDictionaryBatch(builder, id, values, is_delta);
  finish_message(builder, arrow::Header::DictionaryBatch, dictionary.Union(), body.bytes().size());
  dictionaries_.push_back(append_message(bytes_of(builder), body.bytes()));
}

std::uint64_t ArrowTableWriter::finish() {
  std::vector<std::byte> tail;
  put(tail, kMark);
  put(tail, std::uint32_t{0});
  Builder builder;
  const auto schema = put_schema(builder, fields_, metadata_);
  const auto put_blocks = [&builder](const std::vector<Block>& blocks) {
    std::vector<arrow::Block> stored;
    for (const auto& block : blocks) {
      stored.emplace_back(static_cast<std::int64_t>(block.offset), static_cast<std::int32_t>(block.metadata_bytes),
                          static_cast<std::int64_t>(block.body_bytes));
    }
    return builder.CreateVectorOfStructs(stored);
  };
  const auto dictionaries = put_blocks(dictionaries_);
  const auto batches = put_blocks(batches_);
  builder.Finish(
      arrow::CreateFooter(builder, kVersion, schema, dictionaries, batches, put_metadata(builder, metadata_)));
  const auto footer = bytes_of(builder);
  put_bytes(tail, footer);
  put(tail, static_cast<std::int32_t>(footer.size()));
  put_bytes(tail, bytes_of(kMagic));
  append(tail);
  return size_;
}

}  // namespace millrace::io
