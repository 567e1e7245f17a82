#include "stages/kmer_hmm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

// Order of storage: state i of q * 4 states is the k-mer with the last base i / q and the other bases i % q. The same
// order for (k-1)-mers is called "rotated" below, the usual one (first base most significant) "plain".
//
// Every function here is compiled three times, for plain, AVX2 and AVX-512 code, from one text. The results are the
// same to the bit because no loop adds floats in an order of its own (fold() fixes it), and no multiplication is
// contracted with an addition (-ffp-contract=off).

#define MILLRACE_INLINE [[gnu::always_inline]] inline

namespace millrace {
namespace {

/// Posteriors below this count as this: a path may cross an event at which it is unlikely.
constexpr float kLeastPosterior = 1e-5F;

/// 2^x for -126 < x < 126 within 4e-6 of it. No branch and no table, so that loops over it become vector code.
MILLRACE_INLINE float exp2_of(float x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: what is added to it loses its fraction
  const float rounded = x + kRound;
  const float fraction = x - (rounded - kRound);
  float power = 9.6760419e-3F;  // least squares at Chebyshev nodes of [-0.5, 0.5]
  power = power * fraction + 5.5922078e-2F;
  power = power * fraction + 2.4022107e-1F;
  power = power * fraction + 6.9312103e-1F;
  power = power * fraction + 1.0F;
  const std::int32_t exponent = std::bit_cast<std::int32_t>(rounded) - std::bit_cast<std::int32_t>(kRound);
  return std::bit_cast<float>(std::bit_cast<std::int32_t>(power) + (exponent << 23));
}

/// log2(x) for normal x > 0 within 4e-6 of it.
MILLRACE_INLINE float log2_of(float x) {
  constexpr std::int32_t kRootOfHalf = 0x3f3504f3;
  const auto bits = std::bit_cast<std::int32_t>(x);
  const std::int32_t exponent = (bits - kRootOfHalf) >> 23;
  const float rest = std::bit_cast<float>(bits - (exponent << 23)) - 1.0F;
  float log = -0.20686046F;  // least squares at Chebyshev nodes of [sqrt(1/2) - 1, sqrt(2) - 1]
  log = log * rest + 0.31841058F;
  log = log * rest - 0.36641372F;
  log = log * rest + 0.47979364F;
  log = log * rest - 0.72120844F;
  log = log * rest + 1.4427018F;
  return log * rest + static_cast<float>(exponent);
}

MILLRACE_INLINE float larger(float a, float b) { return a > b ? a : b; }

/// Numbers of states, of (k-1)-mers, of (k-2)-mers and of (k-3)-mers.
struct Sizes {
  std::size_t states;
  std::size_t q;
  std::size_t h;
  std::size_t g;
};

MILLRACE_INLINE Sizes sizes_of(std::size_t states) { return {states, states / 4, states / 16, states / 64}; }

/// What the levels of the k-mers are and what the event is.
struct Emission {
  const float* means = nullptr;
  const float* weights = nullptr;
  const float* constants = nullptr;
  KmerHmm::Event event;
};

MILLRACE_INLINE float likelihood(const Emission& e, std::size_t i) {
  const float distance = e.event.level - e.means[i];
  const float log = e.constants[i] - distance * distance * (e.weights[i] * e.event.precision);
  return exp2_of(larger(log, KmerHmm::kFloorLog2));
}

/// The probability of each single move, divided by `total`.
struct Rates {
  float stay;
  float step;
  float skip;
};

MILLRACE_INLINE Rates rates_of(const KmerHmm::Moves& moves, float total) {
  return {moves.stay / total, (1 - moves.stay - moves.skip) / 4 / total, moves.skip / 16 / total};
}

/// The sum of `count` floats, a power of 2 from 4 on; destroys them.
MILLRACE_INLINE float fold(float* __restrict values, std::size_t count) {
  for (std::size_t half = count / 2; half >= 4; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) values[i] += values[half + i];
  }
  return (values[0] + values[1]) + (values[2] + values[3]);
}

/// Four parts of `count` elements each, rotated order -> plain order.
template <typename T>
MILLRACE_INLINE void interleave(const T* __restrict from, std::size_t count, T* __restrict to) {
  for (std::size_t i = 0; i < count; ++i) {
    to[4 * i] = from[i];
    to[4 * i + 1] = from[count + i];
    to[4 * i + 2] = from[2 * count + i];
    to[4 * i + 3] = from[3 * count + i];
  }
}

MILLRACE_INLINE void deinterleave(const float* __restrict from, std::size_t count, float* __restrict to) {
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = from[4 * i];
    to[count + i] = from[4 * i + 1];
    to[2 * count + i] = from[4 * i + 2];
    to[3 * count + i] = from[4 * i + 3];
  }
}

