#include "pipeline/experiment/ablation_outputs.h"

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHidden = ".millrace-explain-";

/// Where links lead to, also when there is nothing yet: the file may be on another device than the link.
fs::path behind_links(fs::path path) {
  constexpr int kMostLinks = 40;  // as Linux follows
  std::error_code failure;
  for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(path, failure)); ++i) {
    path = path.parent_path() / fs::read_symlink(path, failure);
  }
  return path;
}

/// "/data/.millrace-explain-17-calls.fastq.gz" for "/data/calls.fastq.gz".
fs::path aside(const fs::path& path, const std::string& tag) {
  const fs::path target = behind_links(path);
  return target.parent_path() / (std::string(kHidden) + tag + "-" + target.filename().string());
}

/// `options` with another text for `path`. Its file name may be empty or odd: then the stage says so, as without us.
Options with_path(const Options& options, const fs::path& path) {
  auto values = options.values();
  values.at("path").value = path.string();
  return {std::move(values), options.directory(), options.position()};
}

std::optional<fs::path> path_of(const Options& options) {
  const auto found = options.values().find("path");
  if (found == options.values().end()) return std::nullopt;
  const auto* const text = std::get_if<std::string>(&found->second.value);
  if (text == nullptr || fs::path(*text).filename().empty()) return std::nullopt;
  return fs::path(*text).is_absolute() ? fs::path(*text) : options.directory() / *text;
}

}  // namespace

AsideOutputs::AsideOutputs(PipelineSpec& spec, const Registry& registry, const std::string& tag) {
  for (StageSpec& stage : spec.stages) {
    if (!registry.contains(stage.type) || registry.at(stage.type).role != Role::sink) continue;
    if (const auto path = path_of(stage.options)) {
      stage.options = with_path(stage.options, aside(*path, tag));
    } else {
      unnamed_.push_back(stage.name);
    }
  }
}

void AsideOutputs::protect(Plan& plan) const {
  for (StagePlan& stage : plan.stages) {
    if (std::find(unnamed_.begin(), unnamed_.end(), stage.name) == unnamed_.end()) continue;
    for (auto& instance : stage.instances) {
      instance = std::make_unique<InterruptedSink>(std::unique_ptr<Sink>(dynamic_cast<Sink*>(instance.release())));
    }
  }
}

void AsideOutputs::remove(const RunReport& report) {
  for (const OutputReport& output : report.outputs) {
    std::error_code failure;
    const fs::path path(output.path);
    // Whole directories only under a name of ours: anything else may hold more than this run put there.
    if (path.filename().string().starts_with(kHidden)) {
      fs::remove_all(path, failure);
    } else if (fs::is_regular_file(path, failure)) {
      fs::remove(path, failure);
    }
    if (failure)
      throw system_error("the output of a trial run cannot be removed", failure.value()).at_path(output.path);
  }
}

}  // namespace millrace
