#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "apps/commands.h"
#include "apps/exit_code.h"
#include "apps/terminal.h"

namespace millrace::apps {
namespace {

std::string default_text(const OptionDescription& option) { return option.required ? "required" : option.fallback; }

std::string list_text(const Registry& registry) {
  std::size_t width = 0;
  for (const auto& [type, entry] : registry.entries()) width = std::max(width, type.size());
  std::string text;
  for (const Role role : {Role::source, Role::transform, Role::sink}) {
    text += fmt::format("{}{}s\n", text.empty() ? "" : "\n", name_of(role));
    for (const auto& [type, entry] : registry.entries()) {
      if (entry.role != role) continue;
      std::string line = fmt::format("  {:<{}}  {}", type, width, entry.summary);
      if (entry.from != "millrace") line += fmt::format("{}[{}]", entry.summary.empty() ? "" : "  ", entry.from);
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
  }
  return text + "\n`millrace stages NAME` shows the options of one.\n";
}

std::string options_text(const std::vector<OptionDescription>& options) {
  std::size_t key = 6;
  std::size_t type = 4;
  std::size_t fallback = 7;
  for (const auto& option : options) {
    key = std::max(key, option.key.size());
    type = std::max(type, option.type.size());
    fallback = std::max(fallback, default_text(option).size());
  }
  std::string text =
      fmt::format("  {:<{}}  {:<{}}  {:<{}}  {}\n", "option", key, "type", type, "default", fallback, "meaning");
  for (const auto& option : options) {
    std::string line = fmt::format("  {:<{}}  {:<{}}  {:<{}}  {}", option.key, key, option.type, type,
                                   default_text(option), fallback, option.help);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string detail_text(const Registry& registry, const std::string& type) {
  const auto& entry = registry.at(type);
  const auto options = registry.describe(type);
  std::string text = fmt::format("{} ({}, from {})\n", type, name_of(entry.role), entry.from);
  if (!entry.summary.empty()) text += fmt::format("  {}\n", entry.summary);
  return text + "\n" + (options.empty() ? "  no options of its own\n" : options_text(options)) +
         "\nSizes and durations are texts with a unit: \"4 MiB\", \"250 ms\".\n";
}

/// A cell must not end early, nor a table in the middle of it.
std::string cell(const std::string& text) {
  std::string result;
  for (const char character : text) {
    if (character == '|') result += '\\';
    result += character == '\n' ? ' ' : character;
  }
  return result;
}

std::string code(const std::string& text) { return text.empty() ? "" : "`" + text + "`"; }

std::string markdown_text(const Registry& registry, const std::string& only) {
  std::string text =
      "| stage | role | what it does | option | type | default | meaning |\n|---|---|---|---|---|---|---|\n";
  for (const auto& [type, entry] : registry.entries()) {
    if (!only.empty() && type != only) continue;
    std::string head = fmt::format("| `{}` | {} | {} |", type, name_of(entry.role), cell(entry.summary));
    const auto options = registry.describe(type);
    if (options.empty()) text += head + " | | | |\n";
    for (const auto& option : options) {
      const std::string fallback = option.required ? "required" : code(option.fallback);
      text += fmt::format("{} {} | {} | {} | {} |\n", head, code(option.key), option.type, cell(fallback),
                          cell(option.help));
      head = "| | | |";
    }
  }
  return text;
}

}  // namespace

int stages_command(const StagesArguments& arguments) {
  const Registry registry = make_registry(arguments.plugins);
  if (!arguments.name.empty()) registry.at(arguments.name);
  if (arguments.markdown) {
    print(markdown_text(registry, arguments.name));
  } else {
    print(arguments.name.empty() ? list_text(registry) : detail_text(registry, arguments.name));
  }
  return kDone;
}

}  // namespace millrace::apps
