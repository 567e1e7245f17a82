#include "io/transports.h"

#include <algorithm>
#include <array>
#include <utility>

#include "io/buffered_file.h"
#include "io/dontcache_file.h"

namespace millrace::io {
namespace {

Probe always(const std::filesystem::path& /*place*/) { return {}; }

std::unique_ptr<Reader> read_buffered(const std::filesystem::path& path, const ReadVia& via,
                                      const std::shared_ptr<ReaderSession>& /*session*/) {
  return std::make_unique<BufferedReader>(path, via.transport_requested);
}

std::unique_ptr<Writer> write_buffered(FileDescriptor file, const std::filesystem::path& path, const WriteVia& via) {
  return std::make_unique<BufferedWriter>(std::move(file), path, via);
}

std::unique_ptr<Reader> read_dontcache(const std::filesystem::path& path, const ReadVia& via,
                                       const std::shared_ptr<ReaderSession>& /*session*/) {
  return std::make_unique<DontcacheReader>(path, via.transport_requested);
}

std::unique_ptr<Writer> write_dontcache(FileDescriptor file, const std::filesystem::path& path, const WriteVia& via) {
  return std::make_unique<DontcacheWriter>(std::move(file), path, via);
}

constexpr std::array kTransports{
    Transport{.name = "buffered",
              .summary = "pread and pwrite through the page cache",
              .read_depth = 1,
              .write_depth = 1,
              .queues_reads = false,
              .cached = true,
              .read_padding_bytes = 0,
              .probe_read = always,
              .probe_write = always,
              .make_session = nullptr,
              .open_reader = read_buffered,
              .open_writer = write_buffered},
    Transport{.name = "dontcache",
              .summary = "pread and pwrite that leave nothing behind in the page cache (Linux 6.14, ext4 and XFS)",
              .read_depth = 1,
              .write_depth = 1,
              .queues_reads = false,
              .cached = true,
              .read_padding_bytes = 0,
              .probe_read = DontcacheReader::probe,
              .probe_write = DontcacheWriter::probe,
              .make_session = nullptr,
              .open_reader = read_dontcache,
              .open_writer = write_dontcache},
};

}  // namespace

std::span<const Transport> transports() { return kTransports; }

const Transport* find_transport(std::string_view name) {
  const auto* const found = std::find_if(kTransports.begin(), kTransports.end(),
                                         [name](const Transport& transport) { return transport.name == name; });
  return found == kTransports.end() ? nullptr : found;
}

std::string transport_names() {
  std::string names;
  for (const auto& transport : kTransports) names += (names.empty() ? "" : ", ") + std::string(transport.name);
  return names;
}

}  // namespace millrace::io
