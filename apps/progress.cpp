#include "apps/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/terminal.h"
#include "pipeline/core/units.h"

namespace millrace::apps {
namespace {

constexpr std::int64_t kRateWindowNs = 3'000'000'000;
constexpr std::int64_t kPlainEveryNs = 5'000'000'000;

bool counts_bytes(const Progress& progress) { return progress.bytes_total > 0 || progress.bytes_done > 0; }
std::uint64_t done_of(const Progress& progress) {
  return counts_bytes(progress) ? progress.bytes_done : progress.chunks_done;
}
std::uint64_t total_of(const Progress& progress) {
  return counts_bytes(progress) ? progress.bytes_total : progress.chunks_total;
}

std::string amount(const Progress& progress, std::uint64_t value) {
  return counts_bytes(progress) ? format_bytes(value) : fmt::format("{}", value);
}

std::string time_left(double seconds) {
  const auto whole = std::llround(seconds);
  constexpr long long kHour = 3600;
  if (whole >= kHour) return fmt::format("{} h {:02} min left", whole / kHour, whole % kHour / 60);
  if (whole >= 60) return fmt::format("{} min {:02} s left", whole / 60, whole % 60);
  return fmt::format("{} s left", whole);
}

}  // namespace

std::string progress_text(const Progress& progress, double rate) {
  const std::uint64_t total = total_of(progress);
  const std::uint64_t done = total == 0 ? done_of(progress) : std::min(done_of(progress), total);
  std::string text = amount(progress, done);
  if (total > 0) {
    text += fmt::format(" of {} ({:.0f} %)", amount(progress, total),
                        100.0 * static_cast<double>(done) / static_cast<double>(total));
  }
  if (!counts_bytes(progress)) text += " chunks";
  if (rate > 0) {
    text += counts_bytes(progress) ? fmt::format("  {}/s", format_bytes(static_cast<std::uint64_t>(rate)))
                                   : fmt::format("  {:.0f}/s", rate);
    if (total > done && !progress.draining) text += "  " + time_left(static_cast<double>(total - done) / rate);
  }
  if (progress.draining) text += "  draining";
  if (!progress.bottleneck.empty()) text += "  busiest: " + progress.bottleneck;
  return text;
}

ProgressDisplay::ProgressDisplay(ProgressMode mode)
    : rewritten_(mode == ProgressMode::automatic && is_terminal(Stream::error)),
      shown_(mode != ProgressMode::off),
      next_line_ns_(kPlainEveryNs) {}

ProgressDisplay::~ProgressDisplay() {
  if (line_open_) print_error_stream("\r\033[K");
}

double ProgressDisplay::recent_rate(const Progress& progress) {
  const Mark now{progress.elapsed_ns, done_of(progress)};
  if (!marks_.empty() && now.done < marks_.back().done) marks_.clear();
  marks_.push_back(now);
  while (marks_.size() > 2 && now.at_ns - marks_[1].at_ns >= kRateWindowNs) marks_.pop_front();
  const std::int64_t span_ns = now.at_ns - marks_.front().at_ns;
  return span_ns <= 0 ? 0 : static_cast<double>(now.done - marks_.front().done) * 1e9 / static_cast<double>(span_ns);
}

void ProgressDisplay::update(const Progress& progress) {
  if (!shown_) return;
  const std::lock_guard lock(mutex_);
  const double rate = recent_rate(progress);
  if (rewritten_) {
    const std::string line = progress_text(progress, rate).substr(0, terminal_columns() - 1);
    print_error_stream("\r" + line + "\033[K");
    line_open_ = true;
  } else if (progress.elapsed_ns >= next_line_ns_) {
    print_notice(progress_text(progress, rate));
    next_line_ns_ = progress.elapsed_ns + kPlainEveryNs;
  }
}

void ProgressDisplay::notice(const std::string& message) {
  const std::lock_guard lock(mutex_);
  if (line_open_) print_error_stream("\r\033[K");
  line_open_ = false;
  print_notice(message);
}

}  // namespace millrace::apps
