#include "pipeline/replay/replay.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "pipeline/call_forecast.h"
#include "pipeline/core/error.h"
#include "pipeline/flow_state.h"
#include "pipeline/histogram.h"
#include "pipeline/replay/shared_cores.h"
#include "pipeline/verdict.h"

namespace millrace {
namespace {

/// Chunks that have a size and nothing else: all show the same byte, which nobody looks at.
class Dummies final : public Lender {
 public:
  Dummies() {
    block_.data = &byte_;
    block_.capacity = std::numeric_limits<std::size_t>::max();
    block_.lender = this;
    block_.users = 1;  // its own: it is never given back
  }
  Buffer lend(std::size_t bytes) override {
    block_.users.fetch_add(1, std::memory_order_relaxed);
    return {&block_, bytes};
  }
  void take_back(BufferBlock& /*block*/) noexcept override {}
  Chunk chunk(std::uint64_t bytes) { return {lend(bytes), DType::u8}; }

 private:
  std::byte byte_{};
  BufferBlock block_;
};

FlowState make_flow(const RecordedRun& run) {
  std::vector<FlowState::StageShape> stages;
  for (const RecordedStage& stage : run.stages)
    stages.push_back({stage.role, stage.slots, stage.ordered, stage.splits, stage.inputs, stage.outputs});
  std::vector<FlowState::LinkShape> links;
  for (const RecordedLink& link : run.links) links.push_back({link.from, link.to, link.bounds, link.max_chunk_bytes});
  return {std::move(stages), links, 0};
}

/// What the calls of one stage cost in the replay.
struct Account {
  double cpu_ns = 0;
  double io_ns = 0;
  double other_ns = 0;
  Histogram times;
  CallForecast forecast;
};

/// Where one slot is in its script.
struct Place {
  std::uint64_t group = 0;
  std::size_t next = 0;
  bool finishing = false;
};

/// A thread that belongs to a stage, or a worker.
struct Actor {
  std::size_t stage = 0;                     ///< a worker: of its latest turn
  std::uint32_t slot = FlowState::kAnySlot;  ///< of a source or sink
  bool worker = true;
  enum class State { asleep, woken, in_turn, gone } state = State::asleep;
  Firing* firing = nullptr;
  std::int64_t began_ns = 0;
  std::int64_t wait_ns = 0;        ///< after the CPU part of the turn
  std::int64_t not_before_ns = 0;  ///< the turn ends then at the earliest
};

struct Alarm {
  std::int64_t at_ns = 0;
  std::uint64_t order = 0;
  std::size_t actor = 0;
  bool operator>(const Alarm& other) const {
    return at_ns > other.at_ns || (at_ns == other.at_ns && order > other.order);
  }
};

class Simulation {
 public:
  explicit Simulation(const RecordedRun& run)
      : run_(run),
        flow_(make_flow(run)),
        cores_(run.cores),
        accounts_(run.stages.size()),
        places_(run.stages.size()),
        threads_of_(run.stages.size()) {
    for (std::size_t i = 0; i < run.stages.size(); ++i) {
      places_[i].resize(run.stages[i].slots);
      if (run.stages[i].uses_workers()) continue;
      const bool bound = run.stages[i].role != Role::transform;  // as in Graph
      for (std::uint32_t slot = 0; slot < run.stages[i].slots; ++slot) {
        threads_of_[i].push_back(actors_.size());
        actors_.push_back({i, bound ? slot : FlowState::kAnySlot, false});
      }
    }
    first_worker_ = actors_.size();
    actors_.resize(first_worker_ + run.threads);
  }

  RunReport run() {
    for (std::size_t who = 0; who < first_worker_; ++who) wake(who, actors_[who].stage);
    while (!flow_.all_ended()) step();
    return report();
  }

 private:
  /// The next thing that happens: a thread has computed enough, has waited long enough, or wakes up.
  void step() {
    const auto cpu_ns = cores_.next_ns();
    if (cpu_ns && (alarms_.empty() || *cpu_ns <= alarms_.top().at_ns)) {
      now_ns_ = *cpu_ns;
      if (const auto who = cores_.happen()) wait_or_end(*who);
      return;
    }
    if (alarms_.empty()) throw config_error("this run cannot be replayed: it comes to a standstill");
    const Alarm alarm = alarms_.top();
    alarms_.pop();
    now_ns_ = alarm.at_ns;
    if (actors_[alarm.actor].state == Actor::State::in_turn) {
      end_turn(alarm.actor);
    } else {
      if (actors_[alarm.actor].worker) --starting_workers_;
      go_on(alarm.actor);
    }
  }

  // --- one turn

  /// The thread has nothing in its hands: it takes what it finds, or sleeps.
  void go_on(std::size_t who) {
    Actor& actor = actors_[who];
    actor.firing = actor.worker ? next_for_worker(actor.stage) : claim(actor.stage, actor.slot);
    if (actor.firing != nullptr) {
      begin_turn(who);
    } else {
      if (actor.worker) --active_workers_;
      actor.state = Actor::State::asleep;
    }
    look_after_others();
  }

