// What basecall_hmm reaches: identity on simulated reads and on the real one whose sequence is known, speed of one
// core, and where the time goes. Identity is matches per column of the alignment with the fewest edits (tests/support/
// alignment.h); by it, random sequences have 0.54. Times are of the thread's CPU clock, so that other load on the
// machine counts little; the reference loop, always the same arithmetic, tells how much. Usage: bench_basecall_identity
// [ROUNDS]

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "stages/event_detector.h"
#include "stages/kmer_hmm.h"
#include "stages/pore_model.h"
#include "stages/read_caller.h"
#include "tests/support/alignment.h"
#include "tests/support/simulated_read.h"
#include "tests/support/stage_driver.h"
#include "tests/support/truth_read.h"

namespace millrace {
namespace {

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <typename Work>
double seconds_of(const Work& work) {
  const double before = cpu_seconds();
  work();
  return cpu_seconds() - before;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Ten million steps of a chain of multiplications and additions, each waiting for the one before.
double reference_loop() {
  volatile double start = 1.0;
  return seconds_of([&start] {
    double x = start;
    for (int i = 0; i < 10'000'000; ++i) x = x * 0.999 + 0.001;
    start = x;
  });
}

struct Read {
  std::string bases;
  std::vector<std::int16_t> samples;
};

void measure(const std::string& name, const PoreModel& model, const std::vector<Read>& reads, int rounds) {
  std::uint64_t longest = 0;
  for (const Read& read : reads) longest = std::max<std::uint64_t>(longest, read.samples.size());
  ReadCaller caller(model, {}, longest);
  std::vector<std::uint8_t> bases(caller.max_bases(longest));
  std::vector<std::uint8_t> qualities(bases.size());
  EventDetector detector{EventSettings{}};
  std::vector<float> found(detector.max_events(longest) * EventDetector::kFieldsPerEvent);
  const std::vector<float> means(model.levels.size(), 90.0F);  // the time of the HMM does not depend on the data
  const std::vector<float> stdvs(model.levels.size(), 2.0F);
  KmerHmm hmm(model.k, means, stdvs);
  std::vector<KmerHmm::Event> events(found.size());
  std::vector<std::uint16_t> kmers(found.size());
  std::vector<float> posteriors(found.size());

  std::vector<double> rates;
  std::vector<double> references;
  std::vector<double> detection;
  std::vector<double> decoding;
  double identity = 0;
  double lowest = 1;
  double quality = 0;
  for (int round = 0; round < rounds; ++round) {
    references.push_back(reference_loop());
    double whole = 0;
    double in_detection = 0;
    double in_decoding = 0;
    std::uint64_t called = 0;
    for (const Read& read : reads) {
      ReadCaller::Call call;
      whole += seconds_of([&] { call = caller.call(read.samples, bases, qualities); });
      in_detection += seconds_of([&] { detector.detect(read.samples, found); });
      const std::size_t n = call.events;
      in_decoding += seconds_of([&] { hmm.decode({events.data(), n}, {kmers.data(), n}, {posteriors.data(), n}); });
      called += call.bases;
      if (round != 0) continue;
      const std::string text(bases.begin(), bases.begin() + static_cast<std::ptrdiff_t>(call.bases));
      const double of_read = test::align(text, read.bases).identity();
      identity += of_read / static_cast<double>(reads.size());
      lowest = std::min(lowest, of_read);
      quality += call.mean_quality / static_cast<double>(reads.size());
    }
    rates.push_back(static_cast<double>(called) / whole / 1e3);
    detection.push_back(in_detection / whole);
    decoding.push_back(in_decoding / whole);
  }
  const double events_share = median(detection);
  const double path_share = median(decoding);
  fmt::print(
      "{:<34} {:>2} reads  identity {:.3f} (lowest {:.3f})  mean quality {:>4.1f}  {:>5.1f} kbases/s  events {:.0f} %, "
      "scaling {:.0f} %, path {:.0f} %  reference {:.1f} ms\n",
      name, reads.size(), identity, lowest, quality, median(rates), 100 * events_share,
      100 * (1 - events_share - path_share), 100 * path_share, 1e3 * median(references));
}

std::vector<Read> simulated(const PoreModel& model, std::size_t bases, double noise) {
  std::vector<Read> reads;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    auto read = test::simulated_read(model, seed, bases, noise);
    reads.push_back({std::move(read.bases), std::move(read.samples)});
  }
  return reads;
}

void run(int rounds) {
  std::mt19937_64 random(1);
  const std::string one = test::random_bases(random, 5000);
  fmt::print("identity of random sequences: {:.3f}\n", test::align(one, test::random_bases(random, 5000)).identity());
  const PoreModel synthetic = synthetic_pore_model();
  measure("simulated, synthetic table", synthetic, simulated(synthetic, 2000, 1), rounds);
  const auto file = test::test_data() / "pore_models" / "r9.4_180mv_450bps_6mer_template.model";
  if (!std::filesystem::exists(file)) {
    fmt::print("no {}: nothing with a real table\n", file.string());
    return;
  }
  const PoreModel r94 = read_pore_model(file);
  measure("simulated, R9.4 table", r94, simulated(r94, 2000, 1), rounds);
  measure("simulated, R9.4 table, 10 kb", r94, simulated(r94, 10'000, 1), rounds);
  measure("simulated, R9.4 table, noise x 2", r94, simulated(r94, 2000, 2), rounds);
  const auto truth = test::r94_truth_read();
  if (!truth) {
    fmt::print("no real read in {}\n", test::test_data().string());
    return;
  }
  measure("real, R9.4", r94, {{truth->bases, truth->samples}}, rounds);
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  millrace::run(argc > 1 ? std::max(1, std::atoi(argv[1])) : 9);
  return 0;
}
