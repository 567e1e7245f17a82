#include "io/open_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "io/buffered_file.h"
#include "io/timed.h"
#include "pipeline/core/clock.h"
#include "pipeline/core/error.h"
#include "pipeline/core/registry.h"

namespace millrace::io {
namespace {

/// What configs may ask for (contract section 3), and whether this version has it.
struct Transport {
  std::string_view name;
  bool present;
};
constexpr std::array<Transport, 6> kTransports{{{"buffered", true},
                                                {"mmap", false},
                                                {"direct", false},
                                                {"uring", false},
                                                {"uring_direct", false},
                                                {"dontcache", false}}};

const Transport& transport_named(const Options& via, const std::string& key, const std::string& name) {
  const auto* const found = std::find_if(kTransports.begin(), kTransports.end(),
                                         [&name](const Transport& transport) { return transport.name == name; });
  if (found != kTransports.end()) return *found;
  std::vector<std::string> names;
  names.reserve(kTransports.size());
  for (const auto& transport : kTransports) names.emplace_back(transport.name);
  const std::string near = nearest(name, names);
  throw via.error_at(key, "there is no transport '" + name + "'" + (near.empty() ? "" : "; is '" + near + "' meant?"));
}

std::string present_transports() {
  std::string names;
  for (const auto& transport : kTransports) {
    if (transport.present) names += (names.empty() ? "" : ", ") + std::string(transport.name);
  }
  return names;
}

/// Keys that are there for a transport that will not run, as "depth, window". They are no mistakes: the same config is
/// meant for a version that has it.
std::string keys_of_other_transports(const Options& via) {
  std::string keys;
  for (const char* const key : {"advice", "depth", "drop_behind", "scope", "step", "window"}) {
    if (via.has(key)) keys += (keys.empty() ? "" : ", ") + std::string(key);
  }
  return keys;
}

/// Fills transport_requested, transport and note of a via: the fallback runs only when the config names one.
template <typename Via>
void choose_transport(const Options& via, Via& result) {
  result.transport_requested =
      via.get<std::string>("transport", "buffered", "how bytes move; this version has: " + present_transports());
  const auto fallback = via.get<std::string>("fallback", "", "transport to run when the wanted one is not available");
  const Transport& wanted = transport_named(via, "transport", result.transport_requested);
  if (!fallback.empty() && !transport_named(via, "fallback", fallback).present) {
    throw via.error_at("fallback",
                       "the transport '" + fallback + "' is not in this version, which has: " + present_transports());
  }
  if (wanted.present) {
    result.transport = result.transport_requested;
  } else if (!fallback.empty()) {
    result.transport = fallback;
    const std::string ignored = keys_of_other_transports(via);
    result.note = "via: '" + result.transport_requested + "' is not in this version, '" + fallback + "' runs instead" +
                  (ignored.empty() ? "" : " and has no use for " + ignored);
  } else {
    throw via.error_at("transport", "the transport '" + result.transport_requested +
                                        "' is not in this version, which has: " + present_transports() +
                                        "; add fallback = \"buffered\" to run with that instead");
  }
}

Throttle read_throttle(const Options& via) {
  Throttle throttle;
  throttle.bytes_per_second =
      via.get<Bytes>("throttle_rate", {}, "bytes per second of a slower device to imitate; 0 B = no limit").count;
  throttle.latency = via.get<Duration>("latency", Duration(0), "least time of each call on a device to imitate");
  return throttle;
}

struct FaultName {
  std::string_view name;
  Fault::Kind kind;
};

Fault read_fault(const Options& via, std::initializer_list<FaultName> known) {
  Fault fault;
  std::string names;
  for (const auto& entry : known) names += (names.empty() ? "" : ", ") + std::string(entry.name);
  const auto name = via.get<std::string>("fault", "none", "failure to imitate, for tests: " + names);
  const bool placed = via.has("fault_at");
  fault.at_bytes = via.get<Bytes>("fault_at", {}, "place in each file where the imitated failure is").count;
  const auto* const found =
      std::find_if(known.begin(), known.end(), [&name](const FaultName& entry) { return entry.name == name; });
  if (found == known.end()) throw via.error_at("fault", "there is no fault '" + name + "' here, only: " + names);
  if (placed && found->kind == Fault::Kind::none) throw via.error_at("fault_at", "'fault_at' needs a 'fault'");
  fault.kind = found->kind;
  return fault;
}

Fsync read_fsync(const Options& via) {
  const auto name = via.get<std::string>("fsync", "close", "when data is forced to the device: never, close, interval");
  if (name == "never") return Fsync::never;
  if (name == "close") return Fsync::close;
  if (name == "interval") return Fsync::interval;
  throw via.error_at("fsync", "'fsync' must be never, close or interval, not '" + name + "'");
}

}  // namespace

ReadVia read_via(const Options& options) {
  const Options via = options.table("via");
  ReadVia result;
  choose_transport(via, result);
  result.block_bytes = via.get<Bytes>("block", Bytes{result.block_bytes}, "preferred length of one read").count;
  if (result.block_bytes == 0) throw via.error_at("block", "'block' must be at least 1 B");
  result.throttle = read_throttle(via);
  result.fault =
      read_fault(via, {{"none", Fault::Kind::none}, {"eio", Fault::Kind::eio}, {"truncate", Fault::Kind::truncate}});
  return result;
}

WriteVia write_via(const Options& options) {
  const Options via = options.table("via");
  WriteVia result;
  choose_transport(via, result);
  result.fsync = read_fsync(via);
  const bool has_bytes = via.has("fsync_bytes");
  result.fsync_bytes =
      via.get<Bytes>("fsync_bytes", Bytes{result.fsync_bytes}, "bytes between two fsyncs; with fsync = \"interval\"")
          .count;
  if (has_bytes && result.fsync != Fsync::interval) {
    throw via.error_at("fsync_bytes", "'fsync_bytes' needs fsync = \"interval\"");
  }
  if (result.fsync_bytes == 0) throw via.error_at("fsync_bytes", "'fsync_bytes' must be at least 1 B");
  result.throttle = read_throttle(via);
  result.fault = read_fault(via, {{"none", Fault::Kind::none},
                                  {"eio", Fault::Kind::eio},
                                  {"enospc", Fault::Kind::enospc},
                                  {"fsync", Fault::Kind::fsync}});
  return result;
}

std::unique_ptr<Reader> open_reader(const std::filesystem::path& path, const ReadVia& via) {
  Clock& clock = monotonic_clock();
  std::unique_ptr<Reader> reader;
  {
    const IoWait wait(clock, 0);  // an open may go over a network
    reader = std::make_unique<BufferedReader>(path, via.transport_requested);
  }
  if (via.fault.active()) reader = std::make_unique<FaultyReader>(std::move(reader), via.fault);
  if (via.throttle.active()) reader = std::make_unique<ThrottledReader>(std::move(reader), via.throttle, clock);
  return std::make_unique<TimedReader>(std::move(reader), clock);
}

std::unique_ptr<Writer> create_writer(const std::filesystem::path& path, const WriteVia& via) {
  Clock& clock = monotonic_clock();
  std::unique_ptr<Writer> writer;
  {
    const IoWait wait(clock, 0);
    writer = std::make_unique<BufferedWriter>(path, via.transport_requested);
  }
  if (via.fault.active()) writer = std::make_unique<FaultyWriter>(std::move(writer), via.fault);
  if (via.throttle.active()) writer = std::make_unique<ThrottledWriter>(std::move(writer), via.throttle, clock);
  return std::make_unique<TimedWriter>(std::move(writer), clock);
}

Reader& CurrentReader::at(const std::filesystem::path& path) {
  if (reader_ == nullptr || reader_->path() != path) {
    if (reader_ != nullptr) add_stats(closed_, reader_->stats());
    reader_.reset();
    reader_ = open_reader(path, via_);
  }
  return *reader_;
}

IoStats CurrentReader::stats() const {
  IoStats stats = closed_;
  stats.transport_requested = via_.transport_requested;
  stats.transport_used = via_.transport;
  if (reader_ != nullptr) add_stats(stats, reader_->stats());
  return stats;
}

void add_stats(IoStats& sum, const IoStats& more) {
  sum.calls += more.calls;
  sum.bytes += more.bytes;
  sum.retries += more.retries;
  sum.cache_hit_bytes += more.cache_hit_bytes;
  sum.cache_miss_bytes += more.cache_miss_bytes;
  sum.fsync_calls += more.fsync_calls;
  sum.fsync_ns += more.fsync_ns;
  sum.advice.calls += more.advice.calls;
  sum.advice.errors += more.advice.errors;
}

}  // namespace millrace::io