MILLRACE_INLINE float sum_of_parts(const float* parts, std::size_t size, std::size_t i) {
  return (parts[i] + parts[size + i]) + (parts[2 * size + i] + parts[3 * size + i]);
}

/// The probability of all later events, given the state at an event, from that at the next event `e`; both but for a
/// factor. `weighted` and `scratch` have room for all states.
MILLRACE_INLINE void step_backward(const Sizes& n, const Emission& e, const KmerHmm::Moves& moves,
                                   const float* __restrict next, float* __restrict weighted, float* __restrict scratch,
                                   float* __restrict result) {
  for (std::size_t i = 0; i < n.states; ++i) weighted[i] = next[i] * likelihood(e, i);
  float* const steps = scratch;
  float* const steps_rotated = scratch + n.q;
  float* const skips = scratch + 2 * n.q;
  float* const skips_rotated = skips + n.h;
  for (std::size_t j = 0; j < n.q; ++j) steps[j] = sum_of_parts(weighted, n.q, j);
  deinterleave(steps, n.h, steps_rotated);
  for (std::size_t j = 0; j < n.h; ++j) skips[j] = sum_of_parts(steps_rotated, n.h, j);
  deinterleave(skips, n.g, skips_rotated);
  const Rates rates = rates_of(moves, fold(skips, n.h));
  for (std::size_t last = 0; last < 4; ++last) {
    for (std::size_t first = 0; first < 4; ++first) {
      float* const steps_of = steps_rotated + last * n.h + first * n.g;
      const float* const skips_of = skips_rotated + last * n.g;
      for (std::size_t j = 0; j < n.g; ++j) steps_of[j] = steps_of[j] * rates.step + skips_of[j] * rates.skip;
    }
  }
  for (std::size_t last = 0; last < 4; ++last) {
    for (std::size_t first = 0; first < 4; ++first) {
      const std::size_t at = last * n.q + first * n.h;
      const float* const moved = steps_rotated + last * n.h;
      for (std::size_t j = 0; j < n.h; ++j) result[at + j] = weighted[at + j] * rates.stay + moved[j];
    }
  }
}

/// The probability of a state together with all events up to `e`, from that up to the event before; both but for a
/// factor.
MILLRACE_INLINE void step_forward(const Sizes& n, const Emission& e, const KmerHmm::Moves& moves,
                                  float* __restrict states, float* __restrict scratch) {
  float* const steps_rotated = scratch;
  float* const moved = scratch + n.q;
  float* const skips_rotated = scratch + 2 * n.q;
  float* const skips = skips_rotated + n.h;
  for (std::size_t last = 0; last < 4; ++last) {
    for (std::size_t j = 0; j < n.h; ++j) steps_rotated[last * n.h + j] = sum_of_parts(states + last * n.q, n.h, j);
  }
  for (std::size_t last = 0; last < 4; ++last) {
    for (std::size_t j = 0; j < n.g; ++j) {
      skips_rotated[last * n.g + j] = sum_of_parts(steps_rotated + last * n.h, n.g, j);
    }
  }
  interleave(skips_rotated, n.g, skips);
  const Rates rates = rates_of(moves, fold(skips_rotated, n.h));
  for (std::size_t last = 0; last < 4; ++last) {
    float* const steps_of = steps_rotated + last * n.h;
    for (std::size_t j = 0; j < n.h; ++j) steps_of[j] = steps_of[j] * rates.step + skips[j] * rates.skip;
  }
  interleave(steps_rotated, n.h, moved);
  for (std::size_t last = 0; last < 4; ++last) {
    for (std::size_t j = 0; j < n.q; ++j) {
      const std::size_t i = last * n.q + j;
      states[i] = (states[i] * rates.stay + moved[j]) * likelihood(e, i);
    }
  }
}

