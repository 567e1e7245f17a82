#pragma once

#include <map>
#include <string>
#include <string_view>

namespace millrace::io {

/// What is known of the run that a read comes from, by name: flow cell, kit, software, start time ... as its file has
/// it.
using RunInfo = std::map<std::string, std::string, std::less<>>;

/// As one text, for the attribute "run_info" of a read: one line "NAME<tab>VALUE" per fact, by name. Tabs and line ends
/// inside a name or a value become blanks; facts without a value are left out.
std::string text_of(const RunInfo& info);
/// The reverse. A line without a tab is left out.
RunInfo parse_run_info(std::string_view text);

}  // namespace millrace::io
