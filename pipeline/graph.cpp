#include "pipeline/graph.h"

#include <algorithm>
#include <bit>
#include <exception>
#include <system_error>
#include <utility>

#if defined(__GLIBC__)
#include <pthread.h>
#endif

namespace millrace {
namespace {

/// A worker whose turn is expected to end within this time will look after ready stages itself: waking another one
/// would take as long.
constexpr std::int64_t kSoonBackNs = 10'000;
/// Wake-ups may be put off for this long by somebody who is in the middle of short turns: the sleeper then finds more
/// than one chunk, and one wake-up (2 us for the waker, 6 us until the sleeper runs) serves them all.
constexpr std::int64_t kPutOffNs = 10'000;
/// A thread with nothing to do looks this many times again before it sleeps, about 1 us.
constexpr int kLooksBeforeSleep = 20;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

Error as_error(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error("out of memory");
  } catch (const std::exception& error) {
    return Error(error.what());
  } catch (...) {
    return Error("threw something that is not an exception");
  }
}

void name_thread(std::thread& thread, const std::string& stage, std::uint32_t slot) {
#if defined(__GLIBC__)
  const std::string name = (stage + "." + std::to_string(slot)).substr(0, 15);  // the kernel's limit
  pthread_setname_np(thread.native_handle(), name.c_str());
#endif
}

class HeapPool final : public Pool {
 public:
  Buffer lend(std::size_t bytes) override {
    ++allocations_;
    return heap_lender().lend(bytes);
  }
  void take_back(BufferBlock& /*block*/) noexcept override {}  // its blocks belong to the heap lender
  std::uint64_t allocations() const override { return allocations_.load(); }

 private:
  std::atomic<std::uint64_t> allocations_{0};
};

}  // namespace

// --- making it -----------------------------------------------------------------------------------------------------

Graph::Graph(Plan& plan, const RunSettings& settings, Clock& clock)
    : plan_(plan), clock_(clock), start_ns_(clock.now_ns()), flow_(make_flow()) {
  last_progress_ns_ = start_ns_;
  make_pools(settings);
  make_stages(settings.record);
}

Graph::~Graph() = default;

FlowState Graph::make_flow() const {
  std::vector<FlowState::StageShape> stages;
  for (const StagePlan& stage : plan_.stages) {
    const auto* const transform = dynamic_cast<const Transform*>(stage.instances.front().get());
    stages.push_back({stage.role, stage.slots(), stage.ordered, transform != nullptr && transform->splits(),
                      stage.inputs, stage.outputs});
  }
  std::vector<FlowState::LinkShape> links;
  for (const LinkPlan& link : plan_.links) {
    links.push_back(
        {link.from, link.to, {link.capacity_chunks, link.capacity_bytes, link.when_full}, link.type.max_bytes});
  }
  return {std::move(stages), links, start_ns_};
}

void Graph::make_pools(const RunSettings& settings) {
  for (std::size_t i = 0; i < plan_.links.size(); ++i) {
    const StagePlan& producer = plan_.stages[plan_.links[i].from];
    const std::uint64_t padding = producer.instances.front()->buffer_needs().padding_bytes;
    const PoolSpec spec{plan_.links[i].type.max_bytes + padding, most_out(i)};
    pools_.push_back(settings.make_pool ? settings.make_pool(spec) : std::make_unique<HeapPool>());
  }
}

/// Buffers that the instances of a stage keep from call to call.
std::uint64_t Graph::held_by(const StagePlan& stage) {
  return stage.slots() * stage.instances.front()->buffer_needs().held;
}

