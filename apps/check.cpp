#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "apps/commands.h"
#include "apps/exit_code.h"
#include "apps/experiment_check.h"
#include "apps/terminal.h"
#include "pipeline/config.h"
#include "pipeline/experiment/experiment_spec.h"
#include "pipeline/plan.h"

namespace millrace::apps {
namespace {

std::string counted(std::uint64_t count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string link_text(const Plan& plan, const LinkPlan& link) {
  std::string text = fmt::format("  in    {} from {}, link of {} or {}", link.type.text(), plan.stages[link.from].name,
                                 counted(link.capacity_chunks, "chunk"), format_bytes(link.capacity_bytes));
  if (link.when_full != WhenFull::block) text += fmt::format(", {} when full", name_of(link.when_full));
  return text + "\n";
}

std::string outputs_text(const Plan& plan, const StagePlan& stage) {
  if (stage.outputs.empty()) return "";
  std::string text = fmt::format("  out   {} to", plan.links[stage.outputs.front()].type.text());
  for (const std::size_t link : stage.outputs) text += " " + plan.stages[plan.links[link].to].name;
  return text + "\n";
}

std::string stage_text(const Plan& plan, const StagePlan& stage) {
  std::string text = fmt::format("{} ({}, {}{})\n", stage.name, stage.type, name_of(stage.role),
                                 stage.slots() == 1 ? "" : ", " + counted(stage.slots(), "slot"));
  for (const std::size_t link : stage.inputs) text += link_text(plan, plan.links[link]);
  text += outputs_text(plan, stage);
  const Stage& first = *stage.instances.front();
  if (const auto io = first.io_stats(); io && !io->transport_used.empty()) {
    text += fmt::format("  via   {}", io->transport_used);
    text += io->transport_requested == io->transport_used ? "\n"
                                                          : fmt::format(" ({} asked for)\n", io->transport_requested);
  }
  for (const auto& note : first.plan_notes()) text += "  note  " + note + "\n";
  return text;
}

std::string memory_text(const MemoryPlan& memory) {
  std::size_t what = 3;
  std::size_t arithmetic = 0;
  for (const auto& line : memory.lines) {
    what = std::max(what, line.what.size());
    arithmetic = std::max(arithmetic, line.arithmetic.size());
  }
  std::string text = "memory\n";
  for (const auto& line : memory.lines) {
    text += fmt::format("  {:<{}}  {:<{}}  {:>10}\n", line.what, what, line.arithmetic, arithmetic,
                        format_bytes(line.bytes));
  }
  const std::string budget = fmt::format("of {} allowed", format_bytes(memory.budget_bytes));
  text += fmt::format("  {:<{}}  {:<{}}  {:>10}\n", "sum", what, budget, arithmetic, format_bytes(memory.total_bytes));
  return text;
}

/// Prepares every arm of the config's experiment as well; what stands in the way of one is thrown. Empty without one.
std::string experiment_text(const CheckArguments& arguments, const Registry& registry) {
  // A pipe cannot be read again, and compare does not take one.
  if (!std::filesystem::is_regular_file(arguments.config)) return "";
  const auto table = load_experiment(arguments.config);
  if (!table) return "";
  const ExperimentSpec experiment = make_experiment({}, table);
  check_experiment(arguments.config, arguments.overrides, experiment, registry);
  std::string text =
      fmt::format("\nexperiment (millrace compare): {} {}, seed {}\n", counted(experiment.design.blocks, "repeat"),
                  experiment.design.detect ? "at most" : "of every arm", experiment.seed);
  for (const auto& arm : experiment.arms) {
    text +=
        fmt::format("  arm   {}{}{}\n", arm.label, arm.overrides.empty() ? "" : ": ", fmt::join(arm.overrides, " "));
  }
  return text;
}

/// The plan is gone afterwards: the arms of an experiment write the same outputs.
void check_pipeline(const CheckArguments& arguments, const Registry& registry) {
  const PipelineSpec spec = load_config(arguments.config, arguments.overrides);
  const Plan plan = prepare_without_budget(spec, registry);
  std::string text = fmt::format("{}: {}, {}, {}\n\n", plan.name, counted(plan.stages.size(), "stage"),
                                 counted(plan.links.size(), "link"), counted(plan.threads, "compute thread"));
  for (const auto& stage : plan.stages) text += stage_text(plan, stage) + "\n";
  print(text + memory_text(plan.memory));
  require_within_budget(plan, spec);
}

}  // namespace

int check_command(const CheckArguments& arguments) {
  try {
    const Registry registry = make_registry(arguments.plugins);
    check_pipeline(arguments, registry);
    print(experiment_text(arguments, registry));
    return kDone;
  } catch (Error& error) {
    // Whatever stands in the way of a run is what this command is asked for.
    error.of_kind(ErrorKind::config);
    throw;
  }
}

}  // namespace millrace::apps