  Firing* claim(std::size_t stage, std::uint32_t slot) {
    return flow_.claim(stage, slot, accounts_[stage].forecast.batch(), now_ns_);
  }

  /// As in Graph: what lies nearer to the sink than the latest turn, then that stage again, then anything.
  Firing* next_for_worker(std::size_t latest) {
    if (Firing* const firing = claim_from_sink(latest + 1)) return firing;
    if (Firing* const firing = claim(latest, FlowState::kAnySlot)) return firing;
    return claim_from_sink(0);
  }
  Firing* claim_from_sink(std::size_t first) {
    for (std::size_t i = run_.stages.size(); i-- > first;) {
      if (!run_.stages[i].uses_workers() || !flow_.can_fire(i)) continue;
      if (Firing* const firing = claim(i, FlowState::kAnySlot)) return firing;
    }
    return nullptr;
  }

  void begin_turn(std::size_t who) {
    Actor& actor = actors_[who];
    Firing& firing = *actor.firing;
    const RecordedStage& stage = run_.stages[firing.stage];
    Account& account = accounts_[firing.stage];
    actor.stage = firing.stage;
    actor.state = Actor::State::in_turn;
    actor.began_ns = now_ns_;
    actor.not_before_ns = 0;
    flow_.take_inputs(firing);
    auto cpu_ns = static_cast<double>(stage.hand_over_ns);
    double child_ns = 0;
    double wait_ns = stage.delay_ns;
    for (std::uint32_t n = 0; n < firing.count && !firing.ended; ++n) {
      const RecordedCall call = next_call(stage, firing, n);
      const bool by_the_clock = call.not_before_ns >= 0;
      const double io_ns = static_cast<double>(call.io_ns) * stage.wait_factor;
      const double other_ns = by_the_clock ? 0 : static_cast<double>(call.other_ns) * stage.wait_factor;
      if (by_the_clock) actor.not_before_ns = std::llround(static_cast<double>(call.not_before_ns) * stage.wait_factor);
      cpu_ns += static_cast<double>(call.cpu_ns) * stage.cpu_factor;
      child_ns += static_cast<double>(call.child_ns) * stage.wait_factor;
      wait_ns += io_ns + other_ns;
      account.io_ns += io_ns;
      account.other_ns += other_ns;
      if (call.gives) firing.outputs.push_back(dummies_.chunk(call.bytes_out));
    }
    account.cpu_ns += cpu_ns;
    account.other_ns += child_ns;  // the stage waits meanwhile, as it did in the run
    actor.wait_ns = std::llround(wait_ns);
    cores_.begin(who, std::llround(cpu_ns + child_ns), now_ns_);
  }

  /// Call number `n` of the turn; sets firing.ended where it gives nothing and the turn, or the stream, ends with it.
  RecordedCall next_call(const RecordedStage& stage, Firing& firing, std::uint32_t n) {
    Place& place = places_[firing.stage][firing.slot];
    const bool finishes = firing.kind == Firing::Kind::finish;
    if (firing.kind == Firing::Kind::call) {
      place = {firing.first_index + n, 0, false};
    } else if (finishes && !place.finishing) {
      place = {firing.slot, 0, true};
    }
    const CallScript& script = finishes ? *stage.finishes : *stage.calls;
    RecordedCall call;
    const bool over = script.groups() == 0 || (stage.role == Role::source && place.group >= script.groups());
    if (!over) {
      const auto group = static_cast<std::size_t>(place.group % script.groups());
      if (place.next < script.size(group)) call = script.call(group, place.next++);
    }
    if (stage.role == Role::sink) call.gives = false;
    firing.ended = !call.gives && (stage.role == Role::source || firing.kind != Firing::Kind::call);
    return call;
  }

  void wait_or_end(std::size_t who) {
    Actor& actor = actors_[who];
    const std::int64_t waited_ns = now_ns_ + actor.wait_ns;
    if (actor.not_before_ns > waited_ns)
      accounts_[actor.stage].other_ns += static_cast<double>(actor.not_before_ns - waited_ns);
    const std::int64_t until_ns = std::max(waited_ns, actor.not_before_ns);
    if (until_ns > now_ns_) {
      alarms_.push({until_ns, next_alarm_++, who});
    } else {
      end_turn(who);
    }
  }

  void end_turn(std::size_t who) {
    Actor& actor = actors_[who];
    Firing& firing = *actor.firing;
    Account& account = accounts_[actor.stage];
    const std::int64_t calls_ns =
        std::max<std::int64_t>(now_ns_ - actor.began_ns - run_.stages[actor.stage].hand_over_ns, 0);
    account.times.record(calls_ns / firing.count, firing.count);
    account.forecast.note(calls_ns, firing.count);
    const bool leaves = run_.stages[actor.stage].role == Role::sink && firing.kind == Firing::Kind::finish;
    flow_.give_outputs(firing);
    flow_.complete(firing, now_ns_);
    actor.firing = nullptr;
    if (!leaves) {
      go_on(who);
      return;
    }
    actor.state = Actor::State::gone;
    look_after_others();
  }