/// Most buffers of the link's pool that can be in use at once. Stages that work in place pass them on, so they may fill
/// every link from here to the sinks, and the hands of every slot there.
std::uint64_t Graph::most_out(std::size_t link) const {
  std::vector<bool> reached(plan_.links.size());
  std::uint64_t buffers = 0;
  std::vector<std::size_t> open{link};
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    if (reached[at]) continue;
    reached[at] = true;
    const LinkPlan& plan = plan_.links[at];
    const StagePlan& consumer = plan_.stages[plan.to];
    const StagePlan& producer = plan_.stages[plan.from];
    const std::uint64_t slots = producer.slots() + consumer.slots();
    buffers += plan.capacity_chunks + slots * batch_of(plan.type.max_bytes);
    if (producer.role == Role::source) buffers += held_by(producer);
    if (consumer.role != Role::source) buffers += held_by(consumer);
    open.insert(open.end(), consumer.outputs.begin(), consumer.outputs.end());
  }
  return buffers;
}

void Graph::make_stages(bool record) {
  stages_.resize(plan_.stages.size());
  parked_stages_.assign(flow_.words(), 0);
  transforms_.assign(flow_.words(), 0);
  for (std::size_t i = 0; i < plan_.stages.size(); ++i) {
    StagePlan& stage = plan_.stages[i];
    Lender* const lender = stage.outputs.empty() ? nullptr : pools_[stage.outputs.front()].get();
    for (auto& instance : stage.instances) {
      stages_[i].runners.emplace_back(*instance, stage.role, lender, clock_, stop_.get_token(),
                                      record ? StageRunner::kSampleEveryRecordedNs : StageRunner::kSampleEveryNs);
    }
    if (record) stages_[i].recorder = std::make_unique<TurnRecorder>(start_ns_);
    if (stage.uses_workers()) {
      transforms_[i / 64] |= std::uint64_t{1} << (i % 64);
      continue;
    }
    stages_[i].first_thread = threads_.size();
    for (std::uint32_t slot = 0; slot < stage.slots(); ++slot) {
      OwnThread& own = threads_.emplace_back();
      own.stage = i;
      own.slot = slot;
    }
  }
  inside_ = threads_.size();
}

void Graph::start() {
  arena_ =
      std::make_unique<WorkerArena>(plan_.threads, plan_.stages.size(), [this](std::size_t stage) { work(stage); });
  std::size_t started = 0;
  try {
    for (OwnThread& own : threads_) {
      own.thread = std::thread([this, &own] { run_own_thread(own); });
      name_thread(own.thread, plan_.stages[own.stage].name, own.slot);
      ++started;
    }
  } catch (const std::system_error& refused) {
    const Error error(std::string("cannot start a thread: ") + refused.what());
    stop(&error);
    give_up_threads(threads_.size() - started);
  }
}

void Graph::give_up_threads(std::size_t count) {
  Errands errands;
  {
    const std::lock_guard lock(mutex_);
    inside_ -= count - 1;
    leave(errands);
  }
  run_errands(errands);
}

// --- threads of sources and sinks, and of transforms that wait -----------------------------------------------------

void Graph::run_own_thread(OwnThread& self) {
  Errands errands;
  BusyTally tally;
  std::optional<Error> error;
  const Role role = plan_.stages[self.stage].role;
  // Who goes on with a turn of a transform, or finishes a slot, is up to the order of the turns. The threads of such a
  // stage are as many as its slots, but none of them is a slot.
  const std::uint32_t slot = role == Role::transform ? FlowState::kAnySlot : self.slot;
  std::unique_lock lock(mutex_);
  std::int64_t now_ns = clock_.now_ns();
  while (!stopped_) {
    Firing* const firing = flow_.claim(self.stage, slot, batch_for(self.stage), now_ns);
    if (firing == nullptr) {
      if (flow_.ended(self.stage)) break;
      self.parked = true;
      ++stages_[self.stage].threads_parked;
      parked_stages_[self.stage / 64] |= std::uint64_t{1} << (self.stage % 64);
    }
    find_errands(firing, now_ns, errands);
    lock.unlock();
    run_errands(errands);
    if (firing == nullptr) {
      wait_for_signal(self);
      lock.lock();
      now_ns = clock_.now_ns();
      if (const auto& recorder = stages_[self.stage].recorder) recorder->add_wake(now_ns - self.woken_ns);
      continue;
    }
    const bool last = role == Role::sink && firing->kind == Firing::Kind::finish;
    const std::int64_t claimed_ns = std::exchange(now_ns, execute(*firing, tally, error));
    lock.lock();
    conclude(*firing, tally, error, claimed_ns, now_ns, errands);
    if (last) break;  // the other slots of this sink must not be kept waiting by one that has no turn any more
  }
  leave(errands);
  lock.unlock();
  run_errands(errands);
}

