#include "apps/commands.h"
#include "apps/exit_code.h"
#include "apps/load_report.h"
#include "apps/report_output.h"
#include "apps/terminal.h"
#include "pipeline/core/error.h"
#include "pipeline/report_difference.h"
#include "pipeline/report_html.h"

namespace millrace::apps {
namespace {

/// What the options ask for must fit the number of reports.
void check_options(const ReportArguments& arguments) {
  if (arguments.other.empty()) {
    if (!arguments.json.empty()) throw config_error("--json is about two reports: give the second one too");
    if (arguments.fail_on_slower) throw config_error("--fail-on-slower is about two reports: give the second one too");
  } else {
    if (!arguments.html.empty()) throw config_error("--html is about one report");
    if (arguments.explain) throw config_error("--explain is about one report");
  }
}

int compare_reports(const ReportArguments& arguments) {
  const RunDifference difference = difference_between(load_report(arguments.report), load_report(arguments.other));
  if (!arguments.json.empty()) write_text_file(arguments.json, to_json(difference));
  print(to_text(difference));
  if (!arguments.fail_on_slower) return kDone;
  const SlowerCheck check = check_slower(difference, *arguments.fail_on_slower);
  if (!check.failed) return kDone;
  print_error(check.reason);
  return kRunFailed;
}

}  // namespace

int report_command(const ReportArguments& arguments) {
  check_options(arguments);
  if (!arguments.other.empty()) return compare_reports(arguments);
  const RunReport report = load_report(arguments.report);
  if (arguments.html.empty())
    print(text_of(report, arguments.explain));
  else
    write_text_file(arguments.html, to_html(report));
  return kDone;
}

}  // namespace millrace::apps