/// Makes posteriors of what the backward pass left in `row`.
MILLRACE_INLINE void combine(const Sizes& n, const float* __restrict forward, float* __restrict scratch,
                             float* __restrict row) {
  for (std::size_t i = 0; i < n.states; ++i) row[i] *= forward[i];
  for (std::size_t j = 0; j < n.q; ++j) scratch[j] = sum_of_parts(row, n.q, j);
  const float factor = 1 / larger(fold(scratch, n.q), std::numeric_limits<float>::min());
  for (std::size_t i = 0; i < n.states; ++i) row[i] *= factor;
}

/// The best of four values, and which it was.
struct Best {
  float value;
  std::int32_t which;
};

MILLRACE_INLINE Best best_of_parts(const float* parts, std::size_t size, std::size_t i) {
  Best best{parts[i], 0};
  for (std::int32_t part = 1; part < 4; ++part) {
    const float value = parts[static_cast<std::size_t>(part) * size + i];
    best.which = value > best.value ? part : best.which;
    best.value = larger(value, best.value);
  }
  return best;
}

/// One event of the path: `scores` of the event before -> of this one. `sources` gets a byte per state, 1 = it was
/// moved to, and then a byte per (k-1)-mer (rotated): where a move to the states that begin with it came from, a step
/// as the base that was left behind (0 to 3), a skip as 4 + the first + 4 * the second of the two bases.
MILLRACE_INLINE void step_path(const Sizes& n, const float* __restrict posteriors, float* __restrict scores,
                               float* __restrict scratch, std::int32_t* __restrict codes,
                               std::uint8_t* __restrict sources) {
  float* const steps = scratch;  // rotated
  float* const moved = scratch + n.q;
  float* const skips_rotated = scratch + 2 * n.q;
  float* const skips = skips_rotated + n.h;
  std::int32_t* const step_codes = codes;  // rotated
  std::int32_t* const skip_codes_rotated = codes + n.q;
  std::int32_t* const skip_codes = skip_codes_rotated + n.h;
  for (std::size_t last = 0; last < 4; ++last) {
    for (std::size_t j = 0; j < n.h; ++j) {
      const Best best = best_of_parts(scores + last * n.q, n.h, j);
      steps[last * n.h + j] = best.value;
      step_codes[last * n.h + j] = best.which;
    }
  }
  for (std::size_t last = 0; last < 4; ++last) {
    const std::int32_t* const from = step_codes + last * n.h;
    for (std::size_t j = 0; j < n.g; ++j) {
      const Best best = best_of_parts(steps + last * n.h, n.g, j);
      std::int32_t first = from[j];
      first = best.which == 1 ? from[n.g + j] : first;
      first = best.which == 2 ? from[2 * n.g + j] : first;
      first = best.which == 3 ? from[3 * n.g + j] : first;
      skips_rotated[last * n.g + j] = best.value;
      skip_codes_rotated[last * n.g + j] = 4 + first + 4 * best.which;
    }
  }
  interleave(skips_rotated, n.g, skips);
  interleave(skip_codes_rotated, n.g, skip_codes);
  std::uint8_t* const move_sources = sources + n.states;
  for (std::size_t last = 0; last < 4; ++last) {
    for (std::size_t j = 0; j < n.h; ++j) {
      const std::size_t i = last * n.h + j;
      move_sources[i] = static_cast<std::uint8_t>(skips[j] > steps[i] ? skip_codes[j] : step_codes[i]);
      steps[i] = larger(skips[j], steps[i]);
    }
  }
  interleave(steps, n.h, moved);
  for (std::size_t last = 0; last < 4; ++last) {
    for (std::size_t j = 0; j < n.q; ++j) {
      const std::size_t i = last * n.q + j;
      sources[i] = moved[j] > scores[i] ? 1 : 0;
      scores[i] = larger(moved[j], scores[i]) + log2_of(posteriors[i] + kLeastPosterior);
    }
  }
}

}  // namespace

