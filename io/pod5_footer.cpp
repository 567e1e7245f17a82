#include "io/pod5_footer.h"

#include <fmt/format.h>
#include <pod5_generated.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "io/file_signature.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

constexpr std::string_view kFooterMark("FOOTER\0\0", 8);
constexpr std::uint64_t kLengthBytes = 8;
/// Behind the footer: its length, a mark, the signature.
constexpr std::uint64_t kTailBytes = kLengthBytes + kPod5MarkBytes + kPod5Signature.size();
constexpr std::uint64_t kLeastBytes = kPod5HeadBytes + kFooterMark.size() + kTailBytes;
constexpr std::uint64_t kMaxFooterBytes = 1 << 20;
constexpr std::int16_t kArrowFile = 0;
constexpr std::int16_t kReads = 0;
constexpr std::int16_t kSignal = 1;
constexpr std::int16_t kReadIdIndex = 2;
constexpr std::int16_t kOtherIndex = 3;
constexpr std::int16_t kRunInfo = 4;

std::string_view view_of(const Buffer& buffer) { return {reinterpret_cast<const char*>(buffer.data()), buffer.size()}; }

Error damaged(const std::string& what, std::uint64_t offset) {
  return Error("the POD5 file is damaged: " + what).at_offset(offset);
}

void check_frame(Reader& reader) {
  const std::uint64_t size = reader.size();
  if (size == 0) throw Error("is empty, not a POD5 file").at_offset(0);
  if (size < kPod5Signature.size() || view_of(reader.read({0, kPod5Signature.size()})) != kPod5Signature) {
    const Buffer head = reader.read({0, std::min<std::uint64_t>(size, kSignatureBytes)});
    const std::string other = but_it_starts_like({head.data(), head.size()});
    throw Error("is not a POD5 file" + (other.empty() ? ": it does not start like one" : other)).at_offset(0);
  }
  if (size < kLeastBytes) throw damaged(fmt::format("it ends after {} bytes", size), size);
  const std::uint64_t end = size - kPod5Signature.size();
  if (view_of(reader.read({end, kPod5Signature.size()})) != kPod5Signature) {
    throw Error("the POD5 file is not complete: it does not end in the signature; it was cut off, or is being written")
        .at_offset(end);
  }
  const Buffer first = reader.read({kPod5Signature.size(), kPod5MarkBytes});
  const Buffer last = reader.read({end - kPod5MarkBytes, kPod5MarkBytes});
  if (view_of(first) != view_of(last)) {
    throw damaged("the section marks at its start and end differ", end - kPod5MarkBytes);
  }
}

/// Where the footer's message lies.
Extent find_footer(Reader& reader) {
  const std::uint64_t at = reader.size() - kTailBytes;
  std::int64_t length = 0;
  std::memcpy(&length, reader.read({at, kLengthBytes}).data(), sizeof length);
  if (length <= 0 || static_cast<std::uint64_t>(length) > std::min(reader.size() - kLeastBytes, kMaxFooterBytes)) {
    throw damaged(fmt::format("its footer claims {} bytes", length), at);
  }
  const Extent footer{at - static_cast<std::uint64_t>(length), static_cast<std::uint64_t>(length)};
  const std::uint64_t mark = footer.offset - kFooterMark.size();
  if (view_of(reader.read({mark, kFooterMark.size()})) != kFooterMark) {
    throw damaged("there is no FOOTER in front of its footer", mark);
  }
  return footer;
}

