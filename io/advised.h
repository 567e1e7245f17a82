#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>

#include "io/advice_plan.h"
#include "io/drop_plan.h"
#include "io/reader.h"
#include "io/via.h"

namespace millrace::io {

/// What an AdvisedReader is to tell the page cache.
struct Advising {
  AdvicePolicy policy;
  bool drop_behind = false;
  /// The inner reader gives its own advice (a map, by madvise): here its success is looked at, and nothing is said.
  bool inner_advises = false;
  /// What was read is free to be dropped later only (the buffers of a map keep its pages), so it is dropped again with
  /// every later step.
  bool drops_late = false;
};

/// Tells the kernel by posix_fadvise(2) what is read next from the file of `inner`, and what will not be read again.
/// Every call and every refusal is counted; a refusal stops nothing.
///
/// - normal, sequential, random: one call for the whole file when it is opened.
/// - willneed over a window: the extents that are announced are asked for in steps (AdvicePlan), at most the window
///   ahead of the one that is read.
/// - willneed over the file: one call when it is opened, of which the kernel does the first step only. It is there to
///   show what that is worth.
///
/// Whether it helped is looked at when a transfer is about to begin: how much of the extent the page cache holds
/// (resident_in), at most once in a MiB and never so often that it costs half a percent of the reading. Pages whose
/// read is still in flight count: the transfer waits for the rest of that read only. Announcements go on to `inner` as
/// far as its own lookahead reaches.
class AdvisedReader final : public Reader {
 public:
  /// `step_limit_bytes`: the most that one call can start (FileSystem::prefetch_limit_bytes). It is the step when the
  /// policy names none.
  AdvisedReader(std::unique_ptr<Reader> inner, const Advising& advising, std::uint64_t step_limit_bytes);
  /// Drops what drop_behind has left; that is in no count.
  ~AdvisedReader() override;

  Buffer read(Extent extent) override;
  Lookahead lookahead() const override;
  void announce(Extent extent) override;
  std::uint64_t size() const override { return inner_->size(); }
  const std::filesystem::path& path() const override { return inner_->path(); }
  int descriptor() const override { return inner_->descriptor(); }
  IoStats stats() const override;

 private:
  bool inner_queues() const { return inner_reach_.reads > 0 || inner_reach_.bytes > 0; }
  void advise(Extent extent, int advice);
  void advise_what_is_due();
  void forward();
  void begin(Extent extent);
  void take_from_queues(Extent extent);
  void sample(Extent extent);
  void drop(std::optional<Extent> extent);

  std::unique_ptr<Reader> inner_;
  Lookahead inner_reach_;
  Advising advising_;
  IoStats::Advice advice_;
  std::optional<AdvicePlan> plan_;
  std::optional<DropPlan> drops_;
  std::deque<Extent> waiting_;    // announced here, not to the inner reader
  std::deque<Extent> forwarded_;  // announced to the inner reader, not read
  std::uint64_t forwarded_bytes_ = 0;
  std::uint64_t unsampled_bytes_ = 0;  // to begin before the next look
  std::uint64_t sample_pause_ = 0;     // bytes between looks, per byte looked at
  Extent dropped_run_;                 // dropped without a gap so far
  std::uint64_t dropped_bytes_ = 0;
  std::uint64_t drop_errors_ = 0;
};

}  // namespace millrace::io
