#include "io/via.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "io/file_system.h"
#include "io/read_warnings.h"
#include "io/transports.h"
#include "pipeline/core/error.h"
#include "pipeline/core/registry.h"

namespace millrace::io {
namespace {

using Kind = AdvicePolicy::Kind;

template <typename Value>
struct Named {
  std::string_view name;
  Value value;
};

constexpr std::array<Named<Kind>, 6> kAdvice{{{"none", Kind::none},
                                              {"normal", Kind::normal},
                                              {"sequential", Kind::sequential},
                                              {"random", Kind::random},
                                              {"willneed", Kind::willneed},
                                              {"populate", Kind::populate}}};

/// Reads a key whose value is one of a few words.
template <typename Value, typename List>
Value choice(const Options& options, const std::string& key, const std::string& fallback, const std::string& help,
             const List& known) {
  std::vector<std::string> names;
  for (const auto& one : known) names.emplace_back(one.name);
  std::string all;
  for (const auto& name : names) all += (all.empty() ? "" : ", ") + name;
  const auto text = options.get<std::string>(key, fallback, help + ": " + all);
  for (const auto& one : known) {
    if (one.name == text) return one.value;
  }
  const std::string near = nearest(text, names);
  throw options.error_at(key, "'" + key + "' must be one of " + all + ", not '" + text + "'" +
                                  (near.empty() ? "" : "; is '" + near + "' meant?"));
}

const Transport& known_transport(const Options& via, const std::string& key, const std::string& name) {
  if (const Transport* const found = find_transport(name)) return *found;
  std::vector<std::string> names;
  for (const auto& transport : transports()) names.emplace_back(transport.name);
  const std::string near = nearest(name, names);
  throw via.error_at(key, "there is no transport '" + name + "', only: " + transport_names() +
                              (near.empty() ? "" : "; is '" + near + "' meant?"));
}

/// Fills transport and fallback of a via.
template <typename Via>
const Transport& read_transport(const Options& via, Via& result) {
  result.transport_requested = via.get<std::string>("transport", "buffered", "how bytes move: " + transport_names());
  result.fallback = via.get<std::string>("fallback", "",
                                         "transport to run where the file system or the kernel refuses the wanted one");
  const Transport& transport = known_transport(via, "transport", result.transport_requested);
  if (!result.fallback.empty()) known_transport(via, "fallback", result.fallback);
  result.transport = result.transport_requested;
  return transport;
}

constexpr std::uint32_t kMostDepth = 1024;

std::uint32_t read_depth(const Options& via, const std::string& what) {
  const auto depth = via.get<std::uint32_t>("depth", 0, what + " in flight; 0 = what suits the transport");
  if (depth > kMostDepth) throw via.error_at("depth", "'depth' must be at most " + std::to_string(kMostDepth));
  return depth;
}

Throttle read_throttle(const Options& via) {
  Throttle throttle;
  throttle.bytes_per_second =
      via.get<Bytes>("throttle_rate", {}, "bytes per second of a slower device to imitate; 0 B = no limit").count;
  throttle.latency = via.get<Duration>("latency", Duration(0), "least time of each call on a device to imitate");
  return throttle;
}

Fault read_fault(const Options& via, std::initializer_list<Named<Fault::Kind>> known) {
  Fault fault;
  fault.kind = choice<Fault::Kind>(via, "inject", "none", "failure to imitate, for tests", known);
  fault.at_bytes = via.get<Bytes>("inject_at", {}, "place in each file where the imitated failure is").count;
  if (via.has("inject_at") && fault.kind == Fault::Kind::none) {
    throw via.error_at("inject_at", "'inject_at' needs an 'inject'");
  }
  return fault;
}

/// A key that means something only together with another one.
void require_with(const Options& via, const std::string& key, bool useful, const std::string& what) {
  if (via.has(key) && !useful) throw via.error_at(key, "'" + key + "' needs " + what);
}

AdvicePolicy read_advice(const Options& via, const Transport& transport) {
  AdvicePolicy advice;
  advice.kind = choice<Kind>(via, "advice", "none", "what the kernel is told about coming reads", kAdvice);
  constexpr std::array<Named<AdvicePolicy::Scope>, 2> kScopes{
      {{"window", AdvicePolicy::Scope::window}, {"file", AdvicePolicy::Scope::file}}};
  advice.scope = choice<AdvicePolicy::Scope>(
      via, "scope", "window",
      "willneed for a window in front of the reader, or once for the whole file (which fetches "
      "the first step only)",
      kScopes);
  advice.window_bytes =
      via.get<Bytes>("window", Bytes{advice.window_bytes}, "how far ahead of the reader willneed reaches").count;
  advice.step_bytes =
      via.get<Bytes>("step", {}, "bytes of one willneed call; 0 B = the most that the device's settings allow").count;
  const bool willneed = advice.kind == Kind::willneed;
  require_with(via, "scope", willneed, "advice = \"willneed\"");
  for (const char* key : {"window", "step"}) {
    require_with(via, key, willneed, "advice = \"willneed\"");
    require_with(via, key, advice.scope == AdvicePolicy::Scope::window, "scope = \"window\"");
  }
  if (advice.window_bytes == 0) throw via.error_at("window", "'window' must be at least 1 B");
  if (advice.kind != Kind::none && !transport.cached) {
    throw via.error_at("advice", "advice is about the page cache, which transport = \"" + std::string(transport.name) +
                                     "\" does not use");
  }
  if (advice.kind == Kind::populate && transport.name != "mmap") {
    throw via.error_at("advice", "advice = \"populate\" fills page tables: it needs transport = \"mmap\"");
  }
  return advice;
}

void add_warning(std::vector<std::string>& warnings, std::string warning) {
  if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end()) warnings.push_back(std::move(warning));
}

/// Names the transport that a via runs and why another does not; false when none works.
template <typename Via>
void settle_with(Via& via, const Probe& probe, const std::filesystem::path& place,
                 Probe (*const Transport::*try_it)(const std::filesystem::path&)) {
  if (probe.works) {
    if (!probe.reason.empty()) add_warning(via.warnings, "via: '" + via.transport + "': " + probe.reason);
    return;
  }
  const std::string refusal =
      "transport '" + via.transport + "' does not work at " + place.string() + ": " + probe.reason;
  if (via.fallback.empty() || via.fallback == via.transport) {
    throw config_error(refusal + "; 'fallback' in 'via' can name another one");
  }
  const Probe second = (find_transport(via.fallback)->*try_it)(place);
  if (!second.works) {
    throw config_error(refusal + "; nor does its fallback '" + via.fallback + "': " + second.reason);
  }
  via.note = "via: " + refusal + "; '" + via.fallback + "' runs instead";
  via.transport = via.fallback;
}

/// The files on one file system.
struct PlaceOfFiles {
  std::filesystem::path file;  ///< one of them
  std::uint64_t largest_bytes = 0;
};

/// Sets the step of willneed and says which settings do nothing at these places.
void settle_advice(ReadVia& via, const std::map<dev_t, PlaceOfFiles>& places) {
  const auto mounts = current_mounts();
  std::uint64_t step = 0;
  for (const auto& [device, place] : places) {
    const FileSystem facts = file_system_of(place.file, mounts);
    for (auto& warning : read_warnings(via, facts, place.largest_bytes)) {
      add_warning(via.warnings, std::move(warning));
    }
    step = step == 0 ? facts.prefetch_limit_bytes() : std::min(step, facts.prefetch_limit_bytes());
  }
  if (via.advice.kind == Kind::willneed && via.advice.step_bytes == 0) via.advice.step_bytes = step;
}

}  // namespace

