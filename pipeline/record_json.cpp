#include "pipeline/record_json.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "pipeline/report_reader.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;
using Turn = StageRecord::Turn;

constexpr std::array<WhenFull, 3> kPolicies{WhenFull::block, WhenFull::drop_newest, WhenFull::drop_oldest};
constexpr std::uint64_t kMaxCount = std::numeric_limits<std::uint32_t>::max();
/// One turn may claim this much, 2.7 hours; as many turns as are kept then sum without overflow.
constexpr std::uint64_t kMaxTurnNs = 10'000'000'000'000;
/// As many bytes as one turn may have made, 1 PiB.
constexpr std::uint64_t kMaxTurnBytes = 1ULL << 50;

template <typename Value>
Json column(const StageRecord& record, Value value) {
  Json values = Json::array();
  for (const Turn& turn : record.turns) values.push_back(value(turn));
  return values;
}

/// A column whose values are all equal needs to be written once.
template <typename Value>
Json short_column(const StageRecord& record, Value value) {
  const Json values = column(record, value);
  const bool same =
      !values.empty() && std::all_of(values.begin(), values.end(), [&](const Json& v) { return v == values.front(); });
  return same ? values.front() : values;
}

WhenFull read_policy(const ReportReader& in) {
  const std::string text = in.text("when_full");
  for (const WhenFull policy : kPolicies)
    if (text == name_of(policy)) return policy;
  refuse_report("'" + in.name("when_full") + "' is none of block, drop_newest, drop_oldest");
}

template <typename Set>
void read_column(const ReportReader& in, const char* key, std::uint64_t limit, std::vector<Turn>& turns, Set set) {
  const auto checked = [&](std::uint64_t value) {
    if (value > limit) refuse_report("'" + in.name(key) + "' is out of range");
    return value;
  };
  if (!in.get(key).is_array()) {
    const std::uint64_t value = checked(in.count(key));
    for (Turn& turn : turns) set(turn, value);
    return;
  }
  const auto values = in.counts(key, turns.size());
  for (std::size_t i = 0; i < values.size(); ++i) set(turns[i], checked(values[i]));
}

std::vector<Turn> read_turns(const ReportReader& in) {
  const std::size_t size = in.array("cpu_ns").size();
  if (size > 2 * StageRecord::kMaxTurns) refuse_report("'" + in.name("cpu_ns") + "' is too long");
  std::vector<Turn> turns(size);
  const auto time = [&](const char* key, std::int64_t Turn::*field) {
    read_column(in, key, kMaxTurnNs, turns,
                [field](Turn& turn, std::uint64_t value) { turn.*field = static_cast<std::int64_t>(value); });
  };
  const auto number = [&](const char* key, std::uint32_t Turn::*field) {
    read_column(in, key, kMaxCount, turns,
                [field](Turn& turn, std::uint64_t value) { turn.*field = static_cast<std::uint32_t>(value); });
  };
  read_column(in, "kind", 2, turns,
              [](Turn& turn, std::uint64_t value) { turn.kind = static_cast<StageRecord::Kind>(value); });
  number("calls", &Turn::calls);
  number("chunks_out", &Turn::chunks_out);
  read_column(in, "bytes_out", kMaxTurnBytes, turns, [](Turn& turn, std::uint64_t value) { turn.bytes_out = value; });
  time("at_ns", &Turn::at_ns);
  time("cpu_ns", &Turn::cpu_ns);
  time("io_ns", &Turn::io_ns);
  time("other_ns", &Turn::other_ns);
  for (const Turn& turn : turns)
    if (turn.calls == 0 || turn.chunks_out > turn.calls)
      refuse_report("'" + in.name("calls") + "' does not fit chunks_out");
  return turns;
}

}  // namespace

Json json_of(const StageRecord& record) {
  Json inputs = Json::array();
  for (const auto& input : record.inputs)
    inputs.push_back({{"when_full", name_of(input.when_full)}, {"max_chunk_bytes", input.max_chunk_bytes}});
  Json turns;
  turns["kind"] = short_column(record, [](const Turn& turn) { return static_cast<int>(turn.kind); });
  turns["calls"] = short_column(record, [](const Turn& turn) { return turn.calls; });
  turns["chunks_out"] = short_column(record, [](const Turn& turn) { return turn.chunks_out; });
  turns["bytes_out"] = short_column(record, [](const Turn& turn) { return turn.bytes_out; });
  turns["at_ns"] = short_column(record, [](const Turn& turn) { return turn.at_ns; });
  turns["cpu_ns"] = column(record, [](const Turn& turn) { return turn.cpu_ns; });
  turns["io_ns"] = short_column(record, [](const Turn& turn) { return turn.io_ns; });
  turns["other_ns"] = short_column(record, [](const Turn& turn) { return turn.other_ns; });
  return {{"parallel", record.parallel},
          {"ordered", record.ordered},
          {"splits", record.splits},
          {"inputs", inputs},
          {"turns_made", record.turns_made},
          {"turns_kept", record.turns.size()},
          {"hand_over_ns", record.hand_over_ns},
          {"wake_ns", record.wake_ns},
          {"turns", turns}};
}

StageRecord read_record(const ReportReader& in) {
  StageRecord record;
  record.parallel = in.flag("parallel");
  record.ordered = in.flag("ordered");
  record.splits = in.flag("splits");
  in.each("inputs", [&](const ReportReader& input) {
    record.inputs.push_back({read_policy(input), input.count_below("max_chunk_bytes", kMaxTurnBytes)});
  });
  record.turns_made = in.count("turns_made");
  record.hand_over_ns = static_cast<std::int64_t>(in.count_below("hand_over_ns", kMaxTurnNs));
  record.wake_ns = static_cast<std::int64_t>(in.count_below("wake_ns", kMaxTurnNs));
  record.turns = read_turns(in.object("turns"));
  if (record.turns_made < record.turns.size()) refuse_report("'" + in.name("turns_made") + "' is less than are kept");
  return record;
}

}  // namespace millrace
