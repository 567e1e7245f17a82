#include "pipeline/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "pipeline/cache_state.h"
#include "pipeline/core/units.h"
#include "pipeline/drift.h"
#include "pipeline/phases.h"
#include "pipeline/report_table.h"
#include "pipeline/throughput.h"
#include "pipeline/verdict.h"
#include "pipeline/verdict_words.h"

namespace millrace {
namespace {

using verdict::percent;

constexpr std::size_t kBlameRows = 5;
constexpr std::size_t kStallRows = 5;
/// Warm-up and drain below this share of the run are not worth a line.
constexpr double kPhaseWorthALine = 0.05;
/// Blame below this share of the run is not worth a row.
constexpr double kBlameWorthARow = 0.01;
/// Runs from here on, and all that drifted, get a table over time.
constexpr std::int64_t kWindowsFromNs = 600'000'000'000;
constexpr std::size_t kWindowRows = 12;
/// A longer name of a link has a line of its own.
constexpr std::size_t kLinkNameColumns = 20;

/// Quotients of what a stored report claims may exceed the integers.
constexpr double kPrintable = 9e18;

class Writer {
 public:
  Writer(const RunReport& report, bool colour) : report_(report), colour_(colour) {}

  std::string write() {
    head();
    failure();
    out_ += stage_table(report_);
    legend();
    out_ += fmt::format("closure error {:.2f} % (the five states of every stage sum to slots x wall within this)\n",
                        report_.closure_error * 100);
    verdict_lines();
    phases();
    drift();
    windows();
    links();
    blame();
    stalls();
    losses();
    findings();
    io();
    outputs();
    costs();
    return std::move(out_);
  }

 private:
  std::string paint(const char* code, const std::string& text) const {
    return colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }

  /// `text` broken at spaces into lines of kReportColumns, the first behind `first`, the others indented.
  void wrapped(const std::string& first, std::size_t indent, const std::string& text, const char* code = "") {
    std::string line = first;
    std::size_t used = first.size();
    bool fresh = true;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      const std::string word = text.substr(at, end - at);
      if (!fresh && used + 1 + word.size() > kReportColumns) {
        out_ += paint_if(code, line) + "\n";
        line = std::string(indent, ' ');
        used = indent;
        fresh = true;
      }
      line += (fresh ? "" : " ") + word;
      used += word.size() + (fresh ? 0 : 1);
      fresh = false;
      at = end + 1;
    }
    out_ += paint_if(code, line) + "\n";
  }
  std::string paint_if(const char* code, const std::string& line) const {
    return *code == 0 ? line : paint(code, line);
  }

  /// "name" in bold when the line begins with it.
  std::string heading(const std::string& text) const { return paint("1", text); }

  void head() {
    std::uint64_t in = 0;
    std::uint64_t taken = 0;
    std::uint64_t written = 0;
    for (const auto& stage : report_.stages) {
      if (stage.role == Role::source) in += stage.bytes_out;
      if (stage.role == Role::sink) taken += stage.bytes_in;
    }
    for (const auto& output : report_.outputs) written += output.bytes;
    const double wall_s = static_cast<double>(report_.wall_ns) / 1e9;
    std::string line = fmt::format("{}   {:.2f} s   {} in", report_.name, wall_s, format_bytes(in));
    if (wall_s > 0)
      line += fmt::format(
          "   {}/s", format_bytes(static_cast<std::uint64_t>(std::min(static_cast<double>(in) / wall_s, kPrintable))));
    line += fmt::format("   {} out", format_bytes(report_.outputs.empty() ? taken : written));
    const std::string right = cache_label(report_);
    if (right.empty()) {
      out_ += heading(line) + "\n";
    } else if (line.size() + 3 + right.size() <= kReportColumns) {
      out_ += heading(line) + std::string(kReportColumns - line.size() - right.size(), ' ') + right + "\n";
    } else {
      out_ += heading(line) + "\n" + right + "\n";
    }
  }

  void failure() {
    if (report_.status == "ok") return;
    const std::string text = report_.status + (report_.error.empty() ? "" : ": " + report_.error);
    wrapped("", 2, text, report_.status == "interrupted" ? "33" : "31");
  }