struct KmerHmm::Kernels {
  void (*backward)(const Sizes&, const Emission&, const Moves&, const float* next, float* weighted, float* scratch,
                   float* result);
  /// Forward pass, posteriors and path of one event.
  void (*forward)(const Sizes&, const Emission&, const Moves&, float* states, float* row, float* scores, float* scratch,
                  std::int32_t* codes, std::uint8_t* sources);
};

namespace {

MILLRACE_INLINE void forward_event(const Sizes& n, const Emission& e, const KmerHmm::Moves& moves, float* states,
                                   float* row, float* scores, float* scratch, std::int32_t* codes,
                                   std::uint8_t* sources) {
  step_forward(n, e, moves, states, scratch);
  combine(n, states, scratch, row);
  step_path(n, row, scores, scratch, codes, sources);
}

void backward_plain(const Sizes& n, const Emission& e, const KmerHmm::Moves& moves, const float* next, float* weighted,
                    float* scratch, float* result) {
  step_backward(n, e, moves, next, weighted, scratch, result);
}

void forward_plain(const Sizes& n, const Emission& e, const KmerHmm::Moves& moves, float* states, float* row,
                   float* scores, float* scratch, std::int32_t* codes, std::uint8_t* sources) {
  forward_event(n, e, moves, states, row, scores, scratch, codes, sources);
}

#if defined(__x86_64__)

// Vector code of 256 and of 512 bits; the compiler makes it of the loops above.
#define MILLRACE_KERNELS(name, features)                                                                        \
  __attribute__((target(features))) void backward_##name(const Sizes& n, const Emission& e,                     \
                                                         const KmerHmm::Moves& moves, const float* next,        \
                                                         float* weighted, float* scratch, float* result) {      \
    step_backward(n, e, moves, next, weighted, scratch, result);                                                \
  }                                                                                                             \
  __attribute__((target(features))) void forward_##name(                                                        \
      const Sizes& n, const Emission& e, const KmerHmm::Moves& moves, float* states, float* row, float* scores, \
      float* scratch, std::int32_t* codes, std::uint8_t* sources) {                                             \
    forward_event(n, e, moves, states, row, scores, scratch, codes, sources);                                   \
  }

MILLRACE_KERNELS(avx2, "avx2")
#if defined(__clang__)
MILLRACE_KERNELS(avx512, "avx512f,avx512bw,avx512dq,avx512vl")
#else
MILLRACE_KERNELS(avx512, "avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#endif
#undef MILLRACE_KERNELS

#endif

}  // namespace

KmerHmm::Code KmerHmm::fastest_code() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return Code::avx512;
  }
  if (__builtin_cpu_supports("avx2")) return Code::avx2;
#endif
  return Code::plain;
}

const KmerHmm::Kernels& KmerHmm::kernels_of([[maybe_unused]] Code code) {
  static constexpr Kernels kPlain{backward_plain, forward_plain};
#if defined(__x86_64__)
  static constexpr Kernels kAvx2{backward_avx2, forward_avx2};
  static constexpr Kernels kAvx512{backward_avx512, forward_avx512};
  if (code == Code::avx512) return kAvx512;
  if (code == Code::avx2) return kAvx2;
#endif
  return kPlain;
}

KmerHmm::KmerHmm(unsigned k, std::span<const float> means, std::span<const float> stdvs, Code code)
    : kernels_(kernels_of(code)),
      states_(std::size_t{1} << (2 * k)),
      means_(states_),
      weights_(states_),
      constants_(states_),
      forward_(states_),
      backward_{std::vector<float>(states_), std::vector<float>(states_)},
      scores_(states_),
      scratch_{std::vector<float>(states_), std::vector<float>(states_)},
      codes_(states_ / 2),
      posteriors_(states_ * kRows),
      sources_(source_bytes() * kRows) {
  constexpr double kLog2OfE = 1.4426950408889634;
  double mean_log = 0;
  for (const float stdv : stdvs) mean_log += std::log2(static_cast<double>(stdv));
  mean_log /= static_cast<double>(states_);
  for (std::size_t kmer = 0; kmer < states_; ++kmer) {
    const std::size_t i = kmer % 4 * (states_ / 4) + kmer / 4;
    const double stdv = stdvs[kmer];
    means_[i] = means[kmer];
    weights_[i] = static_cast<float>(kLog2OfE / (2 * stdv * stdv));
    constants_[i] = static_cast<float>(mean_log - std::log2(stdv));
  }
}

