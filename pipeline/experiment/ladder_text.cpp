#include "pipeline/experiment/ladder_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "pipeline/core/units.h"
#include "pipeline/verdict.h"

namespace millrace {
namespace {

constexpr std::size_t kColumns = 100;

std::string rate_cell(double rate, const std::string& unit) {
  if (rate <= 0) return "-";
  if (unit == "B") return format_bytes(static_cast<std::uint64_t>(rate)) + "/s";
  return fmt::format("{:.4g} {}/s", rate, unit);
}

std::string ratio_cell(const Rung& rung) { return rung.ratio <= 0 ? "-" : fmt::format("{:.2f}x", rung.ratio); }

std::string interval_cell(const Rung& rung) {
  return rung.low ? fmt::format("{:.2f} - {:.2f}", *rung.low, *rung.high) : "-";
}

bool helps(const Rung& rung) { return rung.ratio >= ladder::kHelps && (!rung.low || *rung.low > 1); }

/// What one row says by itself.
std::string meaning(const Rung& rung) {
  if (rung.kind == RungKind::full) return "as configured";
  if (rung.ratio <= 0) return "could not be counted";
  if (rung.ratio >= ladder::kHelps && !helps(rung)) return "undecided: interval holds 1";
  if (rung.ratio < ladder::kSlower && rung.high && *rung.high < 1) return "slower than as configured";
  const bool help = helps(rung);
  switch (rung.kind) {
    case RungKind::replayed:
      return help ? "cores are missing" : "cores are not missing";
    case RungKind::deeper_links:
      return help ? "stages wait for each other" : "deeper links do not help";
    default:
      return help ? "helps" : "does not help";
  }
}

void append_row(std::string& text, std::size_t width, const Rung& rung, const std::string& unit) {
  std::string label = rung.label;
  if (label.size() > width) {
    text += label + "\n";
    label.clear();
  }
  const bool full = rung.kind == RungKind::full;
  text += fmt::format("{:<{}}  {:>12}  {:>8}  {:>15}  {}\n", label, width, rate_cell(rung.rate, unit),
                      full ? "1" : ratio_cell(rung), full ? "" : interval_cell(rung), meaning(rung));
}

/// A label too long for its column has a line of its own above its figures.
void append_table(std::string& text, const Ladder& ladder) {
  constexpr std::size_t kWidest = 30;
  std::size_t width = 4;
  for (const Rung& rung : ladder.rungs) width = std::max(width, rung.label.size());
  width = std::min(width, kWidest);
  text += fmt::format("{:<{}}  {:>12}  {:>8}  {:>15}\n", "rung", width, "rate", "ratio", "95 % interval");
  for (const Rung& rung : ladder.rungs) append_row(text, width, rung, ladder.unit);
}

/// `sentence` broken into lines of kColumns, all but the first with `indent` in front.
void append_wrapped(std::string& text, const std::string& sentence, std::size_t indent) {
  std::size_t column = 0;
  std::size_t at = 0;
  while (at < sentence.size()) {
    const std::size_t end = std::min(sentence.find(' ', at), sentence.size());
    const std::string word = sentence.substr(at, end - at);
    if (column != 0 && column + 1 + word.size() > kColumns) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column != 0) {
      text += " ";
      ++column;
    }
    text += word;
    column += word.size();
    at = end + 1;
  }
  text += "\n";
}

std::string limit_in_words(const LadderFinding& finding) {
  switch (finding.limit) {
    case Limit::reading:
      return "reading limits";
    case Limit::compute:
      return finding.stage.empty() ? "compute limits" : fmt::format("compute in '{}' limits", finding.stage);
    case Limit::cores:
      return "the cores limit";
    case Limit::writing:
      return "writing limits";
    case Limit::links:
      return "the links limit";
    case Limit::several:
      return "several limit together";
    case Limit::shared:
      return "several limit, each alone";
    case Limit::nothing:
      return "no resource limits";
    case Limit::undecided:
      break;
  }
  return "undecided";
}

/// The ratio of every single resource: what the run would gain if that cost nothing.
std::string ceilings(const Ladder& ladder) {
  std::string text;
  for (const Rung& rung : ladder.rungs) {
    const bool single = rung.kind == RungKind::reading_free || rung.kind == RungKind::compute_free ||
                        rung.kind == RungKind::stage_free || rung.kind == RungKind::writing_free;
    if (single && rung.ratio > 0) text += fmt::format("{}{} {:.2f}x", text.empty() ? "" : ", ", rung.label, rung.ratio);
  }
  return text;
}

/// The rung that measures what the verdict's ceiling predicts.
const Rung* predicted_rung(const Ladder& ladder) {
  if (ladder.agreement.kind != Agreement::Kind::agree) return nullptr;
  const auto find = [&ladder](RungKind kind, const std::string& stage) -> const Rung* {
    const auto found = std::find_if(ladder.rungs.begin(), ladder.rungs.end(), [&](const Rung& rung) {
      return rung.kind == kind && rung.stage == stage && rung.ratio > 0;
    });
    return found == ladder.rungs.end() ? nullptr : &*found;
  };
  switch (ladder.finding.limit) {
    case Limit::reading:
      return find(RungKind::reading_free, "");
    case Limit::writing:
      return find(RungKind::writing_free, "");
    case Limit::compute: {
      const Rung* const stage = find(RungKind::stage_free, ladder.finding.stage);
      return stage == nullptr ? find(RungKind::compute_free, "") : stage;
    }
    default:
      return nullptr;
  }
}

std::string verdict_in_words(const Ladder& ladder) {
  std::string text = fmt::format("{} ({}), in {} of {} runs", verdict_title(ladder.verdict), ladder.verdict.confidence,
                                 ladder.verdict_runs, ladder.full_runs);
  const Rung* const measured = predicted_rung(ladder);
  if (measured != nullptr && ladder.verdict.ceiling > 0) {
    text += fmt::format("; it put the ceiling at {:.2f}x, measured {:.2f}x", ladder.verdict.ceiling, measured->ratio);
  }
  return text;
}

const char* name_of(Agreement::Kind kind) {
  switch (kind) {
    case Agreement::Kind::agree:
      return "agree";
    case Agreement::Kind::disagree:
      return "disagree";
    case Agreement::Kind::not_comparable:
      break;
  }
  return "not_comparable";
}

const char* agreement_in_words(Agreement::Kind kind) {
  switch (kind) {
    case Agreement::Kind::agree:
      return "they agree";
    case Agreement::Kind::disagree:
      return "THEY DISAGREE";
    case Agreement::Kind::not_comparable:
      break;
  }
  return "they cannot be compared";
}

nlohmann::json to_object(const Rung& rung) {
  nlohmann::json object{{"kind", name_of(rung.kind)},
                        {"label", rung.label},
                        {"stage", rung.stage},
                        {"rates", nlohmann::json::array()},
                        {"rate", rung.rate}};
  for (const auto& rate : rung.rates) object["rates"].push_back(rate ? nlohmann::json(*rate) : nlohmann::json());
  object["ratio"] = rung.ratio > 0 ? nlohmann::json(rung.ratio) : nlohmann::json();
  object["ci95"] = rung.low ? nlohmann::json{*rung.low, *rung.high} : nlohmann::json();
  return object;
}

}  // namespace

