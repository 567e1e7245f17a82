#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace::html {

/// `text` for the inside of an element or of a quoted attribute: the five special characters by name, control
/// characters and bytes that are no UTF-8 as U+FFFD.
std::string escaped(std::string_view text);

/// A page with this title (escaped here) and body (HTML already), the style inside, nothing fetched from anywhere.
std::string page(std::string_view title, const std::string& body);

/// One cell of a table; `html` is HTML already.
struct Cell {
  std::string html;
  bool number = false;  ///< right-aligned
};

/// A table with its header line; titles and cells are HTML already. Empty without rows.
std::string table(const std::vector<Cell>& titles, const std::vector<std::vector<Cell>>& rows);

/// <h2> and what belongs to it; empty when there is nothing.
std::string section(std::string_view title, const std::string& body);

/// <ul> of lines (escaped here); empty without lines.
std::string list(const std::vector<std::string>& lines);

}  // namespace millrace::html
