#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace {

/// Finds the k-mers that a series of events shows: a hidden Markov model with one state per k-mer.
///
/// From event to event the strand stays where it is (probability `stay`), moves on by one base (the rest; 4 successors,
/// equally likely) or by two (`skip`; 16 successors). The level of an event at k-mer s is normally distributed about
/// mean[s] with deviation stdv[s] / sqrt(precision). No level is less likely than 2^kFloorLog2 times the likeliest of
/// an average k-mer: an outlier costs a path so much and no more.
///
/// Two passes. Forward and backward give the posterior of every k-mer at every event; then Viterbi finds the path of
/// allowed moves with the greatest product of posteriors. On real reads it has a point more of identity than the single
/// most likely path.
///
/// Work is shared as nanocall (MIT; David, Dursi, Yao, Boutros, Simpson 2017) shares it: what can come before a k-mer
/// depends on its first k-1 bases only, so the sum (or the best) of the four predecessors is taken once per (k-1)-mer,
/// that of the sixteen once per (k-2)-mer. States are stored by their last base first, so that nearly every loop runs
/// over contiguous floats and becomes vector code.
///
/// Memory does not grow with the read. Events are taken in blocks of kBlock; the backward pass of a block starts kAhead
/// events behind it with nothing known, and of its path the last kLag events are left to the next block. By then the
/// choice there is made, but for rare stretches in which two neighbouring k-mers of the result may not be successors.
///
/// A function of its input alone: plain and vector code give the same results to the bit.
///
/// Memory is taken in the constructor only. One thread at a time.
class KmerHmm {
 public:
  static constexpr unsigned kMinK = 4;
  static constexpr unsigned kMaxK = 7;
  static constexpr std::size_t kBlock = 256;
  static constexpr std::size_t kAhead = 64;
  static constexpr std::size_t kLag = 64;
  static constexpr float kFloorLog2 = -10;

  struct Moves {
    float stay = 0.4F;  ///< above 0
    float skip = 0.02F;
  };
  struct Event {
    float level = 0;      ///< in units of the means
    float precision = 1;  ///< above 0
  };
  /// The same work by different instructions of the processor.
  enum class Code { plain, avx2, avx512 };
  /// The fastest that this machine can run.
  static Code fastest_code();

  /// `means` and `stdvs` have 4^k elements, by the k-mer's index (first base most significant, A 0, C 1, G 2, T 3);
  /// deviations are above 0, k is kMinK to kMaxK.
  KmerHmm(unsigned k, std::span<const float> means, std::span<const float> stdvs, Code code = fastest_code());

  void set_moves(const Moves& moves) { moves_ = moves; }

  /// For every event the k-mer that the path is at, and the posterior of that k-mer, 0 to 1. All have one length.
  void decode(std::span<const Event> events, std::span<std::uint16_t> kmers, std::span<float> posteriors);

  std::uint64_t state_bytes() const;

 private:
  static constexpr std::size_t kRows = kBlock + kLag;

  struct Kernels;
  static const Kernels& kernels_of(Code code);

  std::size_t source_bytes() const { return states_ + states_ / 4; }
  float* posterior_row(std::size_t event) { return posteriors_.data() + event % kRows * states_; }
  std::uint8_t* source_row(std::size_t event) { return sources_.data() + event % kRows * source_bytes(); }
  void run_backward(std::span<const Event> events, std::size_t begin, std::size_t end);
  void run_forward(std::span<const Event> events, std::size_t begin, std::size_t end);
  void trace_back(std::size_t first, std::size_t sure, std::size_t last, std::span<std::uint16_t> kmers,
                  std::span<float> posteriors);

  const Kernels& kernels_;
  std::size_t states_;
  Moves moves_;
  // By state, in the order of storage.
  std::vector<float> means_;
  std::vector<float> weights_;    // log2(e) / (2 stdv^2)
  std::vector<float> constants_;  // -log2(stdv), its mean taken off
  std::vector<float> forward_;
  std::array<std::vector<float>, 2> backward_;
  std::vector<float> scores_;  // of the best path to each state, in log2
  std::array<std::vector<float>, 2> scratch_;
  std::vector<std::int32_t> codes_;
  // kRows rows, by event.
  std::vector<float> posteriors_;      // what the backward pass knows, until the forward pass makes posteriors of it
  std::vector<std::uint8_t> sources_;  // where the best path to each state came from
};

}  // namespace millrace