  void legend() {
    for (const char* line :
         {"% of slot time. busy: in its own code (cpu computing, io waiting for a device, delay waiting for a",
          "core, other asleep). starved: no input. blocked: no room downstream. ready: no worker was free."})
      out_ += paint("2", line) + "\n";
  }

  void verdict_lines() {
    const Verdict& verdict = report_.verdict;
    std::string text = verdict_title(verdict);
    if (!verdict.confidence.empty() && verdict.kind != "none") text += " (" + verdict.confidence + ")";
    text += ".";
    for (const auto& sentence : verdict.evidence) text += " " + sentence;
    wrapped("verdict: ", 2, text, "1");
    if (const std::string line = ceiling_line(verdict); !line.empty()) wrapped("  ", 2, line);
    if (verdict.cannot_help.empty()) return;
    std::string list;
    for (const auto& change : verdict.cannot_help) {
      const auto colon = change.find(": ");
      list += list.empty() ? "" : "; ";
      list += colon == std::string::npos ? change
                                         : fmt::format("{} ({})", change.substr(0, colon), change.substr(colon + 2));
    }
    wrapped("  ", 2, "Cannot help: " + list + ".");
  }

  static std::string ceiling_line(const Verdict& verdict) {
    if (verdict.ceiling <= 0) return "";
    const std::string factor = verdict.ceiling > 100 ? "more than 100x" : fmt::format("{:.2f}x", verdict.ceiling);
    std::string what = "'" + verdict.stage + "' took no time";
    if (verdict.kind == "io-read") what = "reading were free";
    if (verdict.kind == "io-write") what = "writing were free";
    if (verdict.kind == "workers") what = "cores and workers were free";
    if (verdict.kind == "source-paced") what = "the source were faster";
    if (verdict.kind == "link") what = "the links were deep enough";
    if (verdict.kind == "balanced") what = "one of them took no time";
    if (verdict.kind == "latency" && verdict.stage.empty()) what = "handing over were free";
    const std::string then = verdict.second.empty() ? "" : fmt::format(" (then {})", verdict_title(verdict.second));
    return fmt::format("ceiling if {}: {}{}.", what, factor, then);
  }

  void phases() {
    const auto steady =
        std::count_if(report_.phases.begin(), report_.phases.end(), [](const Phase& p) { return p.kind == "steady"; });
    std::string text;
    for (const auto& phase : report_.phases) {
      const std::int64_t length = phase.end_ns - phase.start_ns;
      const bool is_steady = phase.kind == "steady";
      const bool worth = static_cast<double>(length) >= kPhaseWorthALine * static_cast<double>(report_.wall_ns);
      if (is_steady ? steady < 2 : !worth) continue;
      const std::string kind = phase.kind == "warm_up" ? "warm-up" : phase.kind;
      const std::string confidence = phase.verdict.kind == "none" ? "" : " (" + phase.verdict.confidence + ")";
      text += fmt::format("  {:<8} {:>8} to {:>8}  {}{}\n", kind, format_duration_ns(phase.start_ns),
                          format_duration_ns(phase.end_ns), verdict_title(phase.verdict), confidence);
    }
    if (!text.empty()) out_ += heading("phases:") + "\n" + text;
  }

  void drift() {
    for (const auto& one : report_.drift) wrapped("drift: ", 2, drift_text(one), "33");
    if (const std::string growth = memory_growth_text(report_); !growth.empty()) wrapped("drift: ", 2, growth, "33");
  }

  /// What a long run did when, so that a change that no verdict shows can be seen all the same.
  void windows() {
    if (report_.wall_ns < kWindowsFromNs && report_.drift.empty()) return;
    const auto cut = run_windows(report_, kWindowRows);
    if (cut.size() < 2) return;
    out_ += heading("over time:") + "\n";
    const bool counts_bytes = delivered(report_).counts_bytes();
    for (const auto& window : cut) {
      const std::string confidence = window.verdict.kind == "none" ? "" : " (" + window.verdict.confidence + ")";
      const std::string memory = window.resident_bytes > 0 ? format_bytes(window.resident_bytes) : "";
      const std::string when =
          fmt::format("  {:>8} to {:>8} {:>15} {:>9}  ", format_run_time(window.start_ns),
                      format_run_time(window.end_ns), format_rate(window.rate, counts_bytes), memory);
      wrapped(when, when.size() + 2, verdict_title(window.verdict) + confidence);
    }
  }