std::uint64_t KmerHmm::state_bytes() const {
  const std::uint64_t by_state =
      (means_.capacity() + weights_.capacity() + constants_.capacity() + forward_.capacity() + backward_[0].capacity() +
       backward_[1].capacity() + scores_.capacity() + scratch_[0].capacity() + scratch_[1].capacity()) *
          sizeof(float) +
      codes_.capacity() * sizeof(std::int32_t);
  return by_state + posteriors_.capacity() * sizeof(float) + sources_.capacity();
}

void KmerHmm::decode(std::span<const Event> events, std::span<std::uint16_t> kmers, std::span<float> posteriors) {
  std::fill(forward_.begin(), forward_.end(), 1.0F);
  std::fill(scores_.begin(), scores_.end(), 0.0F);
  std::size_t done = 0;
  for (std::size_t begin = 0; begin < events.size(); begin += kBlock) {
    const std::size_t end = std::min(events.size(), begin + kBlock);
    run_backward(events, begin, end);
    run_forward(events, begin, end);
    const std::size_t sure = end == events.size() ? end : end - kLag;
    trace_back(done, sure, end - 1, kmers, posteriors);
    done = sure;
    // Only differences matter, and a float must not lose them in a long read.
    const float highest = *std::max_element(scores_.begin(), scores_.end());
    for (float& score : scores_) score -= highest;
  }
}

void KmerHmm::run_backward(std::span<const Event> events, std::size_t begin, std::size_t end) {
  const Sizes sizes = sizes_of(states_);
  std::size_t at = std::min(events.size(), end + kAhead) - 1;
  float* current = at < end ? posterior_row(at) : backward_[0].data();
  float* other = backward_[1].data();
  std::fill_n(current, states_, 1.0F);
  while (at > begin) {
    const Emission emission{means_.data(), weights_.data(), constants_.data(), events[at]};
    --at;
    float* const result = at < end ? posterior_row(at) : other;
    kernels_.backward(sizes, emission, moves_, current, scratch_[0].data(), scratch_[1].data(), result);
    other = current;
    current = result;
  }
}

void KmerHmm::run_forward(std::span<const Event> events, std::size_t begin, std::size_t end) {
  const Sizes sizes = sizes_of(states_);
  for (std::size_t at = begin; at < end; ++at) {
    const Emission emission{means_.data(), weights_.data(), constants_.data(), events[at]};
    kernels_.forward(sizes, emission, moves_, forward_.data(), posterior_row(at), scores_.data(), scratch_[0].data(),
                     codes_.data(), source_row(at));
  }
}

/// The best path to event `last`, back to `first`; the events before `sure` are results.
void KmerHmm::trace_back(std::size_t first, std::size_t sure, std::size_t last, std::span<std::uint16_t> kmers,
                         std::span<float> posteriors) {
  const Sizes n = sizes_of(states_);
  auto state = static_cast<std::size_t>(std::max_element(scores_.begin(), scores_.end()) - scores_.begin());
  for (std::size_t at = last;; --at) {
    const std::size_t kmer = state % n.q * 4 + state / n.q;
    if (at < sure) {
      kmers[at] = static_cast<std::uint16_t>(kmer);
      posteriors[at] = posterior_row(at)[state];
    }
    if (at == first) return;
    const std::uint8_t* const sources = source_row(at);
    if (sources[state] == 0) continue;
    const std::size_t prefix = kmer / 4;
    const std::size_t source = sources[n.states + prefix % 4 * n.h + prefix / 4];
    const std::size_t before =
        source < 4 ? source * n.q + prefix : (source - 4) % 4 * n.q + (source - 4) / 4 * n.h + prefix / 4;
    state = before % 4 * n.q + before / 4;
  }
}

}  // namespace millrace
