#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stages/event_detector.h"
#include "stages/kmer_hmm.h"
#include "stages/pore_model.h"

namespace millrace {

/// Calls the bases of one read from its samples, without a neural network: events, a scale, and the path through a
/// k-mer model.
///
/// 1. Samples at the start in which the strand stands still are left out (Settings::trim_stall).
/// 2. Events are found (EventDetector). The strand of RNA enters with its 3' end, so its events are turned round.
/// 3. Shift and scale of the read, level = (sample - shift) / scale, begin with the median and the MAD of the events'
///    means and are then fitted three times to the k-mers found in the first 500, 750 and 1000 events, each event by
///    its posterior and precision, together with the noise: an event of n samples has the variance
///
///        noise * (0.3 + 5 / n) * stdv^2
///
///    of its k-mer's deviation. A path explains a part of the noise it was chosen by, so the noise found is corrected,
///    2 * noise - 0.25. All numbers were found by measurement on real R9.4 reads and on simulated ones.
/// 4. KmerHmm finds the k-mers; where they change, bases come.
/// 5. The quality of a base is 3.5 + 0.75 * Phred(1 - p), p the posterior of the surest of the k-mers that hold it.
///    That is what such bases were found to be, between simulated reads (whose bases are better) and a real one (whose
///    good ones are worse).
///
/// No calibration of the instrument is needed. A function of its input alone.
///
/// Memory is taken in the constructor only. One thread at a time.
class ReadCaller {
 public:
  /// Reads with fewer events have no call: their scale cannot be found.
  static constexpr std::uint64_t kMinEvents = 32;

  struct Settings {
    EventSettings events;
    bool reversed = false;         ///< the 3' end comes first: RNA
    std::uint64_t trim_start = 0;  ///< samples left out at the start
    bool trim_stall = true;        ///< and after them those before the strand moves
    KmerHmm::Code code = KmerHmm::fastest_code();
  };

  /// How the levels of a read are found in its samples.
  struct Scaling {
    double shift = 0;  ///< in units of the samples
    double scale = 0;  ///< units of the samples per unit of the pore model; 0 = none was found
    double noise = 1;
  };
  struct Call {
    std::uint64_t bases = 0;  ///< 0 = no call
    std::uint64_t trimmed_samples = 0;
    std::uint64_t events = 0;
    Scaling scaling;
    double mean_quality = 0;  ///< Phred of the mean error probability; 0 without bases
  };

  /// For reads of up to `max_samples` samples. `model` must have a k that KmerHmm takes.
  ReadCaller(const PoreModel& model, const Settings& settings, std::uint64_t max_samples);

  /// No read of `samples` samples has more bases than this.
  std::uint64_t max_bases(std::uint64_t samples) const;

  /// Writes the bases (A, C, G, T; 5' to 3') and their qualities (Phred, 3 to kMaxCalledQuality) of one read. Both have
  /// room for max_bases(samples.size()).
  Call call(std::span<const std::int16_t> samples, std::span<std::uint8_t> bases, std::span<std::uint8_t> qualities);

  static constexpr std::uint8_t kMaxCalledQuality = 40;

  std::uint64_t state_bytes() const;

 private:
  std::uint64_t stalled_samples(std::span<const std::int16_t> samples);
  void turn_round(std::size_t events);
  Scaling first_scaling(std::size_t events);
  void find_kmers(const Scaling& scaling, std::size_t events);
  /// The scaling that the k-mers found say; `before` when they say nothing.
  Scaling fitted(const Scaling& before, std::size_t events) const;
  /// Returns the number of bases, and makes stretches of events.
  std::uint64_t write_bases(std::size_t events, std::span<std::uint8_t> bases, std::size_t& stretches);
  /// Returns the mean quality.
  double write_qualities(std::size_t stretches, std::span<std::uint8_t> qualities) const;

  Settings settings_;
  unsigned k_;
  std::vector<float> means_;
  std::vector<float> stdvs_;
  float model_median_;
  float model_mad_;
  EventDetector detector_;
  KmerHmm hmm_;
  std::vector<float> found_;  // EventDetector::kFieldsPerEvent floats per event
  std::vector<KmerHmm::Event> events_;
  // By event, and then, from the front, by stretch of events at one k-mer: bases that it adds, mean posterior.
  std::vector<std::uint16_t> kmers_;
  std::vector<float> posteriors_;
};

}  // namespace millrace
