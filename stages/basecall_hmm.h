#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/core/stage.h"
#include "stages/pore_model.h"
#include "stages/read_caller.h"

namespace millrace {

/// `basecall_hmm`: calls the bases of every read by a k-mer hidden Markov model, as callers did before neural networks
/// (read_caller.h says how). Real compute with checkable results, not a modern caller: stages/README.md has its
/// measured identity.
///
/// In: "signal", i16, one read per chunk, in any unit: shift and scale are fitted to each read, so the calibration of
/// the instrument is not used. Out: "basecalls" (stages/basecalls.h). A read that is too short (ReadCaller::kMinEvents)
/// or has no spread comes out with 0 bases, shift 0 and scale 1.
///
/// `model` is a table of k-mer levels (pore_model.h) of k = 4 to 7; without it the synthetic 6-mer table of `millrace
/// generate nanopore`, which fits no real read. Error (kind config) for another k.
///
/// `preset` selects the numbers of event detection as in detect_events; with the presets of RNA the read is called from
/// its 3' end on, unless `reversed` says otherwise.
class BasecallHmm final : public Transform {
 public:
  explicit BasecallHmm(const Options& options);

  ChunkType prepare(const ChunkType& input) override;
  std::optional<Chunk> process(Chunk chunk) override;
  bool parallel() const override { return true; }
  std::uint64_t state_bytes() const override;
  std::vector<std::string> plan_notes() const override;
  Findings findings() const override;

 private:
  void make_caller(std::uint64_t max_samples);

  std::filesystem::path model_file_;  // empty: the synthetic table
  ReadCaller::Settings settings_;
  PoreModel model_;
  std::string model_name_;  // one word
  std::uint64_t max_samples_ = 0;
  std::optional<ReadCaller> caller_;

  std::uint64_t called_reads_ = 0;
  std::uint64_t reads_without_call_ = 0;
  std::uint64_t bases_ = 0;
  double errors_ = 0;  // expected number of wrong bases
};

}  // namespace millrace
