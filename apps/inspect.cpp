#include "apps/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/exit_code.h"
#include "apps/terminal.h"
#include "io/input_files.h"
#include "pipeline/core/error.h"
#include "pipeline/core/units.h"

namespace millrace::apps {
namespace {

using Json = nlohmann::ordered_json;
using State = io::Residency::State;

constexpr std::size_t kColumns = 100;
constexpr std::size_t kLabelColumns = 13;

/// "  label        text", broken at spaces into lines of kColumns.
std::string row(const std::string& label, const std::string& text) {
  std::string out = fmt::format("  {:<{}}", label, kLabelColumns);
  std::size_t used = out.size();
  const std::size_t indent = used;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (used > indent && used + 1 + word.size() > kColumns) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
    }
    if (used > indent) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
  }
  return out + "\n";
}

std::string format_text(const Inspection& file) {
  if (file.format.empty()) return file.bytes == 0 ? "empty" : "raw bytes, as far as their start tells";
  std::string text = file.format;
  if (file.signal) {
    text += fmt::format(", {} reads", file.signal->reads);
    if (file.signal->samples) text += fmt::format(", {} samples", *file.signal->samples);
    for (const auto& [coding, reads] : file.signal->codings) text += fmt::format(", {} of {}", reads, coding);
  }
  if (file.format_detail.empty()) return text;
  return text + (file.format == "HDF5" ? ", but no FAST5 that can be read: " : ", ") + file.format_detail;
}

std::string extents_text(const ExtentSummary& extents) {
  if (extents.count == 0) return "none";
  return fmt::format("{} of {} to {}, {} on average, {} in all", extents.count, format_bytes(extents.shortest_bytes),
                     format_bytes(extents.longest_bytes), format_bytes(extents.bytes / extents.count),
                     format_bytes(extents.bytes));
}

std::string place_text(const io::FileSystem& facts) {
  std::string text = facts.type.empty() ? "not known" : facts.type;
  if (!facts.device.empty()) text += " on " + facts.device;
  if (facts.is_network()) text += ", over a network";
  if (facts.is_fuse()) text += ", by a FUSE process";
  std::string options = facts.mount_options;
  for (std::size_t comma = options.find(','); comma != std::string::npos; comma = options.find(',', comma + 2)) {
    options.insert(comma + 1, " ");
  }
  return options.empty() ? text : text + "; " + options;
}

std::string read_ahead_text(const io::FileSystem& facts) {
  const auto kib = [](std::int64_t value) {
    return value < 0 ? std::string("not known") : format_bytes(static_cast<std::uint64_t>(value) * 1024);
  };
  std::string text = kib(facts.read_ahead_kb);
  if (facts.max_sectors_kb >= 0) text += ", requests of up to " + kib(facts.max_sectors_kb);
  if (facts.rsize_bytes >= 0) text += ", rsize " + format_bytes(static_cast<std::uint64_t>(facts.rsize_bytes));
  if (facts.wsize_bytes >= 0) text += ", wsize " + format_bytes(static_cast<std::uint64_t>(facts.wsize_bytes));
  if (facts.is_memory()) return "none: the files are in memory";
  return text + "; one prefetch call starts at most " + format_bytes(facts.prefetch_limit_bytes());
}

std::string direct_text(const io::FileSystem& facts) {
  if (facts.direct_offset_alignment == 0) return "not promised by this file system";
  return fmt::format("offsets and lengths in multiples of {}, addresses of {}",
                     format_bytes(facts.direct_offset_alignment), format_bytes(facts.direct_memory_alignment));
}

std::string cache_text(const Inspection& file) {
  const io::Residency& cache = file.cache;
  if (cache.state == State::memory) return "the file system is in memory";
  if (!cache.resident_bytes) return "not known: the file belongs to somebody else, or the kernel does not say";
  const double share =
      cache.file_bytes == 0 ? 0 : static_cast<double>(*cache.resident_bytes) / static_cast<double>(cache.file_bytes);
  return fmt::format("{}, {:.1f} % of the file ({})", cache.state == State::cold ? "cold" : "warm", share * 100,
                     format_bytes(*cache.resident_bytes));
}

std::string eviction_text(const Inspection& file) {
  if (!file.left_bytes) return "asked for; what is left is not known";
  if (*file.left_bytes == 0) return "nothing is left in the page cache";
  const char* const why =
      file.cache.state == State::memory ? "the file system is in memory" : "mapped, or in use elsewhere";
  return fmt::format("{} stay: {}", format_bytes(*file.left_bytes), why);
}

std::string probe_text(const char* what, const io::Probe& probe) {
  std::string text = fmt::format("{} {}", what, probe.works ? "yes" : "no");
  return probe.reason.empty() ? text : text + " (" + probe.reason + ")";
}

