#include "stages/event_detector.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>

#include "pipeline/core/error.h"

namespace millrace {
namespace {

/// Positions per pass: their sums and statistics stay in the first-level cache.
constexpr std::size_t kBlock = 512;

/// The sum of a stretch of samples and of their squares, both as differences from `origin`.
struct Sums {
  double origin = 0;
  double sum = 0;
  double squares = 0;
};

/// Differences from the first sample, which lies near the mean, so that what write_event() subtracts is small.
template <typename Sample>
Sums sums_of(std::span<const Sample> samples) {
  Sums result{static_cast<double>(samples.front()), 0, 0};
  for (const Sample sample : samples) {
    const double difference = static_cast<double>(sample) - result.origin;
    result.sum += difference;
    result.squares += difference * difference;
  }
  return result;
}

void write_event(std::uint64_t samples, const Sums& sums, float* event) {
  const auto length = static_cast<double>(samples);
  const double mean = sums.sum / length;
  const double variance = sums.squares / length - mean * mean;
  event[0] = static_cast<float>(length);
  event[1] = static_cast<float>(sums.origin + mean);
  event[2] = static_cast<float>(std::sqrt(variance > 0 ? variance : 0));
}

[[noreturn]] void refuse_sample(std::span<const float> samples, std::size_t first) {
  const auto bad = std::find_if_not(samples.begin(), samples.end(), [](float sample) { return std::isfinite(sample); });
  throw Error("sample " + std::to_string(first + static_cast<std::size_t>(bad - samples.begin())) +
              " of the read is not a finite number");
}

}  // namespace

EventDetector::EventDetector(const EventSettings& settings)
    : settings_(settings),
      short_(settings.threshold_short, settings.peak_height, settings.window_short),
      long_(settings.threshold_long, settings.peak_height, settings.window_long),
      sums_(kBlock + 2 * std::size_t{settings.window_long} + 1),
      squares_(sums_.size()),
      short_statistic_(kBlock),
      long_statistic_(kBlock) {
  boundaries_.reserve(kBlock);  // at most one every two positions, and the end
}

std::uint64_t EventDetector::max_events(std::uint64_t samples) const {
  if (samples == 0) return 0;
  // How near two boundaries can be: short after short, long after short, any after long. The first boundary has a
  // short window of samples before it, the last one as many behind it, which together are at least one such distance.
  const std::uint64_t nearest =
      std::min({std::uint64_t{settings_.window_short} / 2 + 2, std::uint64_t{settings_.window_short} + 1,
                std::uint64_t{settings_.window_long} / 2 + 1});
  return samples / nearest + 1;
}

std::uint64_t EventDetector::detect(std::span<const std::int16_t> signal, std::span<float> events) {
  return detect_in(signal, events);
}

std::uint64_t EventDetector::detect(std::span<const float> signal, std::span<float> events) {
  return detect_in(signal, events);
}

std::uint64_t EventDetector::state_bytes() const {
  return (sums_.capacity() + squares_.capacity()) * sizeof(double) +
         (short_statistic_.capacity() + long_statistic_.capacity()) * sizeof(float) +
         boundaries_.capacity() * sizeof(std::size_t);
}

template <typename Sample>
std::uint64_t EventDetector::detect_in(std::span<const Sample> signal, std::span<float> events) {
  if (signal.empty()) return 0;
  short_.reset();
  long_.reset();
  short_next_ = 0;
  long_next_ = 0;
  std::size_t start = 0;
  float* next = events.data();
  for (std::size_t begin = 0; begin < signal.size(); begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, signal.size());
    const std::size_t first = begin - std::min<std::size_t>(begin, settings_.window_long);
    sum_up(signal, first, std::min<std::size_t>(end + settings_.window_long, signal.size()));
    compute_statistic<Sample>(settings_.window_short, first, begin, end, signal.size(), short_statistic_);
    compute_statistic<Sample>(settings_.window_long, first, begin, end, signal.size(), long_statistic_);
    boundaries_.clear();
    search_block(begin, end);
    if (end == signal.size()) boundaries_.push_back(end);
    next = write_events(signal, first, start, next);
  }
  return static_cast<std::uint64_t>(next - events.data()) / kFieldsPerEvent;
}

