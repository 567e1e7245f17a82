#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "pipeline/core/stage.h"
#include "stages/signal_digest.h"

namespace millrace {

/// `verify_signal`: holds the samples of every read against the table that a signal_qc_writer made of the same reads
/// before, by read_id and SHA-256. VBZ has no checksum of its own, so most damage decodes to other samples without a
/// word; this finds it, in any format, and after any conversion. In: i16 "signal" with the attribute read_id. It passes
/// nothing on: to guard an output, let it take the same reads beside the writer (from = "..."); when it fails, the run
/// does, and no output appears.
///
/// `against`: a TSV with a header line and the columns read_id and sha256_i16le among others. Error at once when it
/// cannot be read, a field is no such value, or one read stands there with two sums.
///
/// `on_mismatch`: "fail" ends the run at the first read with other samples or that is not in the table, and at the end
/// of a complete stream when reads of the table did not come. "count" goes on: such reads count as refused, those that
/// did not come are told in the report. A read may come more than once. An interrupted run does not miss reads.
///
/// A sink, because only sinks are told whether the stream came to its end.
class VerifySignal final : public Sink {
 public:
  explicit VerifySignal(const Options& options);

  void prepare(const ChunkType& input) override;
  void consume(Chunk chunk) override;
  void finish(End end) override;
  std::uint64_t state_bytes() const override { return table_bytes_; }
  std::vector<std::string> plan_notes() const override;
  Findings findings() const override;

 private:
  struct Expected {
    SignalDigest digest{};
    bool came = false;
  };

  void load();
  void add(std::string_view id, std::string_view hex, std::uint64_t line);
  void note(const Chunk& chunk, const std::string& what, std::uint64_t& count);

  std::filesystem::path table_;
  bool fails_;
  std::unordered_map<std::string, Expected> expected_;
  std::uint64_t table_bytes_ = 0;
  std::optional<SignalHasher> hasher_;
  std::uint64_t reads_ = 0;
  std::uint64_t mismatches_ = 0;
  std::uint64_t unknown_ = 0;
  std::uint64_t missing_ = 0;
  std::string first_missing_;
  std::vector<std::string> first_lines_;
};

}  // namespace millrace
