#include "apps/report_output.h"

#include <fmt/format.h>

#include "apps/terminal.h"
#include "io/output_file.h"
#include "pipeline/core/error.h"
#include "pipeline/report_text.h"

namespace millrace::apps {

std::string text_of(const RunReport& report, bool explain) {
  std::string text = to_text(report, {.colour = is_terminal(Stream::output)});
  if (explain) text += fmt::format("rule: {}\n", report.verdict.rule.empty() ? "none applied" : report.verdict.rule);
  return text;
}

void write_text_file(const std::filesystem::path& path, const std::string& text) {
  try {
    io::OutputFile file(path, io::WriteVia{});
    file.append(text);
    file.publish();
  } catch (Error& error) {
    error.of_kind(ErrorKind::config);
    throw;
  }
}

}  // namespace millrace::apps
