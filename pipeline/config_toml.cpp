#include <fmt/format.h>
#include <toml++/toml.h>

#include <utility>

#include "pipeline/config_value.h"

namespace millrace {
namespace {

// The parser has a bound for nested values but none for dotted keys, and frees a nest by recursion: without a bound
// of ours a file of dots would end in a stack overflow.
constexpr std::size_t kMaxKeyDots = 16;

SourcePosition position_of(const toml::source_region& region, const std::string& file) {
  return {file, region.begin.line, region.begin.column};
}

/// Walks over TOML text outside strings and comments, and refuses keys of too many parts.
class KeyDepthCheck {
 public:
  KeyDepthCheck(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  void run() {
    std::size_t dots = 0;
    while (at_ < text_.size()) {
      const char character = text_[at_];
      if (character == '#') {
        skip_to('\n');
      } else if (character == '"' || character == '\'') {
        skip_string(character);
      } else {
        if (character == '.') ++dots;
        if (std::string_view("=[]{},\n").find(character) != std::string_view::npos) dots = 0;
        if (dots > kMaxKeyDots) throw too_deep();
        ++at_;
      }
    }
  }

 private:
  void skip_to(char end) {
    while (at_ < text_.size() && text_[at_] != end) ++at_;
  }

  void skip_string(char quote) {
    const std::string triple(3, quote);
    const bool multi_line = text_.substr(at_, 3) == triple;
    at_ += multi_line ? 3 : 1;
    while (at_ < text_.size()) {
      if (quote == '"' && text_[at_] == '\\') {
        at_ += 2;
      } else if (multi_line ? text_.substr(at_, 3) == triple : text_[at_] == quote) {
        at_ += multi_line ? 3 : 1;
        return;
      } else if (!multi_line && text_[at_] == '\n') {
        return;  // not closed: the parser says so
      } else {
        ++at_;
      }
    }
  }

  Error too_deep() const {
    std::uint32_t line = 1;
    std::uint32_t column = 1;
    for (const char character : text_.substr(0, at_)) {
      column = character == '\n' ? 1 : column + 1;
      if (character == '\n') ++line;
    }
    return config_error(fmt::format("a key has more than {} parts", kMaxKeyDots), {file_, line, column});
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
};

/// The parser's words without what only its authors understand.
std::string message_of(const toml::parse_error& failure) {
  std::string text(failure.description());
  constexpr std::string_view kPrefix = "Error while parsing ";
  if (text.starts_with(kPrefix)) text.replace(0, kPrefix.size(), "in a ");
  constexpr std::string_view kMacro = " (TOML_MAX_NESTED_VALUES)";
  if (text.ends_with(kMacro)) text.resize(text.size() - kMacro.size());
  return text;
}

ConfigValue convert(const toml::node& node, SourcePosition position, const std::string& file);

ConfigValue::Table convert_table(const toml::table& table, const std::string& file) {
  ConfigValue::Table result;
  result.reserve(table.size());
  for (const auto& [key, node] : table) {
    // A table written as a header has its place at the header, the rest at the key.
    const bool header = node.is_table() && !node.as_table()->is_inline() && node.source().begin.line != 0;
    const auto& region = header ? node.source() : key.source();
    result.push_back({std::string(key.str()), convert(node, position_of(region, file), file)});
  }
  return result;
}

ConfigValue convert(const toml::node& node, SourcePosition position, const std::string& file) {
  switch (node.type()) {
    case toml::node_type::boolean:
      return {node.as_boolean()->get(), std::move(position)};
    case toml::node_type::integer:
      return {node.as_integer()->get(), std::move(position)};
    case toml::node_type::floating_point:
      return {node.as_floating_point()->get(), std::move(position)};
    case toml::node_type::string:
      return {node.as_string()->get(), std::move(position)};
    case toml::node_type::table:
      return {convert_table(*node.as_table(), file), std::move(position)};
    case toml::node_type::array: {
      ConfigValue::List list;
      for (const auto& item : *node.as_array()) list.push_back(convert(item, position_of(item.source(), file), file));
      return {std::move(list), std::move(position)};
    }
    default:
      throw config_error("dates and times are not used here; put text in quotes", std::move(position));
  }
}

}  // namespace

ConfigValue::Table parse_toml(std::string_view text, const std::string& file) {
  if (text.find('\0') != std::string_view::npos) throw config_error("this is no text file", {file, 1, 1});
  KeyDepthCheck(text, file).run();
  try {
    return convert_table(toml::parse(text, file), file);
  } catch (const toml::parse_error& failure) {
    throw config_error(message_of(failure), position_of(failure.source(), file));
  }
}

}  // namespace millrace
