#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/inspection.h"

namespace millrace::apps {

struct InspectArguments {
  std::vector<std::filesystem::path> files;  ///< files, directories, patterns
  bool evict = false;                        ///< let the page cache forget them
  bool json = false;                         ///< schema millrace.inspect/1 instead of text
};

/// For people; 100 columns, but for long names.
std::string text_of(const Inspection& file);
/// Schema millrace.inspect/1.
std::string json_of(const std::vector<Inspection>& inspections);

/// As the functions of commands.h.
int inspect_command(const InspectArguments& arguments);

}  // namespace millrace::apps
