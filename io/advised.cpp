#include "io/advised.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "io/page_cache.h"

namespace millrace::io {
namespace {

using Kind = AdvicePolicy::Kind;
using Scope = AdvicePolicy::Scope;

/// A look costs a microsecond or two however little it looks at.
constexpr std::uint64_t kSampleEvery = 1ULL << 20;
/// mincore(2) costs some 10 us for each MiB, a fast read of that 200 us: so only a sixteenth is looked at.
constexpr std::uint64_t kSlowSamplePause = 15;
/// Pages that advice fetched are single ones (see io/README.md), and cachestat(2) visits each: some 7 us for a MiB.
constexpr std::uint64_t kSinglePagesSamplePause = 3;

bool same(Extent a, Extent b) { return a.offset == b.offset && a.length == b.length; }

std::optional<int> whole_file_advice(const AdvicePolicy& policy) {
  switch (policy.kind) {
    case Kind::normal:
      return POSIX_FADV_NORMAL;
    case Kind::sequential:
      return POSIX_FADV_SEQUENTIAL;
    case Kind::random:
      return POSIX_FADV_RANDOM;
    case Kind::willneed:
      if (policy.scope == Scope::file) return POSIX_FADV_WILLNEED;
      break;
    case Kind::none:
    case Kind::populate:
      break;
  }
  return std::nullopt;
}

}  // namespace

AdvisedReader::AdvisedReader(std::unique_ptr<Reader> inner, const Advising& advising, std::uint64_t step_limit_bytes)
    : inner_(std::move(inner)), inner_reach_(inner_->lookahead()), advising_(advising) {
  const AdvicePolicy& policy = advising_.policy;
  advice_.kind = name_of(policy.kind);
  if (advising_.drop_behind) drops_.emplace(inner_->size());
  if (policy.kind == Kind::none) return;
  if (is_slow_to_ask(inner_->descriptor())) {
    sample_pause_ = kSlowSamplePause;
  } else if (policy.kind == Kind::willneed && policy.scope == Scope::window) {
    sample_pause_ = kSinglePagesSamplePause;
  }
  if (policy.kind == Kind::willneed && policy.scope == Scope::window) {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t step = policy.step_bytes == 0 ? step_limit_bytes : policy.step_bytes;
    plan_.emplace(policy.window_bytes, std::max(step, page), page);
    advice_.window_bytes = policy.window_bytes;
    advice_.step_bytes = plan_->step_bytes();
  } else if (policy.kind == Kind::willneed) {
    advice_.scope = "file";
    advice_.window_bytes = inner_->size();
    advice_.step_bytes = step_limit_bytes;
  }
  if (const auto advice = whole_file_advice(policy); advice && !advising_.inner_advises) advise({0, 0}, *advice);
}

AdvisedReader::~AdvisedReader() {
  if (drops_) drop(drops_->rest());
}

Buffer AdvisedReader::read(Extent extent) {
  if (inner_queues()) {
    forward();
    take_from_queues(extent);
  } else {
    sample(extent);
  }
  if (plan_) {
    plan_->reach(extent);
    advise_what_is_due();
  }
  Buffer buffer = inner_->read(extent);
  if (drops_) drop(drops_->passed(extent));
  return buffer;
}

Lookahead AdvisedReader::lookahead() const {
  return {inner_reach_.reads, plan_ ? std::max(inner_reach_.bytes, advising_.policy.window_bytes) : inner_reach_.bytes};
}

void AdvisedReader::announce(Extent extent) {
  if (plan_) plan_->announce(extent);
  if (inner_queues()) {
    waiting_.push_back(extent);
    forward();
  }
  advise_what_is_due();
}

void AdvisedReader::advise(Extent extent, int advice) {
  ++advice_.calls;
  const int refused = ::posix_fadvise(inner_->descriptor(), static_cast<off_t>(extent.offset),
                                      static_cast<off_t>(extent.length), advice);
  if (refused != 0) ++advice_.errors;
}

void AdvisedReader::advise_what_is_due() {
  if (!plan_) return;
  while (const auto step = plan_->next()) advise(*step, POSIX_FADV_WILLNEED);
}

/// The extent that is read next and as many after it as the inner reader wants to hear of.
void AdvisedReader::forward() {
  while (!waiting_.empty()) {
    const std::uint64_t first = forwarded_.empty() ? 0 : forwarded_.front().length;
    const bool enough = forwarded_.size() > inner_reach_.reads && forwarded_bytes_ >= inner_reach_.bytes + first;
    if (!forwarded_.empty() && enough) return;
    const Extent extent = waiting_.front();
    waiting_.pop_front();
    begin(extent);
  }
}

/// Its transfer may start with the announcement: later there is nothing to look at, and no use for advice.
void AdvisedReader::begin(Extent extent) {
  if (plan_) plan_->begin(extent);
  sample(extent);
  forwarded_.push_back(extent);
  forwarded_bytes_ += extent.length;
  inner_->announce(extent);
}

/// `extent` is read now. What was announced before it has been given up.
void AdvisedReader::take_from_queues(Extent extent) {
  const auto is_it = [extent](Extent one) { return same(one, extent); };
  const auto waits = std::find_if(waiting_.begin(), waiting_.end(), is_it);
  const bool was_forwarded = std::any_of(forwarded_.begin(), forwarded_.end(), is_it);
  if (!was_forwarded) {
    if (waits == waiting_.end()) {
      sample(extent);
      return;
    }
    waiting_.erase(waiting_.begin(), waits + 1);
    begin(extent);
  }
  while (!forwarded_.empty()) {
    const Extent first = forwarded_.front();
    forwarded_.pop_front();
    forwarded_bytes_ -= first.length;
    if (same(first, extent)) return;
  }
}

void AdvisedReader::sample(Extent extent) {
  if (advising_.policy.kind == Kind::none || extent.length == 0) return;
  if (unsampled_bytes_ > 0) {
    unsampled_bytes_ -= std::min(unsampled_bytes_, extent.length);
    return;
  }
  const auto resident = resident_in(inner_->descriptor(), extent);
  if (!resident) return;
  advice_.checked_bytes += extent.length;
  advice_.resident_bytes += *resident;
  unsampled_bytes_ = std::max(kSampleEvery - std::min(kSampleEvery, extent.length), sample_pause_ * extent.length);
}

void AdvisedReader::drop(std::optional<Extent> extent) {
  if (!extent) return;
  const std::uint64_t end = extent->offset + extent->length;
  const bool follows = advising_.drops_late && extent->offset == dropped_run_.offset + dropped_run_.length;
  const std::uint64_t begin = follows ? dropped_run_.offset : extent->offset;
  dropped_run_ = {begin, end - begin};
  const int refused = ::posix_fadvise(inner_->descriptor(), static_cast<off_t>(begin), static_cast<off_t>(end - begin),
                                      POSIX_FADV_DONTNEED);
  if (refused != 0) {
    ++drop_errors_;
  } else {
    dropped_bytes_ += extent->length;
  }
}

IoStats AdvisedReader::stats() const {
  IoStats stats = inner_->stats();
  stats.dropped_cache_bytes += dropped_bytes_;
  stats.drop_errors += drop_errors_;
  if (advising_.policy.kind == Kind::none) return stats;
  const IoStats::Advice inner = std::exchange(stats.advice, advice_);
  stats.advice.calls += inner.calls;
  stats.advice.errors += inner.errors;
  // Only a look at everything is a count of hits; a sample is a share.
  if (advice_.checked_bytes == stats.bytes) {
    stats.cache_hit_bytes = advice_.resident_bytes;
    stats.cache_miss_bytes = advice_.checked_bytes - advice_.resident_bytes;
  }
  return stats;
}

}  // namespace millrace::io
