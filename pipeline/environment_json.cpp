#include "pipeline/environment_json.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

/// Far beyond any machine; what a file claims above it is no report.
constexpr std::uint64_t kMaxCpus = 1U << 20;

Json known(std::int64_t count) { return count < 0 ? Json() : Json(count); }
Json known_alignment(std::uint64_t bytes) { return bytes == 0 ? Json() : Json(bytes); }

}  // namespace

nlohmann::ordered_json environment_json(const Environment& environment) {
  Json paths = Json::array();
  for (const auto& path : environment.paths)
    paths.push_back({{"path", path.path},
                     {"fs", path.file_system},
                     {"mount_options", path.mount_options},
                     {"read_ahead_kb", known(path.read_ahead_kb)},
                     {"device", path.device},
                     {"max_sectors_kb", known(path.max_sectors_kb)},
                     {"rsize", known(path.rsize_bytes)},
                     {"wsize", known(path.wsize_bytes)},
                     {"direct_memory_alignment", known_alignment(path.direct_memory_alignment)},
                     {"direct_offset_alignment", known_alignment(path.direct_offset_alignment)}});
  return {{"host", environment.host},
          {"kernel", environment.kernel},
          {"cpus", environment.cpus},
          {"memory_bytes", environment.memory_bytes},
          {"millrace_version", environment.millrace_version},
          {"paths", paths}};
}

Environment read_environment(const ReportReader& in) {
  Environment environment;
  environment.host = in.text("host");
  environment.kernel = in.text("kernel");
  environment.cpus = static_cast<std::uint32_t>(in.count_below("cpus", kMaxCpus));
  environment.memory_bytes = in.count("memory_bytes");
  environment.millrace_version = in.text("millrace_version");
  in.each("paths", [&](const ReportReader& path) {
    const auto known = [&path](const char* key) { return path.has(key) ? path.ns(key) : -1; };
    const auto alignment = [&path](const char* key) { return path.has(key) ? path.count(key) : 0; };
    environment.paths.push_back({path.text("path"), path.text("fs"), path.text("mount_options"), known("read_ahead_kb"),
                                 path.text("device"), known("max_sectors_kb"), known("rsize"), known("wsize"),
                                 alignment("direct_memory_alignment"), alignment("direct_offset_alignment")});
  });
  return environment;
}

}  // namespace millrace
