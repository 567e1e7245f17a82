#include <fmt/format.h>

#include "apps/commands.h"
#include "apps/exit_code.h"
#include "apps/generate_raw.h"
#include "apps/terminal.h"
#include "pipeline/core/units.h"

namespace millrace::apps {

int generate_nanopore_command(const GenerateNanopore& options) {
  const GenerateSummary summary = generate_nanopore(options);
  print(fmt::format(
      "{}: {}{} reads, {} samples, {} bases, {}\n"
      "{}: the true bases\n"
      "pore model: {}\n",
      summary.path.string(), options.reads_per_file == 0 ? "" : fmt::format("{} files, ", summary.files), summary.reads,
      summary.samples, summary.bases, format_bytes(summary.file_bytes), summary.truth.string(), summary.pore_model));
  return kDone;
}

int generate_raw_command(const GenerateRawArguments& arguments) {
  generate_raw(arguments.path, arguments.bytes, arguments.seed);
  print(fmt::format("{}: {}\n", arguments.path.string(), format_bytes(arguments.bytes)));
  return kDone;
}

}  // namespace millrace::apps
