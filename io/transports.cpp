#include "io/transports.h"

#include <algorithm>
#include <array>
#include <utility>

#include "io/aligned_writer.h"
#include "io/alignment.h"
#include "io/buffered_file.h"
#include "io/direct_file.h"
#include "io/dontcache_file.h"
#include "io/mapped_file.h"
#include "io/uring.h"
#include "io/uring_reader.h"
#include "io/uring_writer.h"

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

std::unique_ptr<Reader> read_mapped(const std::filesystem::path& path, const ReadVia& via,
                                    const std::shared_ptr<ReaderSession>& /*session*/) {
  return std::make_unique<MappedReader>(path, via);
}

std::unique_ptr<Writer> write_mapped(FileDescriptor file, const std::filesystem::path& path, const WriteVia& via) {
  return std::make_unique<MappedWriter>(std::move(file), path, via);
}

std::unique_ptr<Reader> read_dontcache(const std::filesystem::path& path, const ReadVia& via,
                                       const std::shared_ptr<ReaderSession>& /*session*/) {
  return std::make_unique<DontcacheReader>(path, via.transport_requested);
}

std::unique_ptr<Writer> write_dontcache(FileDescriptor file, const std::filesystem::path& path, const WriteVia& via) {
  return std::make_unique<DontcacheWriter>(std::move(file), path, via);
}

std::unique_ptr<Reader> read_direct(const std::filesystem::path& path, const ReadVia& via,
                                    const std::shared_ptr<ReaderSession>& /*session*/) {
  return std::make_unique<DirectReader>(path, via.transport_requested);
}

std::unique_ptr<Writer> write_direct(FileDescriptor file, const std::filesystem::path& path, const WriteVia& via) {
  return std::make_unique<DirectWriter>(std::move(file), path, via);
}

std::shared_ptr<ReaderSession> make_ring_session(const ReadVia& /*via*/) { return std::make_shared<RingSession>(); }

template <bool Direct>
Probe probe_uring_read_of(const std::filesystem::path& file) {
  return probe_uring_read(file, Direct);
}

template <bool Direct>
Probe probe_uring_write_of(const std::filesystem::path& directory) {
  return probe_uring_write(directory, Direct);
}

template <bool Direct>
std::unique_ptr<Reader> read_uring(const std::filesystem::path& path, const ReadVia& via,
                                   const std::shared_ptr<ReaderSession>& session) {
  return std::make_unique<UringReader>(path, via, Direct, std::dynamic_pointer_cast<RingSession>(session));
}

template <bool Direct>
std::unique_ptr<Writer> write_uring(FileDescriptor file, const std::filesystem::path& path, const WriteVia& via) {
  return std::make_unique<UringWriter>(std::move(file), path, via, Direct);
}

constexpr std::array kTransports{
    Transport{.name = "buffered",
              .summary = "pread and pwrite through the page cache",
              .read_depth = 1,
              .write_depth = 1,
              .queues_reads = false,
              .cached = true,
              .read_padding_bytes = 0,
              .write_staging_bytes = 0,
              .probe_read = always,
              .probe_write = always,
              .make_session = nullptr,
              .open_reader = read_buffered,
              .open_writer = write_buffered},
    Transport{.name = "mmap",
              .summary = "reads are shown where the kernel maps them, without a copy; writes are copied into the map",
              .read_depth = 1,
              .write_depth = 1,
              .queues_reads = false,
              .cached = true,
              .read_padding_bytes = 0,
              .write_staging_bytes = 0,
              .probe_read = MappedReader::probe,
              .probe_write = MappedWriter::probe,
              .make_session = nullptr,
              .open_reader = read_mapped,
              .open_writer = write_mapped},
    Transport{.name = "dontcache",
              .summary = "pread and pwrite that leave nothing behind in the page cache (Linux 6.14, ext4 and XFS)",
              .read_depth = 1,
              .write_depth = 1,
              .queues_reads = false,
              .cached = true,
              .read_padding_bytes = 0,
              .write_staging_bytes = 0,
              .probe_read = DontcacheReader::probe,
              .probe_write = DontcacheWriter::probe,
              .make_session = nullptr,
              .open_reader = read_dontcache,
              .open_writer = write_dontcache},
    Transport{.name = "direct",
              .summary = "pread and pwrite past the page cache (O_DIRECT), in whole blocks",
              .read_depth = 1,
              .write_depth = 1,
              .queues_reads = false,
              .cached = false,
              .read_padding_bytes = kDirectPadding,
              .write_staging_bytes = AlignedWriter::kStagingBytes,
              .probe_read = probe_direct_read,
              .probe_write = probe_direct_write,
              .make_session = nullptr,
              .open_reader = read_direct,
              .open_writer = write_direct},
    Transport{.name = "uring",
              .summary = "io_uring through the page cache: several reads and writes in flight from one thread",
              .read_depth = UringReader::kUsualDepth,
              .write_depth = UringWriter::kUsualDepth,
              .queues_reads = true,
              .cached = true,
              .read_padding_bytes = 0,
              .write_staging_bytes = 0,
              .probe_read = probe_uring_read_of<false>,
              .probe_write = probe_uring_write_of<false>,
              .make_session = make_ring_session,
              .open_reader = read_uring<false>,
              .open_writer = write_uring<false>},
    Transport{.name = "uring_direct",
              .summary = "io_uring past the page cache (O_DIRECT)",
              .read_depth = UringReader::kUsualDepth,
              .write_depth = UringWriter::kUsualDepth,
              .queues_reads = true,
              .cached = false,
              .read_padding_bytes = kDirectPadding,
              .write_staging_bytes = AlignedWriter::kStagingBytes,
              .probe_read = probe_uring_read_of<true>,
              .probe_write = probe_uring_write_of<true>,
              .make_session = make_ring_session,
              .open_reader = read_uring<true>,
              .open_writer = write_uring<true>},
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
