#include "io/checksum_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <system_error>
#include <utility>

#include "io/crc32c.h"
#include "io/transfer.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

constexpr std::string_view kMagic = "MRCRC32C";
constexpr std::uint64_t kOwnHeader = 24;
constexpr std::uint64_t kHdfsHeader = 7;
constexpr std::uint32_t kVersion = 1;

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = (value << 8U) | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

std::uint64_t big_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (const std::byte byte : bytes) value = (value << 8U) | std::to_integer<std::uint64_t>(byte);
  return value;
}

void read_exactly(const FileDescriptor& file, const std::filesystem::path& path, std::uint64_t offset,
                  std::span<std::byte> bytes) {
  IoStats stats;
  const Transfer transfer = transfer_all(bytes.size(), stats, [&](std::uint64_t done, std::uint64_t length) {
    return ::pread(file.get(), bytes.data() + done, length, static_cast<off_t>(offset + done));
  });
  if (transfer.done == bytes.size()) return;
  const std::uint64_t place = offset + transfer.done;
  if (transfer.error_number != 0)
    throw system_error("cannot read", transfer.error_number).at_path(path).at_offset(place);
  throw Error("truncated: the file ends here").at_path(path).at_offset(place);
}

}  // namespace

std::uint32_t checksum_of(ChecksumKind kind, std::span<const std::byte> piece) {
  return kind == ChecksumKind::crc32c ? crc32c(piece) : crc32(piece);
}

ChecksumFile::ChecksumFile(std::filesystem::path path, std::uint64_t data_bytes)
    : path_(std::move(path)), file_(open_input(path_)), data_bytes_(data_bytes) {
  const std::uint64_t bytes = io::size_of(file_, path_);
  std::array<std::byte, kOwnHeader> head{};
  const auto known = std::span(head).first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kOwnHeader)));
  read_exactly(file_, path_, 0, known);
  if (known.size() == kOwnHeader && std::memcmp(head.data(), kMagic.data(), kMagic.size()) == 0) {
    const std::uint64_t version = little_endian(known.subspan(8, 4));
    if (version != kVersion) throw Error("has version " + std::to_string(version) + ", not 1").at_path(path_);
    piece_bytes_ = little_endian(known.subspan(12, 4));
    header_bytes_ = kOwnHeader;
    const std::uint64_t claimed = little_endian(known.subspan(16, 8));
    if (claimed != data_bytes) {
      throw Error("is for a file of " + std::to_string(claimed) + " bytes, the data has " + std::to_string(data_bytes))
          .at_path(path_);
    }
  } else if (known.size() >= kHdfsHeader && big_endian(known.first(2)) == kVersion) {
    const auto type = std::to_integer<unsigned>(head[2]);
    if (type != 1 && type != 2) {
      throw Error("has checksums of type " + std::to_string(type) + "; only 1 (CRC32) and 2 (CRC32C) can be checked")
          .at_path(path_);
    }
    kind_ = type == 1 ? ChecksumKind::crc32 : ChecksumKind::crc32c;
    big_endian_ = true;
    piece_bytes_ = big_endian(known.subspan(3, 4));
    header_bytes_ = kHdfsHeader;
  } else {
    throw Error("is neither a .crc32c file nor a .meta file of HDFS").at_path(path_);
  }
  if (piece_bytes_ == 0) throw Error("has pieces of 0 bytes").at_path(path_);
  const std::uint64_t pieces = data_bytes / piece_bytes_ + (data_bytes % piece_bytes_ != 0 ? 1 : 0);
  const std::uint64_t wanted = header_bytes_ + pieces * sizeof(std::uint32_t);
  if (bytes != wanted) {
    throw Error("has " + std::to_string(bytes) + " bytes; for " + std::to_string(data_bytes) +
                " bytes of data in pieces of " + std::to_string(piece_bytes_) + " it would have " +
                std::to_string(wanted))
        .at_path(path_);
  }
}

void ChecksumFile::read(std::uint64_t first, std::uint64_t count, std::vector<std::uint32_t>& sums) {
  sums.resize(static_cast<std::size_t>(count));
  const auto bytes = std::as_writable_bytes(std::span(sums));
  read_exactly(file_, path_, header_bytes_ + first * sizeof(std::uint32_t), bytes);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto stored = bytes.subspan(i * sizeof(std::uint32_t), sizeof(std::uint32_t));
    sums[i] = static_cast<std::uint32_t>(big_endian_ ? big_endian(stored) : little_endian(stored));
  }
}

std::optional<std::filesystem::path> find_checksum_file(const std::filesystem::path& data) {
  namespace fs = std::filesystem;
  std::error_code failure;
  for (const char* const suffix : {".crc32c", ".meta"}) {
    fs::path path = data;
    path += suffix;
    if (fs::exists(path, failure)) return path;
  }
  const std::string begin = data.filename().string() + "_";
  const std::string end = ".meta";
  std::optional<fs::path> found;
  const fs::path directory = data.has_parent_path() ? data.parent_path() : fs::path(".");
  for (fs::directory_iterator entry(directory, failure), none; !failure && entry != none; entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(begin) || !name.ends_with(end) || name.size() <= begin.size() + end.size()) continue;
    const auto number = name.substr(begin.size(), name.size() - begin.size() - end.size());
    if (number.find_first_not_of("0123456789") != std::string::npos) continue;
    if (found) throw Error("has several side-cars: " + found->filename().string() + " and " + name).at_path(data);
    found = entry->path();
  }
  return found;
}

std::vector<std::byte> checksum_header(std::uint32_t piece_bytes, std::uint64_t data_bytes) {
  std::vector<std::byte> head;
  for (const char letter : kMagic) head.push_back(static_cast<std::byte>(letter));
  const auto add = [&head](std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) head.push_back(static_cast<std::byte>(value >> (8 * i)));
  };
  add(kVersion, 4);
  add(piece_bytes, 4);
  add(data_bytes, 8);
  return head;
}

}  // namespace millrace::io