void Graph::wait_for_signal(OwnThread& self) {
  for (int i = 0; i < kLooksBeforeSleep && self.signal.load(std::memory_order_acquire) == 0; ++i) pause_briefly();
  self.signal.wait(0, std::memory_order_acquire);
  self.signal.store(0, std::memory_order_relaxed);
}

// --- workers -------------------------------------------------------------------------------------------------------

void Graph::work(std::size_t stage) {
  Errands errands;
  BusyTally tally;
  std::optional<Error> error;
  std::unique_lock lock(mutex_);
  --workers_starting_;
  std::int64_t now_ns = clock_.now_ns();
  if (!workers_called_ns_.empty()) {
    // The first ones had to be made, which takes longer and never happens again.
    if (++workers_arrived_ > plan_.threads) stages_[stage].recorder->add_wake(now_ns - workers_called_ns_.front());
    workers_called_ns_.pop_front();
  }
  while (Firing* const firing = next_for_worker(stage, now_ns)) {
    stage = firing->stage;
    const bool soon_back = stages_[stage].forecast.expected_ns() * firing->count < kSoonBackNs;
    workers_soon_back_ += soon_back ? 1 : 0;
    find_errands(firing, now_ns, errands);
    lock.unlock();
    run_errands(errands);
    const std::int64_t claimed_ns = std::exchange(now_ns, execute(*firing, tally, error));
    lock.lock();
    workers_soon_back_ -= soon_back ? 1 : 0;
    conclude(*firing, tally, error, claimed_ns, now_ns, errands);
  }
  --workers_active_;
  leave(errands);
  lock.unlock();
  run_errands(errands);
}

Firing* Graph::next_for_worker(std::size_t latest, std::int64_t now_ns) {
  if (stopped_) return nullptr;
  // What lies nearer to the sink than the stage just fired goes first: it empties links, and its input is in the cache.
  if (Firing* const firing = claim_from_sink(latest + 1, now_ns)) return firing;
  if (Firing* const firing = claim(latest, now_ns)) return firing;
  return claim_from_sink(0, now_ns);
}

Firing* Graph::claim(std::size_t stage, std::int64_t now_ns) {
  return flow_.claim(stage, FlowState::kAnySlot, batch_for(stage), now_ns);
}

/// A turn of the fireable transform nearest to the sink, of those from `first` on.
Firing* Graph::claim_from_sink(std::size_t first, std::int64_t now_ns) {
  for (std::size_t word = flow_.words(); word-- > first / 64;) {
    std::uint64_t candidates = flow_.fireable(word) & transforms_[word];
    if (word == first / 64) candidates &= ~std::uint64_t{0} << (first % 64);
    while (candidates != 0) {
      const auto bit = static_cast<std::size_t>(63 - std::countl_zero(candidates));
      if (Firing* const firing = claim(word * 64 + bit, now_ns)) return firing;
      candidates &= ~(std::uint64_t{1} << bit);
    }
  }
  return nullptr;
}

// --- one turn ------------------------------------------------------------------------------------------------------