  void links() {
    if (report_.links.empty()) return;
    out_ += heading("links:") + "\n";
    std::size_t width = 0;
    for (const auto& link : report_.links) width = std::max(width, link_name(link).size());
    width = std::min(width, kLinkNameColumns);
    for (const auto& link : report_.links) {
      const std::string name = link_name(link);
      out_ += name.size() <= width ? fmt::format("  {:<{}}", name, width)
                                   : fmt::format("  {}\n{}", name, std::string(2 + width, ' '));
      out_ += fmt::format(
          " {:>6.1f} of {} chunks ({} at most), full {:>6}, empty {:>6}, wait {}\n", link.mean_chunks,
          link.capacity_chunks, link.max_chunks, share_of_wall(link.time_full_ns), share_of_wall(link.time_empty_ns),
          format_duration_ns(static_cast<std::int64_t>(std::clamp(link.mean_wait_ns, 0.0, kPrintable))));
    }
  }
  static std::string link_name(const LinkReport& link) { return link.from + " -> " + link.to; }
  std::string share_of_wall(std::int64_t ns) const {
    return report_.wall_ns > 0 ? percent(static_cast<double>(ns) / static_cast<double>(report_.wall_ns)) : "-";
  }

  void blame() {
    std::vector<const BlameRow*> rows;
    for (const auto& row : report_.blame)
      if (rows.size() < kBlameRows &&
          static_cast<double>(row.ns) >= kBlameWorthARow * static_cast<double>(report_.wall_ns))
        rows.push_back(&row);
    if (rows.empty()) return;
    out_ += heading("who waited for whom (slot time):") + "\n";
    std::size_t width = 0;
    for (const auto* row : rows) width = std::max(width, row->waiting.size());
    for (const auto* row : rows)
      out_ += fmt::format("  {:<{}} waited {:>8} for {}\n", row->waiting, width, format_duration_ns(row->ns),
                          row->cause == "(workers)" ? "a free worker" : row->cause);
  }

  void stalls() {
    if (report_.stalls.empty()) return;
    out_ += heading("longest waits:") + "\n";
    for (std::size_t i = 0; i < std::min(kStallRows, report_.stalls.size()); ++i) {
      const auto& stall = report_.stalls[i];
      std::string text = fmt::format("{} {} from {}, before its chunk {}", stall.stage, stall.state,
                                     format_duration_ns(stall.at_ns), stall.chunk);
      for (std::size_t k = 0; k < stall.cause.size(); ++k) text += (k == 0 ? ": " : " <- ") + stall.cause[k];
      wrapped(fmt::format("  {:>8}  ", format_duration_ns(stall.ns)), 12, text);
    }
  }

  void losses() {
    const Loss& loss = report_.loss;
    const std::uint64_t lost = loss.dropped_chunks() + loss.failed + loss.in_flight;
    if (lost == 0 && loss.closes()) return;
    std::string text = fmt::format("{} of {} chunks did not arrive:", lost, loss.read);
    for (const auto& drop : loss.dropped)
      if (drop.chunks > 0) text += fmt::format(" {} dropped at {} ({}),", drop.chunks, drop.stage, drop.reason);
    if (loss.failed > 0) text += fmt::format(" {} failed,", loss.failed);
    if (loss.in_flight > 0) text += fmt::format(" {} in flight at the end,", loss.in_flight);
    text.back() = '.';
    if (!loss.closes())
      text += fmt::format(" The account does not close: {} read, {} written.", loss.read, loss.written);
    wrapped("lost: ", 2, text, "31");
  }