std::string transport_text(const TransportCheck& check) {
  const bool alike = check.read.works == check.write.works && check.read.reason == check.write.reason;
  if (alike && !check.read.reason.empty()) return check.name + ": " + probe_text("reads and writes", check.read);
  return fmt::format("{}: {}, {}", check.name, probe_text("reads", check.read), probe_text("writes", check.write));
}

Json known(std::int64_t value) { return value < 0 ? Json() : Json(value); }
Json known_alignment(std::uint64_t value) { return value == 0 ? Json() : Json(value); }
Json known(const std::optional<std::uint64_t>& value) { return value ? Json(*value) : Json(); }

const char* name_of(State state) {
  switch (state) {
    case State::cold:
      return "cold";
    case State::warm:
      return "warm";
    case State::memory:
      return "memory";
    case State::unknown:
      break;
  }
  return "unknown";
}

Json json_of(const io::FileSystem& facts) {
  return {{"fs", facts.type},
          {"mount_options", facts.mount_options},
          {"device", facts.device},
          {"network", facts.is_network()},
          {"fuse", facts.is_fuse()},
          {"memory", facts.is_memory()},
          {"read_ahead_kb", known(facts.read_ahead_kb)},
          {"max_sectors_kb", known(facts.max_sectors_kb)},
          {"rsize", known(facts.rsize_bytes)},
          {"wsize", known(facts.wsize_bytes)},
          {"direct_memory_alignment", known_alignment(facts.direct_memory_alignment)},
          {"direct_offset_alignment", known_alignment(facts.direct_offset_alignment)},
          {"prefetch_limit_bytes", facts.prefetch_limit_bytes()}};
}

Json json_of(const io::Probe& probe) { return {{"works", probe.works}, {"reason", probe.reason}}; }

Json json_of(const Inspection& file) {
  Json json = {
      {"path", file.path.string()}, {"bytes", file.bytes}, {"format", file.format}, {"detail", file.format_detail}};
  json["signal"] = Json();
  if (file.signal) {
    json["signal"] = {
        {"reads", file.signal->reads}, {"samples", known(file.signal->samples)}, {"codings", Json::object()}};
    for (const auto& [coding, reads] : file.signal->codings) json["signal"]["codings"][coding] = reads;
  }
  json["extents"] = Json();
  if (file.extents) {
    json["extents"] = {{"count", file.extents->count},
                       {"bytes", file.extents->bytes},
                       {"shortest", file.extents->shortest_bytes},
                       {"longest", file.extents->longest_bytes}};
  }
  json["file_system"] = json_of(file.file_system);
  json["transports"] = Json::array();
  for (const auto& one : file.transports) {
    json["transports"].push_back({{"name", one.name}, {"read", json_of(one.read)}, {"write", json_of(one.write)}});
  }
  json["cache"] = {{"state", name_of(file.cache.state)}, {"resident_bytes", known(file.cache.resident_bytes)}};
  json["evicted"] = file.evicted;
  json["left_bytes"] = known(file.left_bytes);
  return json;
}

std::vector<std::filesystem::path> files_of(const InspectArguments& arguments) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : arguments.files) {
    if (is_zarr(entry)) {
      files.push_back(entry);
      continue;
    }
    try {
      const auto found = io::find_input_files({entry});
      files.insert(files.end(), found.begin(), found.end());
    } catch (Error& error) {
      error.of_kind(ErrorKind::config);
      throw;
    }
  }
  return files;
}

}  // namespace

std::string text_of(const Inspection& file) {
  std::string text = file.path.string() + "\n";
  if (file.format != "Zarr") text += row("size", format_bytes(file.bytes));
  text += row("format", format_text(file));
  if (file.extents) text += row("extents", extents_text(*file.extents));
  text += row("file system", place_text(file.file_system));
  text += row("read-ahead", read_ahead_text(file.file_system));
  if (file.format == "Zarr") return text;
  text += row("direct I/O", direct_text(file.file_system));
  text += row("page cache", cache_text(file));
  if (file.evicted) text += row("evicted", eviction_text(file));
  std::string label = "transports";
  for (const auto& one : file.transports) {
    text += row(label, transport_text(one));
    label.clear();
  }
  return text;
}

std::string json_of(const std::vector<Inspection>& inspections) {
  Json json = {{"schema", "millrace.inspect/1"}, {"files", Json::array()}};
  for (const auto& file : inspections) json["files"].push_back(json_of(file));
  // Names of files are bytes, JSON is Unicode.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int inspect_command(const InspectArguments& arguments) {
  const auto mounts = io::current_mounts();
  std::vector<Inspection> inspections;
  for (const auto& file : files_of(arguments)) inspections.push_back(inspect(file, arguments.evict, mounts));
  if (arguments.json) {
    print(json_of(inspections));
    return kDone;
  }
  std::string text;
  for (const auto& file : inspections) text += (text.empty() ? "" : "\n") + text_of(file);
  print(text);
  return kDone;
}

}  // namespace millrace::apps
