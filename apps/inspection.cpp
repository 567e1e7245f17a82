#include "apps/inspection.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <system_error>

#include "io/fast5_format.h"
#include "io/file_descriptor.h"
#include "io/file_signature.h"
#include "io/pod5_format.h"
#include "io/signal_coding.h"
#include "io/slow5_format.h"
#include "pipeline/core/error.h"

namespace millrace::apps {
namespace {

std::vector<std::byte> head_of(const std::filesystem::path& path) {
  const io::FileDescriptor file = io::open_input(path);
  std::vector<std::byte> head(io::kSignatureBytes);
  const ssize_t got = ::pread(file.get(), head.data(), head.size(), 0);
  if (got < 0) throw system_error("cannot read", errno).at_path(path).at_offset(0);
  head.resize(static_cast<std::size_t>(got));
  return head;
}

/// The dictionary in the header of an npy file (numpy.lib.format, versions 1 to 3); empty when it is not whole.
std::string npy_header(const std::vector<std::byte>& head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  const auto open = text.find('{');
  const auto close = text.find('}');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return "";
  std::string header(text.substr(open, close - open + 1));
  std::replace_if(
      header.begin(), header.end(), [](unsigned char c) { return c < 0x20 || c > 0x7E; }, '?');
  return header;
}

void count_extent(const io::Extent& extent, ExtentSummary& extents) {
  extents.shortest_bytes = extents.count == 0 ? extent.length : std::min(extents.shortest_bytes, extent.length);
  extents.longest_bytes = std::max(extents.longest_bytes, extent.length);
  extents.bytes += extent.length;
  ++extents.count;
}

void add_fast5(Inspection& result) {
  std::vector<io::Fast5Read> reads;
  try {
    reads = io::index_fast5_isolated(result.path);
  } catch (const Error& error) {
    result.format_detail = error.message();
    return;
  }
  result.format = "FAST5";
  SignalSummary& signal = result.signal.emplace();
  ExtentSummary extents;
  std::uint64_t samples = 0;
  for (const auto& read : reads) {
    ++signal.reads;
    samples += read.samples;
    ++signal.codings[io::text_of(read.coding)];
    for (const auto& piece : read.pieces) count_extent(piece.extent, extents);
  }
  signal.samples = samples;
  result.extents = extents;
}

void add_pod5(Inspection& result) {
  std::vector<io::Pod5Read> reads;
  try {
    reads = io::index_pod5(result.path);
  } catch (const Error& error) {
    result.format_detail = "but it cannot be read: " + error.message();
    if (error.offset()) result.format_detail += " (offset " + std::to_string(*error.offset()) + ")";
    return;
  }
  SignalSummary& signal = result.signal.emplace();
  ExtentSummary extents;
  std::uint64_t samples = 0;
  for (const auto& read : reads) {
    ++signal.reads;
    samples += read.samples;
    ++signal.codings[io::text_of(read.coding)];
    for (const auto& piece : read.pieces) count_extent(piece.extent, extents);
  }
  signal.samples = samples;
  result.extents = extents;
}

/// BLOW5 and SLOW5. Reads that occur twice are told of, not refused.
void add_slow5(Inspection& result) {
  std::uint64_t twice = 0;
  io::Slow5Query query;
  query.on_duplicate = [&twice](const Error& /*error*/) { ++twice; };
  io::Slow5Index index;
  try {
    index = io::index_slow5(result.path, query);
  } catch (const Error& error) {
    result.format_detail = "but it cannot be read: " + error.message();
    if (error.offset()) result.format_detail += " (offset " + std::to_string(*error.offset()) + ")";
    return;
  }
  SignalSummary& signal = result.signal.emplace();
  signal.reads = index.records.size();
  signal.samples = index.samples;
  if (signal.reads != 0) signal.codings[io::text_of(index.coding)] = signal.reads;
  ExtentSummary& extents = result.extents.emplace();
  for (const auto& record : index.records) count_extent(record, extents);
  const auto& version = index.header.version;
  result.format_detail = "version " + std::to_string(version[0]) + '.' + std::to_string(version[1]) + '.' +
                         std::to_string(version[2]) + ", " + std::to_string(index.header.groups) + " read groups";
  if (twice != 0) result.format_detail += ", " + std::to_string(twice) + " reads occur twice";
}

void add_format(Inspection& result) {
  const auto head = head_of(result.path);
  result.format = io::name_by_signature(head);
  if (result.format == "npy") result.format_detail = npy_header(head);
  if (result.format == "HDF5") add_fast5(result);
  if (result.format == "BLOW5" || result.format == "SLOW5") add_slow5(result);
  if (result.format == "POD5") add_pod5(result);
}

void add_transports(Inspection& result) {
  const auto directory = std::filesystem::absolute(result.path).parent_path();
  for (const auto& transport : io::transports()) {
    result.transports.push_back(
        {std::string(transport.name), transport.probe_read(result.path), transport.probe_write(directory)});
  }
}

}  // namespace

bool is_zarr(const std::filesystem::path& path) {
  constexpr std::array<const char*, 3> kMarks{".zarray", ".zgroup", "zarr.json"};
  return std::any_of(kMarks.begin(), kMarks.end(), [&path](const char* mark) {
    std::error_code failure;
    return std::filesystem::is_regular_file(path / mark, failure);
  });
}

Inspection inspect(const std::filesystem::path& path, bool evict, const std::vector<io::Mount>& mounts) {
  Inspection result;
  result.path = path;
  result.file_system = io::file_system_of(path, mounts);
  if (is_zarr(path)) {
    result.format = "Zarr";
    return result;
  }
  // Asked first: the rest of this function reads from the file.
  result.cache = io::residency_of(path);
  try {
    result.bytes = io::size_of(io::open_input(path), path);
  } catch (Error& error) {
    error.of_kind(ErrorKind::config);
    throw;
  }
  add_format(result);
  add_transports(result);
  if (evict) {
    result.evicted = true;
    result.left_bytes = io::evict(path);
  }
  return result;
}

}  // namespace millrace::apps