std::int64_t Graph::execute(Firing& firing, BusyTally& tally, std::optional<Error>& error) {
  StageRunner& runner = stages_[firing.stage].runners[firing.slot];
  try {
    flow_.take_inputs(firing);
    tally =
        runner.run(firing, draining_.load(std::memory_order_relaxed) ? Sink::End::interrupted : Sink::End::complete);
    flow_.give_outputs(firing);
    return runner.last_ns();
  } catch (...) {
    error = as_error(std::current_exception());
    error->in_stage(plan_.stages[firing.stage].name);
    if (firing.kind == Firing::Kind::call) error->at_chunk(firing.first_index + runner.processed());
    tally = {};
    return clock_.now_ns();
  }
}

void Graph::conclude(Firing& firing, const BusyTally& tally, const std::optional<Error>& error, std::int64_t claimed_ns,
                     std::int64_t now_ns, Errands& errands) {
  StageEntry& stage = stages_[firing.stage];
  last_progress_ns_.store(now_ns, std::memory_order_relaxed);
  if (error) {
    flow_.abandon(firing, stage.runners[firing.slot].processed(), now_ns);
    stop_locked(&*error, errands);
    return;
  }
  stage.tally.add(tally);
  stage.forecast.note(tally.wall_ns, tally.calls);
  if (stage.recorder) stage.recorder->add(firing, tally, claimed_ns, now_ns);
  flow_.complete(firing, now_ns);
}

void Graph::leave(Errands& errands) {
  find_errands(nullptr, last_progress_ns(), errands);
  if (--inside_ != 0) return;
  end_ns_ = clock_.now_ns();
  errands.done = true;
}

// --- whom to wake --------------------------------------------------------------------------------------------------

void Graph::find_errands(const Firing* next, std::int64_t now_ns, Errands& errands) {
  flow_.settle(now_ns);
  if (stopped_) {
    for (std::size_t i = 0; i < stages_.size(); ++i) wake_parked(i, plan_.stages[i].slots(), now_ns, errands);
    return;
  }
  const bool put_off = may_put_off(next, now_ns);
  wake_fireable(put_off, now_ns, errands);
  call_workers(put_off, now_ns, errands);
  if (flow_.ended_stages() != ended_seen_) {
    ended_seen_ = flow_.ended_stages();
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      if (flow_.ended(i)) wake_parked(i, plan_.stages[i].slots(), now_ns, errands);
    }
  }
}

/// Whoever goes on with a short turn will be back here soon, and may leave sleepers asleep until then.
bool Graph::may_put_off(const Firing* next, std::int64_t now_ns) {
  if (next == nullptr || stages_[next->stage].forecast.expected_ns() == 0 ||
      stages_[next->stage].forecast.expected_ns() * next->count >= kSoonBackNs) {
    put_off_since_ns_ = 0;
    return false;
  }
  if (put_off_since_ns_ == 0) put_off_since_ns_ = now_ns;
  if (now_ns - put_off_since_ns_ < kPutOffNs) return true;
  put_off_since_ns_ = 0;
  return false;
}

void Graph::wake_fireable(bool put_off, std::int64_t now_ns, Errands& errands) {
  for (std::size_t word = 0; word < flow_.words(); ++word) {
    std::uint64_t candidates = flow_.fireable(word) & parked_stages_[word];
    while (candidates != 0) {
      const std::size_t stage = word * 64 + static_cast<std::size_t>(std::countr_zero(candidates));
      candidates &= candidates - 1;
      if (!put_off || flow_.worth_waking(stage)) wake_parked(stage, flow_.ready(stage), now_ns, errands);
    }
  }
}

void Graph::wake_parked(std::size_t index, std::uint32_t most, std::int64_t now_ns, Errands& errands) {
  StageEntry& stage = stages_[index];
  for (std::size_t i = stage.first_thread; most != 0 && stage.threads_parked != 0; ++i) {
    OwnThread& own = threads_[i];
    if (!own.parked) continue;
    own.parked = false;
    own.woken_ns = now_ns;
    --stage.threads_parked;
    --most;
    errands.wake.push_back(&own);
  }
  if (stage.threads_parked == 0) parked_stages_[index / 64] &= ~(std::uint64_t{1} << (index % 64));
}

