#include "apps/commands.h"
#include "apps/exit_code.h"
#include "apps/load_report.h"
#include "apps/report_output.h"
#include "apps/terminal.h"

namespace millrace::apps {
int report_command(const ReportArguments& arguments) {
  const RunReport report = load_report(arguments.report);
  print(arguments.other.empty() ? text_of(report, arguments.explain)
                                : difference_text(report, load_report(arguments.other)));
  return kDone;
}

}  // namespace millrace::apps
