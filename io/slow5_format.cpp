#include "io/slow5_format.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <unordered_set>
#include <utility>

#include "io/file_descriptor.h"
#include "io/file_signature.h"
#include "io/slow5_record.h"
#include "io/slow5_unpack.h"

namespace millrace::io {
namespace {

constexpr std::string_view kBinaryMagic{"BLOW5\1", 6};
constexpr std::string_view kTextMagic = "#slow5_version";
constexpr std::string_view kLastHeaderLine = "\n#read_id";
constexpr std::uint64_t kMaxHeaderBytes = 64 << 20;
constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kTextBlock = 1 << 20;
constexpr std::size_t kMaxLineHead = 4096;
// Of a compressed record: as much as gives a usual front, and as much as certainly holds its first block.
constexpr std::uint64_t kUsualPackedBytes = 512;
constexpr std::uint64_t kMaxPackedBytes = 256 << 10;
constexpr std::uint64_t kZstdHeaderBytes = 18;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A file seen through a buffer.
class Window {
 public:
  explicit Window(const std::filesystem::path& path) : file_(open_input(path)), size_(size_of(file_, path)) {}

  /// Only small places far apart will be looked at: read-ahead would fetch what is between them.
  void expect_jumps() { ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_RANDOM); }

  std::uint64_t size() const { return size_; }
  /// `wanted` bytes from `offset` on, or those that the file has; valid until the next call.
  std::span<const std::byte> at(std::uint64_t offset, std::uint64_t wanted) {
    const std::uint64_t here = std::min(wanted, size_ - std::min(size_, offset));
    if (offset < begin_ || offset + here > begin_ + filled_) fill(offset, here);
    return std::span(bytes_).subspan(offset - begin_, here);
  }

 private:
  /// Reads to the end of a page, which costs no more.
  void fill(std::uint64_t offset, std::uint64_t wanted) {
    begin_ = offset;
    filled_ = 0;
    const std::uint64_t most = std::min(size_, (offset + wanted + kPage - 1) / kPage * kPage) - offset;
    bytes_.resize(std::max<std::size_t>(bytes_.size(), most));
    while (filled_ < wanted) {
      const ssize_t got =
          ::pread(file_.get(), bytes_.data() + filled_, most - filled_, static_cast<off_t>(offset + filled_));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw system_error("cannot read", errno).at_offset(offset + filled_);
      if (got == 0) throw Error("became shorter while it was read").at_offset(offset + filled_);
      filled_ += static_cast<std::uint64_t>(got);
    }
  }

  FileDescriptor file_;
  std::uint64_t size_;
  std::vector<std::byte> bytes_;
  std::uint64_t begin_ = 0;
  std::uint64_t filled_ = 0;
};

class Indexer {
 public:
  Indexer(const std::filesystem::path& path, const Slow5Query& query, std::uint64_t& seen)
      : query_(query), path_(path), window_(path), seen_(seen) {}

  Slow5Index index() {
    index_.bytes = window_.size();
    index_.samples = 0;
    if (index_.bytes == 0) throw Error("is empty");
    const std::string magic(text_of(window_.at(0, kTextMagic.size())));
    if (magic.starts_with(kBinaryMagic)) {
      index_binary();
    } else if (magic == kTextMagic) {
      index_text();
    } else {
      throw Error("is neither a BLOW5 nor a SLOW5 file" + but_it_starts_like(window_.at(0, kSignatureBytes)))
          .at_offset(0);
    }
    return std::move(index_);
  }

 private:
  bool is_full() const { return index_.records.size() >= query_.max_records; }

  // ------------------------------------------------------------------------------------------------------- binary

  void index_binary() {
    const auto start = parse_blow5_start(text_of(window_.at(0, kBlow5StartBytes)));
    index_.header = start.header;
    index_.coding = start.coding;
    const std::uint64_t begin = kBlow5StartBytes + std::uint64_t{start.text_bytes};
    if (begin > window_.size() || start.text_bytes > kMaxHeaderBytes) {
      throw Error(fmt::format("claims a header of {} bytes; the file has {}", start.text_bytes, window_.size()))
          .at_offset(kBlow5StartBytes - 4);
    }
    try {
      parse_slow5_body(text_of(window_.at(kBlow5StartBytes, start.text_bytes)), index_.header);
    } catch (const Error& error) {
      throw Error(error.message()).at_offset(kBlow5StartBytes + error.offset().value_or(0));
    }
    walk(begin);
  }

  void walk(std::uint64_t begin) {
    window_.expect_jumps();
    const std::uint64_t mark_at =
        window_.size() - std::min<std::uint64_t>(window_.size() - begin, kBlow5EndMark.size());
    const bool marked = text_of(window_.at(mark_at, kBlow5EndMark.size())) == kBlow5EndMark;
    const std::uint64_t end = marked ? mark_at : window_.size();
    for (std::uint64_t at = begin; at < end;) {
      if (marked && is_full()) return;
      ++seen_;
      const std::uint64_t left = end - at;
      if (left <= kLengthBytes) {
        throw Error(
            fmt::format("is cut off or damaged: neither a record nor the end mark is in the last {} bytes", left))
            .at_offset(at);
      }
      std::uint64_t length;
      std::memcpy(&length, window_.at(at, kLengthBytes).data(), sizeof length);
      if (length == 0 || length > left - kLengthBytes) {
        throw Error(fmt::format("{}: a record of {} bytes where {} are left", marked ? "is damaged" : "is cut off",
                                length, left - kLengthBytes))
            .at_offset(at);
      }
      naming_place(at, [&] { examine(at, length); });
      at += kLengthBytes + length;
    }
    if (!marked) throw Error("has no end mark: it is cut off, or still being written").at_offset(window_.size());
  }