std::string name_of(AdvicePolicy::Kind kind) {
  const auto* const found =
      std::find_if(kAdvice.begin(), kAdvice.end(), [kind](const auto& one) { return one.value == kind; });
  return std::string(found->name);
}

ReadVia read_via(const Options& options) {
  const Options via = options.table("via");
  ReadVia result;
  const Transport& transport = read_transport(via, result);
  result.block_bytes = via.get<Bytes>("block", Bytes{result.block_bytes}, "preferred length of one read").count;
  if (result.block_bytes == 0) throw via.error_at("block", "'block' must be at least 1 B");
  result.depth = read_depth(via, "reads");
  result.advice = read_advice(via, transport);
  result.drop_behind = via.get<bool>("drop_behind", false, "let the page cache forget what was read");
  require_with(via, "drop_behind", transport.cached || !result.drop_behind, "a transport that uses the page cache");
  constexpr std::array<Named<bool>, 2> kFaults{{{"reader", false}, {"consumer", true}}};
  result.consumer_faults = choice<bool>(via, "fault", "reader", "mmap: who waits for pages", kFaults);
  require_with(via, "fault", transport.name == "mmap", "transport = \"mmap\"");
  result.throttle = read_throttle(via);
  result.fault =
      read_fault(via, {{"none", Fault::Kind::none}, {"eio", Fault::Kind::eio}, {"truncate", Fault::Kind::truncate}});
  return result;
}