  // --- whom to wake

  void wake(std::size_t who, std::size_t stage) {
    Actor& actor = actors_[who];
    actor.state = Actor::State::woken;
    actor.stage = stage;
    alarms_.push({now_ns_ + run_.stages[stage].wake_ns, next_alarm_++, who});
  }

  void look_after_others() {
    flow_.settle(now_ns_);
    std::uint32_t turns = 0;
    std::size_t nearest_sink = 0;
    for (std::size_t i = 0; i < run_.stages.size(); ++i) {
      if (!flow_.can_fire(i)) continue;
      std::uint32_t ready = flow_.ready(i);
      if (run_.stages[i].uses_workers()) {
        turns += ready;
        nearest_sink = i;
        continue;
      }
      for (const std::size_t who : threads_of_[i]) {
        if (ready == 0) break;
        if (actors_[who].state != Actor::State::asleep) continue;
        wake(who, i);
        --ready;
      }
    }
    while (active_workers_ < run_.threads && starting_workers_ < turns) {
      const auto idle = std::find_if(actors_.begin() + static_cast<std::ptrdiff_t>(first_worker_), actors_.end(),
                                     [](const Actor& actor) { return actor.state == Actor::State::asleep; });
      ++active_workers_;
      ++starting_workers_;
      wake(static_cast<std::size_t>(idle - actors_.begin()), nearest_sink);
    }
  }

  // --- the end

  RunReport report() const {
    RunReport report;
    report.status = "ok";
    report.wall_ns = now_ns_;
    report.threads = run_.threads;
    report.environment.cpus = run_.cores;
    for (std::size_t i = 0; i < run_.stages.size(); ++i) report.stages.push_back(stage_report(i));
    for (std::size_t i = 0; i < run_.links.size(); ++i) report.links.push_back(link_report(i));
    report.verdict = judge(verdict_input(report));
    return report;
  }

  StageReport stage_report(std::size_t index) const {
    const RecordedStage& stage = run_.stages[index];
    const FlowState::Counters& counters = flow_.counters(index);
    const Account& account = accounts_[index];
    StageReport report;
    report.name = stage.name;
    report.type = stage.type;
    report.role = stage.role;
    report.slots = stage.slots;
    report.own_threads = stage.own_threads;
    report.chunks_in = counters.chunks_in;
    report.chunks_out = counters.chunks_out;
    report.bytes_in = counters.bytes_in;
    report.bytes_out = counters.bytes_out;
    report.time = flow_.ledger().times(index, now_ns_);
    std::int64_t left_ns = report.time.busy_ns;
    const auto take = [&left_ns](double wanted) {
      const std::int64_t got = std::min<std::int64_t>(std::llround(wanted), left_ns);
      left_ns -= got;
      return got;
    };
    report.busy.on_cpu_ns = take(account.cpu_ns);
    report.busy.io_wait_ns = take(account.io_ns);
    report.busy.other_wait_ns = take(account.other_ns);
    // What is left of the turns was spent waiting for a core: behind other threads of the run, or of other processes.
    report.busy.run_delay_ns = report.time.busy_ns - report.busy.sum_ns();
    report.call = {account.times.count(), account.times.quantile_ns(0.5), account.times.quantile_ns(0.9),
                   account.times.quantile_ns(0.99), account.times.max_ns()};
    report.io = stage.io;
    return report;
  }

  LinkReport link_report(std::size_t index) const {
    const RecordedLink& link = run_.links[index];
    const Link::Occupancy seen = flow_.link(index).occupancy(0, now_ns_);
    LinkReport report;
    report.from = run_.stages[link.from].name;
    report.to = run_.stages[link.to].name;
    report.capacity_chunks = link.bounds.chunks;
    report.capacity_bytes = link.bounds.bytes;
    report.mean_chunks = seen.mean_chunks;
    report.max_chunks = seen.max_chunks;
    report.time_full_ns = seen.full_ns;
    report.time_empty_ns = seen.empty_ns;
    report.starved_ns = flow_.ledger().starved_ns(index, now_ns_);
    report.blocked_ns = flow_.ledger().blocked_ns(index, now_ns_);
    report.dropped_chunks = seen.dropped;
    return report;
  }

  const RecordedRun& run_;
  Dummies dummies_;  // before the flow, which holds chunks of it
  FlowState flow_;
  SharedCores cores_;
  std::vector<Account> accounts_;           // by stage
  std::vector<std::vector<Place>> places_;  // by stage and slot
  std::vector<Actor> actors_;               // threads of stages, then the workers
  std::size_t first_worker_ = 0;
  std::vector<std::vector<std::size_t>> threads_of_;  // by stage: into actors_
  std::priority_queue<Alarm, std::vector<Alarm>, std::greater<>> alarms_;
  std::uint64_t next_alarm_ = 0;
  std::uint32_t active_workers_ = 0;
  std::uint32_t starting_workers_ = 0;
  std::int64_t now_ns_ = 0;
};

}  // namespace

RunReport replay(const RecordedRun& run) { return Simulation(run).run(); }

}  // namespace millrace