void Graph::call_workers(bool put_off, std::int64_t now_ns, Errands& errands) {
  std::uint32_t turns = 0;
  std::int64_t backlog_ns = 0;
  std::size_t nearest_sink = 0;
  bool pressing = !put_off;
  for (std::size_t word = 0; word < flow_.words(); ++word) {
    std::uint64_t candidates = flow_.fireable(word) & transforms_[word];
    while (candidates != 0) {
      const std::size_t stage = word * 64 + static_cast<std::size_t>(std::countr_zero(candidates));
      candidates &= candidates - 1;
      const std::uint32_t ready = flow_.ready(stage);
      turns += ready;
      // A stage that never ran yet may take any time.
      backlog_ns +=
          ready * (stages_[stage].forecast.expected_ns() == 0 ? kSoonBackNs : stages_[stage].forecast.expected_ns());
      pressing = pressing || flow_.worth_waking(stage);
      nearest_sink = stage;
    }
  }
  if (!pressing && backlog_ns < kSoonBackNs) return;
  while (workers_active_ < plan_.threads && workers_starting_ < turns) {
    const bool cared_for = workers_soon_back_ + workers_starting_ != 0;
    if (cared_for && backlog_ns < kSoonBackNs) return;
    ++workers_active_;
    ++workers_starting_;
    ++inside_;
    errands.fire.push_back(nearest_sink);
    if (stages_[nearest_sink].recorder) workers_called_ns_.push_back(now_ns);
  }
}

void Graph::run_errands(Errands& errands) {
  for (OwnThread* const own : errands.wake) {
    own->signal.store(1, std::memory_order_release);
    own->signal.notify_one();
  }
  errands.wake.clear();
  for (const std::size_t stage : errands.fire) arena_->fire(stage);
  errands.fire.clear();
  if (errands.stop) {
    errands.stop = false;
    stop_.request_stop();
  }
  if (errands.done) {
    const std::lock_guard done_lock(done_mutex_);
    done_ = true;
    done_changed_.notify_all();
  }
}

// --- from outside --------------------------------------------------------------------------------------------------

bool Graph::wait_until_done(std::chrono::nanoseconds timeout) {
  std::unique_lock lock(done_mutex_);
  return done_changed_.wait_for(lock, timeout, [this] { return done_; });
}

void Graph::drain() {
  Errands errands;
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
    const std::int64_t now_ns = clock_.now_ns();
    flow_.drain(now_ns);
    find_errands(nullptr, now_ns, errands);
  }
  run_errands(errands);
}

void Graph::stop(const Error* failure) {
  Errands errands;
  {
    const std::lock_guard lock(mutex_);
    stop_locked(failure, errands);
    find_errands(nullptr, clock_.now_ns(), errands);
  }
  run_errands(errands);
}

void Graph::stop_locked(const Error* failure, Errands& errands) {
  if (failure != nullptr && !failure_ && !stopped_) failure_ = *failure;
  stopped_ = true;
  errands.stop = true;
}

std::optional<Error> Graph::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Graph::clean_up() {
  for (OwnThread& own : threads_) {
    if (own.thread.joinable()) own.thread.join();
  }
  arena_.reset();
  const std::int64_t now_ns = end_ns_;
  flow_.discard(now_ns);
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    if (plan_.stages[i].role != Role::sink || flow_.ended(i)) continue;
    for (auto& instance : plan_.stages[i].instances) static_cast<Sink&>(*instance).abandon();
  }
}

std::vector<std::string> Graph::stuck_stages() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    if (flow_.ledger().state(i).counts.busy != 0) names.push_back(plan_.stages[i].name);
  }
  for (OwnThread& own : threads_) {
    if (own.thread.joinable()) own.thread.detach();
  }
  return names;
}

}  // namespace millrace
