#include "apps/compare_identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include "apps/output_hash.h"
#include "apps/version.h"

namespace millrace::apps {
namespace {

/// Enough of a hash to tell texts apart in a message.
std::string short_hash(const std::string& hash) {
  constexpr std::size_t kDigits = 16;
  return hash.substr(0, kDigits);
}

std::string arms_text(const ComparisonReport& report) {
  std::string text;
  for (const auto& arm : report.arms) text += fmt::format("'{}' [{}] ", arm.label, fmt::join(arm.overrides, " "));
  return text;
}

std::string design_text(const ComparisonDesign& design) {
  return design.detect ? fmt::format("detect {}, at most {} repeats", *design.detect, design.blocks)
                       : fmt::format("{} repeats", design.blocks);
}

std::string file_text(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return "not there";
  return fmt::format("{} bytes of {}.{:09}", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

}  // namespace

ExperimentIdentity identity_of(const ComparisonReport& report, const std::vector<std::filesystem::path>& plugins,
                               const std::vector<std::filesystem::path>& inputs) {
  ExperimentIdentity identity{
      {"the program", version() + " " + short_hash(sha256_of_file("/proc/self/exe"))},
      {"the config", short_hash(report.config_sha256)},
      {"--set", fmt::format("{}", fmt::join(report.overrides, " "))},
      {"the list of arms", arms_text(report)},
      {"the seed", fmt::format("{}", report.seed)},
      {"the cache", name_of(report.cache)},
      {"the design", design_text(report.design)},
      {"the rotation", fmt::format("{} {}", report.rotate_key, fmt::join(report.rotate_files, " "))},
      {"the machine", report.environment.host + ", " + report.environment.kernel}};
  for (const auto& plugin : plugins) identity.emplace_back(plugin.string(), short_hash(sha256_of_file(plugin)));
  for (const auto& input : inputs) identity.emplace_back(input.string(), file_text(input));
  return identity;
}

}  // namespace millrace::apps