  void findings() {
    for (const auto& stage : report_.stages)
      if (stage.child_cpu_ns > 0)
        wrapped(fmt::format("{}: ", stage.name), 2,
                fmt::format("its child processes used {} of CPU time", format_duration_ns(stage.child_cpu_ns)));
    for (const auto& stage : report_.stages)
      for (const auto& line : stage.findings) wrapped(fmt::format("{}: ", stage.name), 2, line);
  }

  void io() {
    for (const auto& stage : report_.stages) {
      if (!stage.io || stage.io->transport_used.empty()) continue;
      const IoStats& io = *stage.io;
      std::string text = io.transport_used;
      if (io.transport_requested != io.transport_used && !io.transport_requested.empty())
        text += fmt::format(" instead of {}", io.transport_requested);
      text += fmt::format(", {} in {} calls", format_bytes(io.bytes), io.calls);
      if (io.calls > 0) text += fmt::format(" of {}", format_bytes(io.bytes / io.calls));
      if (io.retries > 0) text += fmt::format(", {} retries", io.retries);
      if (!io.detail.empty()) text += ", " + io.detail;
      // Advice has its own words for it: what it fetches is in the cache when it is read, and yet from the device.
      if (io.cache_hit_bytes + io.cache_miss_bytes > 0 && io.advice.kind == "none")
        text += fmt::format(", {} from the page cache", format_bytes(io.cache_hit_bytes));
      if (io.dropped_cache_bytes > 0)
        text += fmt::format(", {} dropped from the cache behind it", format_bytes(io.dropped_cache_bytes));
      if (io.fsync_calls > 0)
        text += fmt::format(", {} fsync took {}", io.fsync_calls, format_duration_ns(io.fsync_ns));
      if (io.advice.kind != "none" && !io.advice.kind.empty()) text += advice_text(io.advice);
      if (stage.major_faults > 0) text += fmt::format(", {} major faults", stage.major_faults);
      wrapped(fmt::format("i/o of {}: ", stage.name), 2, text);
    }
  }

  static std::string advice_text(const IoStats::Advice& advice) {
    std::string text = ", advice " + advice.kind;
    if (advice.kind == "willneed" && advice.scope == "file")
      text += " in one call for each file";
    else if (advice.kind == "willneed")
      text += fmt::format(" over a window of {} in steps of {}", format_bytes(advice.window_bytes),
                          format_bytes(advice.step_bytes));
    text += fmt::format(": {} calls, {} errors", advice.calls, advice.errors);
    if (advice.checked_bytes > 0)
      text += fmt::format(", {} of the data cached or under way when it was read", percent(advice.resident_fraction()));
    return text;
  }

  void outputs() {
    for (const auto& output : report_.outputs)
      out_ += fmt::format("output: {} ({})\n", output.path, format_bytes(output.bytes));
  }

  void costs() {
    const MemoryReport& memory = report_.memory;
    out_ += fmt::format("memory: {} planned of {}, {} peak; {:.2f} bytes copied per byte, {} late buffers\n",
                        format_bytes(memory.planned_bytes), format_bytes(memory.budget_bytes),
                        format_bytes(memory.peak_rss_bytes), memory.bytes_copied_per_byte,
                        memory.allocations_after_warm_up);
    const LedgerCost& cost = report_.ledger_cost;
    if (cost.ns_per_call <= 0) return;
    const StageReport* rarest = nullptr;
    for (const auto& stage : report_.stages)
      if (stage.cpu_sampled_every > (rarest == nullptr ? 1 : rarest->cpu_sampled_every)) rarest = &stage;
    wrapped(
        "", 2,
        fmt::format("measuring cost {:.2f} % of busy time ({:.0f} ns per call); CPU clock sampled {}", cost.share * 100,
                    cost.ns_per_call,
                    rarest == nullptr ? std::string("every call")
                                      : fmt::format("1 call in {} in {}", rarest->cpu_sampled_every, rarest->name)));
  }

  const RunReport& report_;
  bool colour_;
  std::string out_;
};

}  // namespace

std::string to_text(const RunReport& report, const TextStyle& style) { return Writer(report, style.colour).write(); }

}  // namespace millrace