/// The events that end at boundaries_, the first of them from `start` on, which becomes the last boundary. Most lie
/// within the sums of the block; those that do not are summed anew.
template <typename Sample>
float* EventDetector::write_events(std::span<const Sample> signal, std::size_t first, std::size_t& start,
                                   float* next) const {
  for (const std::size_t boundary : boundaries_) {
    while (start < boundary) {
      const std::size_t end = std::min<std::size_t>(boundary, start + kMaxEventSamples);
      if (start >= first) {
        const std::size_t from = start - first;
        const std::size_t to = end - first;
        write_event(end - start, {0, sums_[to] - sums_[from], squares_[to] - squares_[from]}, next);
      } else {
        write_event(end - start, sums_of(signal.subspan(start, end - start)), next);
      }
      start = end;
      next += kFieldsPerEvent;
    }
  }
  return next;
}

/// Sums over signal[first, last). The largest sum of i16 squares is below 2^42, so every one is exact.
template <typename Sample>
void EventDetector::sum_up(std::span<const Sample> signal, std::size_t first, std::size_t last) {
  double sum = 0;
  double squares = 0;
  for (std::size_t i = first; i < last; ++i) {
    const double sample = signal[i];
    sum += sample;
    squares += sample * sample;
    sums_[i - first + 1] = sum;
    squares_[i - first + 1] = squares;
  }
  if constexpr (std::is_floating_point_v<Sample>) {
    if (!std::isfinite(squares)) refuse_sample(signal.subspan(first, last - first), first);
  }
}

/// With sums S and squares Q of the two windows, D = S2 - S1 and V = (w Q1 - S1^2) + (w Q2 - S2^2), t is
/// |D| sqrt(w) / sqrt(V). For i16 both are whole numbers below 2^53, so the subtractions lose nothing, and the quotient
/// can be taken in float; floats may be too large or too small for that.
template <typename Sample>
void EventDetector::compute_statistic(std::size_t window, std::size_t first, std::size_t begin, std::size_t end,
                                      std::size_t samples, std::vector<float>& statistic) const {
  using Quotient = std::conditional_t<std::is_integral_v<Sample>, float, double>;
  const std::size_t valid_end = samples < window ? begin : std::clamp(samples - window + 1, begin, end);
  const std::size_t valid_begin = std::clamp(window, begin, valid_end);
  const auto w = static_cast<double>(window);
  const auto root = static_cast<Quotient>(std::sqrt(w));
  const double floor = w * w * FLT_MIN;
  const std::size_t count = valid_end - valid_begin;
  float* const out = statistic.data() + (valid_begin - begin);
  std::fill(statistic.data(), out, 0.0F);
  std::fill(out + count, statistic.data() + (end - begin), 0.0F);
  if (count == 0) return;
  const double* const sums = sums_.data() + (valid_begin - first);
  const double* const squares = squares_.data() + (valid_begin - first);
  // A window before: inside the sums, because valid_begin is at least a window behind the first of them.
  const double* const sums_before = sums - window;
  const double* const squares_before = squares - window;
  for (std::size_t i = 0; i < count; ++i) {
    const double left = sums[i] - sums_before[i];
    const double right = sums[i + window] - sums[i];
    const double variance = w * (squares[i + window] - squares_before[i]) - (left * left + right * right);
    const auto difference = static_cast<Quotient>(std::abs(right - left));
    const auto spread = static_cast<Quotient>(variance > floor ? variance : floor);
    out[i] = static_cast<float>(difference * root / std::sqrt(spread));
  }
}

void EventDetector::search_block(std::size_t begin, std::size_t end) {
  while (true) {
    if (!short_.in_peak()) {
      short_next_ = short_.find_peak(short_statistic_, begin, short_next_, end);
      search_long(begin, short_next_);
      if (!short_.in_peak()) return;
      long_.reset();
    }
    short_next_ = short_.follow_peak(short_statistic_, begin, short_next_, end);
    if (short_.in_peak()) return;
    boundaries_.push_back(short_.peak());
    long_next_ = std::max(short_next_ - 1, short_.peak() + settings_.window_short + 1);
  }
}

void EventDetector::search_long(std::size_t begin, std::size_t end) {
  while (long_next_ < end) {
    if (!long_.in_peak()) long_next_ = long_.find_peak(long_statistic_, begin, long_next_, end);
    if (!long_.in_peak()) return;
    long_next_ = long_.follow_peak(long_statistic_, begin, long_next_, end);
    if (!long_.in_peak()) boundaries_.push_back(long_.peak());
  }
}

}  // namespace millrace