void take_table(const pod5::EmbeddedFile& stored, const Extent& footer, Pod5Footer& result) {
  const std::uint64_t end = footer.offset - kFooterMark.size();
  if (stored.offset() < static_cast<std::int64_t>(kPod5HeadBytes) || stored.length() <= 0 ||
      static_cast<std::uint64_t>(stored.offset()) > end ||
      static_cast<std::uint64_t>(stored.length()) > end - static_cast<std::uint64_t>(stored.offset())) {
    throw damaged(fmt::format("its footer puts a table of {} bytes at {}", stored.length(), stored.offset()),
                  footer.offset);
  }
  if (stored.format() != kArrowFile) {
    throw damaged(fmt::format("its footer names a table of format {}", stored.format()), footer.offset);
  }
  const Extent table{static_cast<std::uint64_t>(stored.offset()), static_cast<std::uint64_t>(stored.length())};
  std::optional<Extent>* place = nullptr;
  switch (stored.content_type()) {
    case kReads:
      place = &result.reads;
      break;
    case kSignal:
      place = &result.signal;
      break;
    case kRunInfo:
      place = &result.run_info;
      break;
    case kReadIdIndex:
    case kOtherIndex:
      return;  // nothing in them that the tables do not say
    default:
      throw damaged(fmt::format("its footer names a table of content {}", stored.content_type()), footer.offset);
  }
  if (*place) throw damaged("its footer names a table twice", footer.offset);
  *place = table;
}

Pod5Footer parse_footer(Reader& reader) {
  const Extent extent = find_footer(reader);
  const Buffer bytes = reader.read(extent);
  const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  flatbuffers::Verifier verifier(data, bytes.size());
  if (!verifier.VerifyBuffer<pod5::Footer>(nullptr)) throw damaged("its footer cannot be read", extent.offset);
  const auto& stored = *flatbuffers::GetRoot<pod5::Footer>(data);
  if (stored.contents() == nullptr) throw damaged("its footer names no table", extent.offset);
  Pod5Footer footer;
  if (stored.file_identifier() != nullptr) footer.file_identifier = stored.file_identifier()->str();
  if (stored.software() != nullptr) footer.software = stored.software()->str();
  if (stored.pod5_version() != nullptr) footer.version = stored.pod5_version()->str();
  for (const auto* table : *stored.contents()) take_table(*table, extent, footer);
  if (!footer.reads) throw damaged("its footer names no table of reads", extent.offset);
  if (!footer.signal) throw damaged("its footer names no table of signal", extent.offset);
  return footer;
}

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  const std::size_t at = to.size();
  to.resize(at + bytes.size());
  std::memcpy(to.data() + at, bytes.data(), bytes.size());
}

void append(std::vector<std::byte>& to, std::string_view text) {
  append(to, std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace

Pod5Footer read_pod5_footer(Reader& reader) {
  try {
    check_frame(reader);
    return parse_footer(reader);
  } catch (Error& error) {
    throw error.at_path(reader.path());
  }
}

std::vector<std::byte> pod5_tail(const Pod5Footer& footer, const Pod5Mark& mark) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<pod5::EmbeddedFile>> tables;
  const auto add = [&](const std::optional<Extent>& table, std::int16_t content) {
    if (!table) return;
    tables.push_back(pod5::CreateEmbeddedFile(builder, static_cast<std::int64_t>(table->offset),
                                              static_cast<std::int64_t>(table->length), kArrowFile, content));
  };
  add(footer.signal, kSignal);
  add(footer.run_info, kRunInfo);
  add(footer.reads, kReads);
  const auto identifier = builder.CreateString(footer.file_identifier);
  const auto software = builder.CreateString(footer.software);
  const auto version = builder.CreateString(footer.version);
  builder.Finish(pod5::CreateFooter(builder, identifier, software, version, builder.CreateVector(tables)));

  std::vector<std::byte> tail;
  append(tail, kFooterMark);
  append(tail, std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())));
  while (tail.size() % kPod5Alignment != 0) tail.push_back(std::byte{0});
  const auto length = static_cast<std::int64_t>(tail.size() - kFooterMark.size());
  append(tail, std::as_bytes(std::span(&length, 1)));
  append(tail, mark);
  append(tail, kPod5Signature);
  return tail;
}

}  // namespace millrace::io
