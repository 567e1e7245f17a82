#include "apps/explain.h"

#include <fmt/format.h>

#include <utility>

#include "apps/commands.h"
#include "apps/exit_code.h"
#include "apps/link_pool.h"
#include "apps/report_output.h"
#include "apps/signals.h"
#include "apps/terminal.h"
#include "pipeline/complete_report.h"
#include "pipeline/config.h"
#include "pipeline/plan.h"
#include "pipeline/run.h"

namespace millrace::apps {

int explain_command(const ExplainArguments& arguments) {
  const Registry registry = make_registry(arguments.plugins);
  const PipelineSpec spec = load_config(arguments.config, arguments.overrides);
  RunControl control;
  const SignalsToRun signals(control);
  RunSettings settings;
  settings.make_pool = make_link_pool;
  settings.control = &control;
  RunOutcome outcome = run(prepare(spec, registry), settings);
  complete_report(outcome.report);
  print(text_of(outcome.report, true));
  return outcome.report.status == "ok" ? kDone : kRunFailed;
}

}  // namespace millrace::apps
