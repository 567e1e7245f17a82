#include "stages/read_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

namespace millrace {
namespace {

constexpr std::size_t kSkipsTold = 10;
constexpr std::size_t kMissingTold = 3;
constexpr std::uint64_t kNodeBytes = 96;  // of a set, with a text of up to 36 characters

std::string_view first_word(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r,";
  const auto begin = line.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  line.remove_prefix(begin);
  return line.substr(0, line.find_first_of(kBlanks));
}

}  // namespace

ReadSelection::ReadSelection(const Options& options)
    : ids_file_(
          options.get<std::filesystem::path>("reads", {}, "file with the ids of the reads wanted, one per line")) {
  const auto most = options.get<std::uint64_t>("max_reads", 0, "reads to give at most; 0 = all");
  if (most != 0) max_reads_ = most;
  const auto policy = options.get<std::string>("on_bad_file", "fail", "fail, or skip: leave it out and count it");
  if (policy != "fail" && policy != "skip") {
    throw options.error_at("on_bad_file", "'on_bad_file' must be \"fail\" or \"skip\", not \"" + policy + "\"");
  }
  skips_ = policy == "skip";
}

void ReadSelection::load() {
  if (!by_id()) return;
  std::ifstream file(ids_file_);
  if (!file) throw system_error("cannot open the list of reads", errno).at_path(ids_file_);
  std::string line;
  for (bool first = true; std::getline(file, line); first = false) {
    const std::string_view id = first_word(line);
    if (id.empty() || id.starts_with('#') || (first && id == "read_id")) continue;
    ids_.emplace(id);
  }
  if (file.bad()) throw system_error("cannot read the list of reads", errno).at_path(ids_file_);
  if (ids_.empty()) throw Error("the list of reads holds no id").at_path(ids_file_);
  missing_ = ids_;
  memory_bytes_ = 2 * ids_.size() * kNodeBytes;
}

bool ReadSelection::take(std::string_view id) {
  if (given_ == max_reads_) return false;
  ++given_;
  if (const auto found = missing_.find(id); found != missing_.end()) missing_.erase(found);
  return true;
}

void ReadSelection::skip_file(const Error& error, std::uint64_t reads) {
  if (!skips_) throw error;
  refused_["bad file"] += std::max<std::uint64_t>(reads, 1);
  if (++skips_count_ <= kSkipsTold) first_skips_.push_back(fmt::format("skipped: {}", error.what()));
}

void ReadSelection::skip_read(const std::string& reason, const Error& error) {
  if (!skips_) throw error;
  ++refused_[reason];
  if (++skips_count_ <= kSkipsTold) first_skips_.push_back(fmt::format("skipped: {}", error.what()));
}

Findings ReadSelection::findings() const {
  Findings findings;
  findings.lines = plan_notes();
  for (const auto& [reason, chunks] : refused_) findings.refused.push_back({reason, chunks});
  return findings;
}

std::vector<std::string> ReadSelection::plan_notes() const {
  std::vector<std::string> notes = first_skips_;
  if (skips_count_ > first_skips_.size())
    notes.push_back(fmt::format("and {} more", skips_count_ - first_skips_.size()));
  if (!missing_.empty() && room() != 0) {
    std::string some;
    std::size_t told = 0;
    for (auto id = missing_.begin(); id != missing_.end() && told < kMissingTold; ++id, ++told) some += " " + *id;
    notes.push_back(fmt::format("{} of {} ids in {} are in no file:{}{}", missing_.size(), ids_.size(),
                                ids_file_.string(), some, missing_.size() > told ? " ..." : ""));
  }
  return notes;
}

}  // namespace millrace
