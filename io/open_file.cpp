#include "io/open_file.h"

#include <algorithm>
#include <utility>

#include "io/advised.h"
#include "io/faulty.h"
#include "io/file_system.h"
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

bool is_mapped(const ReadVia& via) { return via.transport == "mmap"; }

/// All that the config asks for.
Advising advising_of(const ReadVia& via) {
  return {.policy = via.advice,
          .drop_behind = via.drop_behind,
          .inner_advises = is_mapped(via) && via.advice.kind != AdvicePolicy::Kind::willneed,
          .drops_late = is_mapped(via)};
}

/// What is said of an open file holds for that descriptor only, so that each reader of a queue has to say it.
bool is_for_each_descriptor(AdvicePolicy::Kind kind) {
  return kind == AdvicePolicy::Kind::normal || kind == AdvicePolicy::Kind::sequential ||
         kind == AdvicePolicy::Kind::random;
}

/// The decorator that talks to the page cache, where there is something to say.
std::unique_ptr<Reader> advised(std::unique_ptr<Reader> reader, const ReadVia& via, const Advising& advising) {
  if (!transport_of(via.transport).cached) return reader;  // a fallback: settle() has said that advice does nothing
  const AdvicePolicy& policy = advising.policy;
  if (policy.kind == AdvicePolicy::Kind::none && !advising.drop_behind) return reader;
  const bool asks = policy.kind == AdvicePolicy::Kind::willneed && policy.step_bytes == 0;
  const std::uint64_t limit = asks ? file_system_of(reader->path()).prefetch_limit_bytes() : policy.step_bytes;
  return std::make_unique<AdvisedReader>(std::move(reader), advising, limit);
}

std::unique_ptr<Reader> open_advised(const std::filesystem::path& path, const ReadVia& via,
                                     const std::shared_ptr<ReaderSession>& session) {
  const Transport& transport = transport_of(via.transport);
  const std::uint32_t depth = depth_of(via.depth, transport.read_depth);
  Advising of_file = advising_of(via);
  if (transport.queues_reads || depth <= 1) return advised(transport.open_reader(path, via, session), via, of_file);
  Advising of_descriptor;
  if (is_for_each_descriptor(via.advice.kind)) std::swap(of_descriptor.policy, of_file.policy);
  of_descriptor.inner_advises = of_file.inner_advises;
  return advised(std::make_unique<QueuedReader>(
                     [&transport, path, via, of_descriptor] {
                       return advised(transport.open_reader(path, via, nullptr), via, of_descriptor);
                     },
                     depth),
                 via, of_file);
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
    reader = open_advised(path, via, session);
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
  // A map shows the file and loans nothing.
  const std::uint32_t loans = is_mapped(via) ? 1 : depth_of(via.depth, transport.read_depth);
  return {loans - 1, transport.read_padding_bytes};
}

BufferNeeds buffer_needs(const WriteVia& via) {
  const Transport& transport = transport_of(via.transport);
  const bool queues = transport.write_depth > 1;  // a fallback may not, whatever the depth
  return {queues ? depth_of(via.depth, transport.write_depth) - 1 : 0, 0};
}

std::uint64_t state_bytes(const WriteVia& via) {
  const Transport& transport = transport_of(via.transport);
  const std::uint64_t queued = transport.write_depth > 1 ? depth_of(via.depth, transport.write_depth) : 0;
  return (queued + 1) * transport.write_staging_bytes;
}

}  // namespace millrace::io