  /// Looks into one record and adds it when it is wanted.
  void examine(std::uint64_t at, std::uint64_t length) {
    const Extent extent{at, kLengthBytes + length};
    const Slow5Packing packing = index_.coding.packing;
    std::uint64_t most = max_unpacked_bytes(length, packing);
    if (packing == Slow5Packing::zstd) {
      const auto bytes =
          Slow5Unpacker::unpacked_bytes(window_.at(at + kLengthBytes, std::min(length, kZstdHeaderBytes)), packing);
      if (!bytes) throw Error("a record is damaged: it is no zstd frame of known size");
      if (*bytes > most) throw Error(fmt::format("a record claims {} bytes in {}", *bytes, length));
      most = *bytes;
      if (!query_.wants) {
        index_.samples.reset();
        return add(extent, max_slow5_samples(most, index_.coding.signal));
      }
    }
    const Slow5Record record = front_of(at + kLengthBytes, length);
    if (record.samples > max_slow5_samples(most, index_.coding.signal)) {
      throw Error(fmt::format("a record claims {} samples in {} bytes", record.samples, length));
    }
    if (is_wanted(record.id, at)) add(extent, record.samples, record.id);
  }

  Slow5Record front_of(std::uint64_t at, std::uint64_t length) {
    const Slow5Packing packing = index_.coding.packing;
    Slow5Record record;
    for (const bool usual : {true, false}) {
      const std::uint64_t wanted = usual ? kUsualFrontBytes : kMaxFrontBytes;
      const std::uint64_t packed = packing == Slow5Packing::none ? wanted : usual ? kUsualPackedBytes : kMaxPackedBytes;
      const auto front = unpacker_.unpack_front(window_.at(at, std::min(length, packed)), packing, wanted);
      if (parse_front(front, index_.coding.signal, record)) return record;
    }
    throw Error("a record is too short");
  }

  // --------------------------------------------------------------------------------------------------------- text

  void index_text() {
    index_.coding.text = true;
    const std::uint64_t begin = text_header_bytes();
    index_.header = parse_slow5_header(text_of(window_.at(0, begin)));
    std::string head;
    std::uint64_t start = begin;
    for (std::uint64_t at = begin; at < window_.size();) {
      const std::string_view block = text_of(window_.at(at, kTextBlock));
      for (std::size_t from = 0; from < block.size();) {
        const std::string_view part = block.substr(from, block.find('\n', from) - from);
        head += part.substr(0, kMaxLineHead - std::min(kMaxLineHead, head.size()));
        from += part.size();
        if (from == block.size()) break;
        ++from;
        add_line({start, at + from - start}, head);
        if (is_full()) return;
        start = at + from;
        head.clear();
      }
      at += block.size();
    }
    if (start == window_.size()) return;
    ++seen_;
    throw Error("is cut off: its last line has no end").at_offset(start);
  }

  std::uint64_t text_header_bytes() {
    for (std::uint64_t wanted = kPage;; wanted *= 4) {
      const std::string_view text = text_of(window_.at(0, wanted));
      const auto last = text.find(kLastHeaderLine);
      const auto end = last == std::string_view::npos ? last : text.find('\n', last + 1);
      if (end != std::string_view::npos) return end + 1;
      if (text.size() < wanted || wanted > kMaxHeaderBytes) {
        throw Error("is cut off: its header has no line of field names").at_offset(text.size());
      }
    }
  }

  void add_line(const Extent& line, std::string_view head) {
    ++seen_;
    naming_place(line.offset, [&] {
      const Slow5Record record = parse_line_front(head);
      if (record.samples > line.length / 2) {
        throw Error(fmt::format("a record claims {} samples in {} bytes of text", record.samples, line.length));
      }
      if (is_wanted(record.id, line.offset)) add(line, record.samples, record.id);
    });
  }

  // --------------------------------------------------------------------------------------------------------- both

  template <typename Call>
  static void naming_place(std::uint64_t offset, Call&& call) {
    try {
      std::forward<Call>(call)();
    } catch (Error& error) {
      throw error.at_offset(offset);
    }
  }

  /// False for reads that nobody asked for, and for those that came before.
  bool is_wanted(std::string_view id, std::uint64_t offset) {
    if (query_.wants && !query_.wants(id)) return false;
    if (ids_.emplace(id).second) return true;
    const Error twice = Error(fmt::format("read {} occurs twice", id)).at_path(path_).at_offset(offset);
    if (!query_.on_duplicate) throw twice;
    query_.on_duplicate(twice);
    return false;
  }

  void add(const Extent& extent, std::uint64_t samples, std::string_view id = {}) {
    index_.records.push_back(extent);
    if (query_.wants) index_.ids.emplace_back(id);
    index_.max_samples = std::max(index_.max_samples, samples);
    if (index_.samples) *index_.samples += samples;
  }

  const Slow5Query& query_;
  const std::filesystem::path& path_;
  Window window_;
  Slow5Unpacker unpacker_;
  std::unordered_set<std::string> ids_;
  Slow5Index index_;
  std::uint64_t& seen_;
};

}  // namespace

Slow5Index index_slow5(const std::filesystem::path& file, const Slow5Query& query) {
  std::uint64_t nobody = 0;
  std::uint64_t& seen = query.seen == nullptr ? nobody : *query.seen;
  seen = 0;
  try {
    return Indexer(file, query, seen).index();
  } catch (Error& error) {
    throw error.at_path(file);
  }
}

}  // namespace millrace::io
