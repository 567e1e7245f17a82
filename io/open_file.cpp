#include "io/open_file.h"

#include <algorithm>
#include <utility>

#include "io/faulty.h"
#include "io/queued_reader.h"
#include "io/throttled.h"
#include "io/timed.h"
#include "pipeline/core/clock.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

const Transport& transport_of(const std::string& name) {
  const Transport* const transport = find_transport(name);
  if (transport == nullptr) throw config_error("there is no transport '" + name + "'");
  return *transport;
}

std::uint32_t depth_of(std::uint32_t wanted, std::uint32_t usual) { return wanted == 0 ? usual : wanted; }

std::unique_ptr<Reader> open_backend(const std::filesystem::path& path, const ReadVia& via,
                                     const std::shared_ptr<ReaderSession>& session) {
  const Transport& transport = transport_of(via.transport);
  const std::uint32_t depth = depth_of(via.depth, transport.read_depth);
  if (transport.queues_reads || depth <= 1) return transport.open_reader(path, via, session);
  return std::make_unique<QueuedReader>([&transport, path, via] { return transport.open_reader(path, via, nullptr); },
                                        depth);
}

}  // namespace

std::shared_ptr<ReaderSession> open_session(const ReadVia& via) {
  const Transport& transport = transport_of(via.transport);
  return transport.make_session == nullptr ? nullptr : transport.make_session(via);
}

std::unique_ptr<Reader> open_reader(const std::filesystem::path& path, const ReadVia& via,
                                    const std::shared_ptr<ReaderSession>& session) {
  Clock& clock = monotonic_clock();
  std::unique_ptr<Reader> reader;
  {
    const IoWait wait(clock, 0);  // an open may go over a network
    reader = open_backend(path, via, session);
  }
  if (via.fault.active()) reader = std::make_unique<FaultyReader>(std::move(reader), via.fault);
  if (via.throttle.active()) reader = std::make_unique<ThrottledReader>(std::move(reader), via.throttle, clock);
  return std::make_unique<TimedReader>(std::move(reader), clock);
}

std::unique_ptr<Writer> open_writer(FileDescriptor file, const std::filesystem::path& path, const WriteVia& via) {
  Clock& clock = monotonic_clock();
  std::unique_ptr<Writer> writer;
  {
    const IoWait wait(clock, 0);
    writer = transport_of(via.transport).open_writer(std::move(file), path, via);
  }
  if (via.fault.active()) writer = std::make_unique<FaultyWriter>(std::move(writer), via.fault);
  if (via.throttle.active()) writer = std::make_unique<ThrottledWriter>(std::move(writer), via.throttle, clock);
  return std::make_unique<TimedWriter>(std::move(writer), clock);
}

BufferNeeds buffer_needs(const ReadVia& via) {
  const Transport& transport = transport_of(via.transport);
  return {depth_of(via.depth, transport.read_depth) - 1, transport.read_padding_bytes};
}

BufferNeeds buffer_needs(const WriteVia& via) {
  return {depth_of(via.depth, transport_of(via.transport).write_depth) - 1, 0};
}

}  // namespace millrace::io
