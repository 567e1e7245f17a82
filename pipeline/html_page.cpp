#include "pipeline/html_page.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

namespace millrace::html {
namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";

/// Bytes of the well-formed UTF-8 sequence at the begin of `text` (The Unicode Standard, table 3-7); 0 = there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0;
  };
  const auto is_next = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  if (!is_next(1)) return 0;
  if (first < 0xE0) return 2;
  if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F) || (first == 0xF0 && byte(1) < 0x90) ||
      (first == 0xF4 && byte(1) > 0x8F))
    return 0;
  if (!is_next(2)) return 0;
  if (first < 0xF0) return 3;
  return is_next(3) ? 4 : 0;
}

/// Colours of the states by name; the page's own for dark and light.
constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--back:#fff;--ink:#1c2430;--dim:#5b6675;--line:#d5dbe3;--soft:#f3f5f8;
--cpu:#2f6fde;--io:#e08a1e;--delay:#c2185b;--other:#7e57c2;--starved:#c9d1db;--blocked:#d9534f;--ready:#8d6e63;--done:#eceff3;
--good:#2e7d32;--bad:#c62828}
@media(prefers-color-scheme:dark){:root{--back:#14181e;--ink:#e4e9f0;--dim:#9aa6b5;--line:#333c48;--soft:#1c222a;
--cpu:#5b94f5;--io:#f0a545;--delay:#f06292;--other:#a78bda;--starved:#4a5563;--blocked:#e57373;--ready:#a98a7f;--done:#262d37;
--good:#81c784;--bad:#ef7f7f}}
body{margin:0 auto;max-width:72rem;padding:1.5rem;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:1.8rem 0 .5rem}h3{font-size:.95rem;margin:.8rem 0 .1rem}
.dim,figcaption{color:var(--dim)}.box{border-left:4px solid var(--cpu);background:var(--soft);padding:.6rem 1rem;margin:1rem 0}
.bad{color:var(--bad)}.good{color:var(--good)}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%}
th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:middle}
th{color:var(--dim);font-weight:600}.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
figure{margin:.3rem 0 1rem}svg{display:block;width:100%}svg text{fill:var(--dim);font:11px system-ui,sans-serif}
.bar{height:1rem;min-width:14rem}.chart{height:7rem;background:var(--soft)}
pre{background:var(--soft);padding:.7rem;overflow-x:auto}ul{margin:.3rem 0;padding-left:1.3rem}
.key{display:inline-block;width:.8rem;height:.8rem;margin:0 .3rem 0 1rem;vertical-align:-.1rem;border:1px solid var(--line)}
.cpu{fill:var(--cpu);background:var(--cpu)}.io{fill:var(--io);background:var(--io)}
.delay{fill:var(--delay);background:var(--delay)}.other{fill:var(--other);background:var(--other)}
.starved{fill:var(--starved);background:var(--starved)}.blocked{fill:var(--blocked);background:var(--blocked)}
.ready{fill:var(--ready);background:var(--ready)}.done{fill:var(--done);background:var(--done)}
.axis{stroke:var(--dim);stroke-width:1}.dot{fill:var(--cpu)}.out{fill:none;stroke:var(--bad);stroke-width:1.5}
.band{fill:var(--starved);opacity:.45}.margin{fill:var(--good);opacity:.16}.whisker{stroke:var(--ink);stroke-width:2}
)";

std::string tag_of(const Cell& cell, const char* tag) {
  return fmt::format("<{}{}>{}</{}>", tag, cell.number ? " class=\"n\"" : "", cell.html, tag);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const char first = text.front();
    if (length == 0 || (length == 1 && static_cast<unsigned char>(first) < 0x20 && first != '\n' && first != '\t') ||
        first == '\x7F') {
      out += kReplacement;
      text.remove_prefix(1);
      continue;
    }
    switch (first) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string page(std::string_view title, const std::string& body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      escaped(title), kStyle, body);
}

std::string table(const std::vector<Cell>& titles, const std::vector<std::vector<Cell>>& rows) {
  if (rows.empty()) return "";
  std::string out = "<div class=\"scroll\"><table>\n<tr>";
  for (const auto& title : titles) out += tag_of(title, "th");
  out += "</tr>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (const auto& cell : row) out += tag_of(cell, "td");
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

std::string section(std::string_view title, const std::string& body) {
  return body.empty() ? "" : fmt::format("<h2>{}</h2>\n{}", escaped(title), body);
}

std::string list(const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string out = "<ul>\n";
  for (const auto& line : lines) out += "<li>" + escaped(line) + "</li>\n";
  return out + "</ul>\n";
}

}  // namespace millrace::html
