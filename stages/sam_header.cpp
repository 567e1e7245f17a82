#include "stages/sam_header.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "io/pod5_run_table.h"
#include "io/run_info.h"
#include "pipeline/core/error.h"
#include "stages/read_tags.h"

namespace millrace {
namespace {

constexpr std::string_view kFirstLine = "@HD\tVN:1.6\tSO:unknown\n";
constexpr std::string_view kProgramLine = "@PG\tID:millrace\tPN:millrace\tVN:" MILLRACE_VERSION "\n";
constexpr std::string_view kComment = "@CO\t";

std::string clean(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  return result;
}

/// The first of the facts that is known.
std::string_view fact(const io::RunInfo& info, std::initializer_list<std::string_view> names) {
  for (const auto name : names) {
    const auto found = info.find(name);
    if (found != info.end() && !found->second.empty()) return found->second;
  }
  return {};
}

/// ISO 8601, as @RG has it; what is no time that we know stays out.
std::string start_of(const io::RunInfo& info) {
  constexpr std::int64_t kYear10000Ms = 253'402'300'800'000;
  const std::int64_t ms = io::start_ms_of(info);
  if (ms <= 0 || ms >= kYear10000Ms) return {};
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(ms / 1000)));
}

void append_field(std::string& line, std::string_view name, std::string_view value) {
  if (!value.empty()) line += fmt::format("\t{}:{}", name, clean(value));
}

}  // namespace

bool SamHeader::add_group_of(const Attributes& attributes) {
  const std::string group = read_group_of(attributes);
  if (group.empty() || !groups_.insert(group).second) return false;
  const io::RunInfo info = io::parse_run_info(attributes.text("run_info").value_or(""));
  const auto model = attributes.text("model").value_or("");
  std::string description = model.empty() ? "" : fmt::format("basecall_model={} ", model);
  description += fmt::format("runid={}", attributes.text("run_id").value_or(""));
  std::string line = "@RG";
  append_field(line, "ID", group);
  append_field(line, "PU", fact(info, {"flow_cell_id"}));
  append_field(line, "PM", fact(info, {"device_id", "sequencer_position", "system_name"}));
  append_field(line, "DT", start_of(info));
  append_field(line, "PL", "ONT");
  append_field(line, "DS", description);
  append_field(line, "LB", fact(info, {"sample_id"}));
  append_field(line, "SM", fact(info, {"sample_id"}));
  group_lines_ += line + '\n';
  return true;
}

std::string SamHeader::text() const { return fmt::format("{}{}{}", kFirstLine, group_lines_, kProgramLine); }

std::string SamHeader::text(std::size_t bytes) const {
  std::string lines = text();
  if (lines.size() == bytes) return lines;
  const std::size_t least = lines.size() + kComment.size() + 1;
  if (least > bytes) {
    throw Error(fmt::format("what is known of {} runs does not fit the {} bytes left for it", groups(), bytes));
  }
  lines += kComment;
  lines.append(bytes - least, '.');
  return lines + '\n';
}

}  // namespace millrace