std::string to_text(const Ladder& ladder) {
  std::string text = fmt::format("{}: {} {} of each rung, at most {} each", ladder.name, ladder.repeats,
                                 ladder.repeats == 1 ? "run" : "runs", format_duration_ns(ladder.limit_ns));
  text += (ladder.cache.empty() ? "" : "; " + ladder.cache) + "\n";
  append_table(text, ladder);
  if (ladder.interrupted) append_wrapped(text, "interrupted: this is what was measured until then", 2);
  std::string by_experiment = fmt::format("by experiment: {}.", limit_in_words(ladder.finding));
  for (const std::string& reason : ladder.finding.reasons) by_experiment += " " + reason;
  append_wrapped(text, by_experiment, 2);
  const std::string gains = ceilings(ladder);
  if (!gains.empty()) append_wrapped(text, "ceilings: " + gains + ".", 2);
  append_wrapped(text, "verdict of the report: " + verdict_in_words(ladder) + ".", 2);
  append_wrapped(text, fmt::format("{}: {}.", agreement_in_words(ladder.agreement.kind), ladder.agreement.why), 2);
  for (const std::string& remark : ladder.remarks) append_wrapped(text, "note: " + remark + ".", 2);
  return text;
}

std::string to_json(const Ladder& ladder) {
  nlohmann::json object{{"schema", "millrace.explain/1"},
                        {"name", ladder.name},
                        {"unit", ladder.unit},
                        {"repeats", ladder.repeats},
                        {"limit_s", static_cast<double>(ladder.limit_ns) / 1e9},
                        {"cache", ladder.cache},
                        {"interrupted", ladder.interrupted},
                        {"rungs", nlohmann::json::array()},
                        {"verdict_runs", ladder.verdict_runs},
                        {"full_runs", ladder.full_runs},
                        {"remarks", ladder.remarks}};
  for (const Rung& rung : ladder.rungs) object["rungs"].push_back(to_object(rung));
  object["finding"] = {{"limit", name_of(ladder.finding.limit)},
                       {"stage", ladder.finding.stage},
                       {"ceiling", ladder.finding.ceiling},
                       {"reasons", ladder.finding.reasons}};
  object["verdict"] = {{"kind", ladder.verdict.kind},
                       {"stage", ladder.verdict.stage},
                       {"confidence", ladder.verdict.confidence},
                       {"ceiling", ladder.verdict.ceiling}};
  object["agreement"] = {{"kind", name_of(ladder.agreement.kind)}, {"why", ladder.agreement.why}};
  return object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace millrace
