#include "apps/compare_merge.h"

#include <fstream>
#include <sstream>
#include <string>

#include "apps/exit_code.h"
#include "apps/terminal.h"
#include "pipeline/core/error.h"
#include "pipeline/experiment/comparison_json.h"
#include "pipeline/experiment/merged_text.h"

namespace millrace::apps {
namespace {

ComparisonReport read_comparison(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) throw config_error("cannot read the report of a comparison").at_path(path);
  try {
    return comparison_from_json(text.str());
  } catch (Error& error) {
    error.at_path(path);
    throw;
  }
}

}  // namespace

int merge_command(const std::vector<std::filesystem::path>& paths) {
  std::vector<ComparisonReport> reports;
  for (const auto& path : paths) reports.push_back(read_comparison(path));
  if (reports.size() < 2) throw config_error("--merge needs at least two reports");
  if (const std::string reason = why_not_mergeable(reports); !reason.empty()) throw config_error(reason);
  print(merged_text(reports, merge_hosts(host_rates_of(reports))));
  return kDone;
}

}  // namespace millrace::apps
