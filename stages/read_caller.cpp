#include "stages/read_caller.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace millrace {
namespace {

constexpr std::array<std::uint64_t, 3> kFitEvents{500, 750, 1000};
constexpr double kSteadyVariance = 0.3;
constexpr double kSampledVariance = 5;
constexpr double kMinNoise = 0.05;
constexpr double kMaxNoise = 2;
/// Events farther than this from their k-mer, in its deviations, are no evidence for a scale.
constexpr double kMaxDistance = 4;
/// A deviation that a table may have for want of data would draw every event.
constexpr float kMinStdvPa = 0.5F;

/// Samples per window in the search for a stalled strand, and how much quieter than usual it must be.
constexpr std::size_t kStallWindow = 100;
constexpr double kStallShare = 0.33;

/// The median (the upper of two), which leaves `values` in another order.
float median_of(std::span<float> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The median of the distances from `centre`, which take the place of the values.
float mad_of(std::span<float> values, float centre) {
  for (float& value : values) value = std::abs(value - centre);
  return median_of(values);
}

float median_of_copy(std::vector<float> values) { return median_of(values); }
float mad_of_copy(std::vector<float> values, float centre) { return mad_of(values, centre); }

double variance_factor(float length) { return kSteadyVariance + kSampledVariance / static_cast<double>(length); }

/// Bases by which the second k-mer is farther along the strand than the first: the fewest that fit, up to k.
unsigned distance_of(std::uint16_t from, std::uint16_t to, unsigned k) {
  const unsigned mask = (1U << (2 * k)) - 1;
  for (unsigned moved = 0; moved < k; ++moved) {
    if (unsigned{to} >> (2 * moved) == (from & (mask >> (2 * moved)))) return moved;
  }
  return k;
}

std::vector<float> means_of(const PoreModel& model) {
  std::vector<float> means;
  means.reserve(model.levels.size());
  for (const auto& level : model.levels) means.push_back(static_cast<float>(level.mean_pa));
  return means;
}

std::vector<float> stdvs_of(const PoreModel& model) {
  std::vector<float> stdvs;
  stdvs.reserve(model.levels.size());
  for (const auto& level : model.levels) stdvs.push_back(std::max(static_cast<float>(level.stdv_pa), kMinStdvPa));
  return stdvs;
}

double phred_of(double error) { return -10 * std::log10(error); }

/// The quality of a base whose surest k-mer has this posterior.
double quality_of(double posterior) {
  constexpr double kLeastError = 1e-5;
  const double quality = 3.5 + 0.75 * phred_of(std::max(1 - posterior, kLeastError));
  return std::min(quality, static_cast<double>(ReadCaller::kMaxCalledQuality));
}

}  // namespace

ReadCaller::ReadCaller(const PoreModel& model, const Settings& settings, std::uint64_t max_samples)
    : settings_(settings),
      k_(model.k),
      means_(means_of(model)),
      stdvs_(stdvs_of(model)),
      model_median_(median_of_copy(means_)),
      model_mad_(mad_of_copy(means_, model_median_)),
      detector_(settings.events),
      hmm_(model.k, means_, stdvs_, settings.code),
      found_(detector_.max_events(max_samples) * EventDetector::kFieldsPerEvent),
      events_(detector_.max_events(max_samples)),
      kmers_(events_.size()),
      posteriors_(events_.size()) {}

std::uint64_t ReadCaller::max_bases(std::uint64_t samples) const {
  // A path moves by two bases at most, but where two of its parts are joined by up to k.
  const std::uint64_t events = detector_.max_events(samples);
  return 2 * events + k_ * (events / KmerHmm::kBlock + 1);
}

std::uint64_t ReadCaller::state_bytes() const {
  return hmm_.state_bytes() + detector_.state_bytes() +
         (means_.capacity() + stdvs_.capacity() + found_.capacity() + posteriors_.capacity()) * sizeof(float) +
         events_.capacity() * sizeof(KmerHmm::Event) + kmers_.capacity() * sizeof(std::uint16_t);
}

ReadCaller::Call ReadCaller::call(std::span<const std::int16_t> samples, std::span<std::uint8_t> bases,
                                  std::span<std::uint8_t> qualities) {
  Call call;
  call.trimmed_samples = std::min<std::uint64_t>(settings_.trim_start, samples.size());
  if (settings_.trim_stall) call.trimmed_samples += stalled_samples(samples.subspan(call.trimmed_samples));
  call.events = detector_.detect(samples.subspan(call.trimmed_samples), found_);
  if (call.events < kMinEvents) return call;
  if (settings_.reversed) turn_round(call.events);
  Scaling scaling = first_scaling(call.events);
  if (scaling.scale == 0) return call;
  for (const std::uint64_t most : kFitEvents) {
    const std::uint64_t events = std::min(call.events, most);
    find_kmers(scaling, events);
    scaling = fitted(scaling, events);
  }
  find_kmers(scaling, call.events);
  call.scaling = scaling;
  std::size_t stretches = 0;
  call.bases = write_bases(call.events, bases, stretches);
  call.mean_quality = write_qualities(stretches, qualities);
  return call;
}

/// While the strand does not move, the current is much quieter than later: samples in windows at the start, up to half
/// of the read, whose deviation is small against that of the median window.
std::uint64_t ReadCaller::stalled_samples(std::span<const std::int16_t> samples) {
  const std::size_t windows = samples.size() / kStallWindow;
  if (windows < 2) return 0;
  const auto deviation = [samples](std::size_t window) {
    const auto part = samples.subspan(window * kStallWindow, kStallWindow);
    std::int64_t sum = 0;
    std::int64_t squares = 0;
    for (const std::int16_t sample : part) {
      sum += sample;
      squares += std::int64_t{sample} * sample;
    }
    constexpr auto kCount = static_cast<double>(kStallWindow);
    const double mean = static_cast<double>(sum) / kCount;
    return static_cast<float>(std::sqrt(std::max(static_cast<double>(squares) / kCount - mean * mean, 0.0)));
  };
  for (std::size_t window = 0; window < windows; ++window) posteriors_[window] = deviation(window);
  const double quiet = kStallShare * static_cast<double>(median_of({posteriors_.data(), windows}));
  std::size_t stalled = 0;
  while (stalled < windows / 2 && static_cast<double>(deviation(stalled)) < quiet) ++stalled;
  return stalled * kStallWindow;
}

void ReadCaller::turn_round(std::size_t events) {
  constexpr std::size_t kFields = EventDetector::kFieldsPerEvent;
  for (std::size_t i = 0; i < events / 2; ++i) {
    float* const one = found_.data() + i * kFields;
    std::swap_ranges(one, one + kFields, found_.data() + (events - 1 - i) * kFields);
  }
}

ReadCaller::Scaling ReadCaller::first_scaling(std::size_t events) {
  const std::span<float> means(posteriors_.data(), events);
  for (std::size_t i = 0; i < events; ++i) means[i] = found_[i * EventDetector::kFieldsPerEvent + 1];
  const float median = median_of(means);
  const double scale = static_cast<double>(mad_of(means, median)) / static_cast<double>(model_mad_);
  return {static_cast<double>(median) - scale * static_cast<double>(model_median_), scale, 1};
}

void ReadCaller::find_kmers(const Scaling& scaling, std::size_t events) {
  const auto shift = static_cast<float>(scaling.shift);
  const auto scale = static_cast<float>(scaling.scale);
  for (std::size_t i = 0; i < events; ++i) {
    const float* const found = found_.data() + i * EventDetector::kFieldsPerEvent;
    events_[i] = {(found[1] - shift) / scale, static_cast<float>(1 / (scaling.noise * variance_factor(found[0])))};
  }
  hmm_.decode({events_.data(), events}, {kmers_.data(), events}, {posteriors_.data(), events});
}

/// Weighted least squares of the events' means against the levels of their k-mers.
ReadCaller::Scaling ReadCaller::fitted(const Scaling& before, std::size_t events) const {
  const auto distance = [this](double level, std::uint16_t kmer) {
    return (level - static_cast<double>(means_[kmer])) / static_cast<double>(stdvs_[kmer]);
  };
  double weights = 0;
  double x_sum = 0;
  double y_sum = 0;
  double xx_sum = 0;
  double xy_sum = 0;
  for (std::size_t i = 0; i < events; ++i) {
    const std::uint16_t kmer = kmers_[i];
    if (std::abs(distance(events_[i].level, kmer)) > kMaxDistance) continue;
    const double stdv = stdvs_[kmer];
    const double weight =
        static_cast<double>(posteriors_[i]) * static_cast<double>(events_[i].precision) / (stdv * stdv);
    const double x = means_[kmer];
    const double y = found_[i * EventDetector::kFieldsPerEvent + 1];
    weights += weight;
    x_sum += weight * x;
    y_sum += weight * y;
    xx_sum += weight * x * x;
    xy_sum += weight * x * y;
  }
  const double spread = weights * xx_sum - x_sum * x_sum;
  const double scale = (weights * xy_sum - x_sum * y_sum) / spread;
  // A fit to a few k-mers of nearly one level can say anything.
  if (!(spread > 0) || !(scale > before.scale / 2) || !(scale < before.scale * 2)) return before;
  Scaling result{(y_sum - scale * x_sum) / weights, scale, before.noise};

  double found = 0;
  double counted = 0;
  for (std::size_t i = 0; i < events; ++i) {
    const float* const event = found_.data() + i * EventDetector::kFieldsPerEvent;
    const double d = distance((static_cast<double>(event[1]) - result.shift) / result.scale, kmers_[i]);
    if (std::abs(d) > kMaxDistance) continue;
    found += static_cast<double>(posteriors_[i]) * d * d / variance_factor(event[0]);
    counted += static_cast<double>(posteriors_[i]);
  }
  if (counted > 0) result.noise = std::clamp(2 * found / counted - 0.25, kMinNoise, kMaxNoise);
  return result;
}

std::uint64_t ReadCaller::write_bases(std::size_t events, std::span<std::uint8_t> bases, std::size_t& stretches) {
  constexpr std::array<std::uint8_t, 4> kLetters{'A', 'C', 'G', 'T'};
  std::uint64_t written = 0;
  std::uint16_t before = 0;
  stretches = 0;
  for (std::size_t i = 0; i < events;) {
    const std::uint16_t kmer = kmers_[i];
    // Event i has not been overwritten by stretches, and neither has anything behind it.
    const unsigned added = i == 0 ? k_ : distance_of(before, kmer, k_);
    for (unsigned base = added; base-- > 0;) bases[written++] = kLetters[(kmer >> (2 * base)) & 3U];
    double sum = 0;
    const std::size_t first = i;
    for (; i < events && kmers_[i] == kmer; ++i) sum += static_cast<double>(posteriors_[i]);
    before = kmer;
    kmers_[stretches] = static_cast<std::uint16_t>(added);
    posteriors_[stretches++] = static_cast<float>(sum / static_cast<double>(i - first));
  }
  return written;
}

double ReadCaller::write_qualities(std::size_t stretches, std::span<std::uint8_t> qualities) const {
  std::uint64_t written = 0;
  double errors = 0;
  for (std::size_t i = 0; i < stretches; ++i) {
    for (unsigned base = kmers_[i]; base-- > 0;) {
      // It is in this k-mer with `base` bases behind it, and in those that follow until k-1 are.
      float surest = posteriors_[i];
      unsigned behind = base;
      for (std::size_t next = i + 1; next < stretches; ++next) {
        behind += kmers_[next];
        if (behind >= k_) break;
        surest = std::max(surest, posteriors_[next]);
      }
      const double quality = quality_of(static_cast<double>(surest));
      errors += std::pow(10, -quality / 10);
      qualities[written++] = static_cast<std::uint8_t>(std::lround(quality));
    }
  }
  return phred_of(errors / static_cast<double>(written));
}

}  // namespace millrace