WriteVia write_via(const Options& options) {
  const Options via = options.table("via");
  WriteVia result;
  const Transport& transport = read_transport(via, result);
  result.depth = read_depth(via, "writes");
  require_with(via, "depth", transport.write_depth > 1 || result.depth <= 1, "a transport with a queue of writes");
  constexpr std::array<Named<Fsync>, 3> kFsync{
      {{"never", Fsync::never}, {"close", Fsync::close}, {"interval", Fsync::interval}}};
  result.fsync = choice<Fsync>(via, "fsync", "close", "when data is forced to the device", kFsync);
  result.fsync_bytes =
      via.get<Bytes>("fsync_bytes", Bytes{result.fsync_bytes}, "bytes between two fsyncs; with fsync = \"interval\"")
          .count;
  require_with(via, "fsync_bytes", result.fsync == Fsync::interval, "fsync = \"interval\"");
  if (result.fsync_bytes == 0) throw via.error_at("fsync_bytes", "'fsync_bytes' must be at least 1 B");
  result.write_behind_bytes = via.get<Bytes>("write_behind", Bytes{result.write_behind_bytes},
                                             "buffered: writeback is started after every so many bytes; 0 B = never")
                                  .count;
  require_with(via, "write_behind", transport.name == "buffered", "transport = \"buffered\"");
  // Who lets the kernel decide when data goes to the device gets just that.
  if (result.fsync == Fsync::never && !via.has("write_behind")) result.write_behind_bytes = 0;
  result.preallocate_bytes =
      via.get<Bytes>("preallocate", {}, "room on the device is asked for in steps of this; 0 B = never").count;
  result.drop_behind = via.get<bool>("drop_behind", false, "let the page cache forget what is on the device");
  require_with(via, "drop_behind", transport.cached || !result.drop_behind, "a transport that uses the page cache");
  result.throttle = read_throttle(via);
  result.fault = read_fault(via, {{"none", Fault::Kind::none},
                                  {"eio", Fault::Kind::eio},
                                  {"enospc", Fault::Kind::enospc},
                                  {"fsync", Fault::Kind::fsync}});
  return result;
}

void settle(ReadVia& via, const std::vector<std::filesystem::path>& files) {
  std::map<dev_t, PlaceOfFiles> places;
  for (const auto& file : files) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0) continue;  // opening it will say what is wrong
    PlaceOfFiles& place = places.try_emplace(status.st_dev, PlaceOfFiles{file, 0}).first->second;
    place.largest_bytes = std::max(place.largest_bytes, static_cast<std::uint64_t>(status.st_size));
  }
  for (const auto& [device, place] : places) {
    settle_with(via, find_transport(via.transport)->probe_read(place.file), place.file, &Transport::probe_read);
  }
  settle_advice(via, places);
}

void settle(WriteVia& via, const std::filesystem::path& directory) {
  settle_with(via, find_transport(via.transport)->probe_write(directory), directory, &Transport::probe_write);
}

}  // namespace millrace::io
