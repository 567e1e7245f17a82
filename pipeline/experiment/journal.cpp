#include "pipeline/experiment/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string_view>

#include "pipeline/core/error.h"
#include "pipeline/experiment/comparison_run_json.h"
#include "pipeline/experiment/experiment_spec.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "millrace.compare.journal/1";
/// A line of a run has a few kilobytes, and some hundred bytes for every output.
constexpr std::size_t kMaxJournalBytes = 1U << 30;
constexpr int kMaxDepth = 20;

std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json parsed(std::string_view line) {
  bool too_deep = false;
  const auto guard = [&too_deep](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) too_deep = true;
    return !too_deep;
  };
  return Json::parse(line, guard, false);
}

Json json_of(const ExperimentIdentity& identity) {
  Json facts = Json::array();
  for (const auto& [name, value] : identity) facts.push_back(Json::array({name, value}));
  return {{"schema", kSchema}, {"experiment", std::move(facts)}};
}

/// Nothing when the line is no header.
std::optional<ExperimentIdentity> identity_of(const Json& header) {
  if (!header.is_object() || header.value("schema", Json()) != kSchema || !header.contains("experiment")) return {};
  ExperimentIdentity identity;
  for (const Json& fact : header["experiment"]) {
    if (!fact.is_array() || fact.size() != 2 || !fact[0].is_string() || !fact[1].is_string()) return {};
    identity.emplace_back(fact[0].get<std::string>(), fact[1].get<std::string>());
  }
  return identity;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

}  // namespace

std::string difference_of(const ExperimentIdentity& stored, const ExperimentIdentity& now) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (i >= stored.size() || stored[i].first != now[i].first) return fmt::format("it knows no '{}'", now[i].first);
    if (stored[i].second == now[i].second) continue;
    return fmt::format("{} was {} and is {}", now[i].first, stored[i].second, now[i].second);
  }
  return stored.size() == now.size() ? "" : fmt::format("it has '{}' besides", stored[now.size()].first);
}

Journal::Journal(std::filesystem::path path, const ExperimentIdentity& identity) : path_(std::move(path)) {
  constexpr mode_t kMode = 0644;
  const auto failure = [this](const char* what) {
    return system_error(what, errno).of_kind(ErrorKind::config).at_path(path_);
  };
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND | O_NONBLOCK, kMode);
  if (descriptor_ < 0) throw failure("cannot open the journal");
  try {
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) throw failure("another process writes this journal");
    read(identity);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

Journal::~Journal() { ::close(descriptor_); }

std::string Journal::contents() const {
  std::string text;
  std::array<char, 65536> block{};
  for (;;) {
    const ssize_t got = ::pread(descriptor_, block.data(), block.size(), static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error("cannot read the journal", errno).of_kind(ErrorKind::config).at_path(path_);
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxJournalBytes) throw config_error("is too large for a journal of compare").at_path(path_);
  }
}

void Journal::read(const ExperimentIdentity& identity) {
  std::string text = contents();
  // What follows the last end of a line was being written when the process ended.
  const std::size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  const auto lines = lines_of(std::string_view(text).substr(0, whole));
  if (lines.empty()) {
    // A torn header is an experiment that never began; anything else without a line's end is somebody's file.
    const std::string start = json_of({}).dump().substr(0, 12);
    if (!text.starts_with(start.substr(0, text.size()))) throw config_error("is no journal of compare").at_path(path_);
    begin(identity);
    return;
  }
  const auto stored = identity_of(parsed(lines.front()));
  if (!stored) throw config_error("is no journal of compare").at_path(path_);
  if (const std::string difference = difference_of(*stored, identity); !difference.empty()) {
    throw config_error(
        fmt::format("is the journal of another experiment: {}; remove it, or name another with --journal", difference))
        .at_path(path_);
  }
  for (std::size_t i = 1; i < lines.size(); ++i) {
    try {
      const Json line = parsed(lines[i]);
      const ReportReader in(line, "", "compare");
      kept_.push_back({in.count_below("arm", kMaxArms), read_run(in.object("run"))});
    } catch (const Error& error) {
      throw config_error(fmt::format("line {} is damaged ({})", i + 1, error.message())).at_path(path_);
    }
  }
  if (whole < text.size() && ::ftruncate(descriptor_, static_cast<off_t>(whole)) != 0) {
    throw system_error("cannot cut off a torn line", errno).of_kind(ErrorKind::config).at_path(path_);
  }
}

void Journal::begin(const ExperimentIdentity& identity) {
  if (::ftruncate(descriptor_, 0) != 0) {
    throw system_error("cannot begin the journal", errno).of_kind(ErrorKind::config).at_path(path_);
  }
  append(line_of(json_of(identity)));
  // The name must outlive a crash as well; where directories cannot be forced there is nothing to do about it.
  const auto directory = path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
  const int opened = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;
  ::fsync(opened);
  ::close(opened);
}

void Journal::append(const std::string& line) {
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw system_error("cannot write the journal", errno).at_path(path_);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fdatasync(descriptor_) != 0) throw system_error("cannot force the journal to the device", errno).at_path(path_);
}

void Journal::add(std::size_t arm, const ComparisonRun& run) {
  append(line_of({{"arm", arm}, {"run", run_json(run)}}));
}

void Journal::remove() {
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) {
    throw system_error("cannot remove the journal", errno).at_path(path_);
  }
}

}  // namespace millrace
