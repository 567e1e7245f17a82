#include <cmath>
#include <nlohmann/json.hpp>

#include "pipeline/report_difference.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

double finite(double value) { return std::isfinite(value) ? value : 0.0; }

Json json_of(const std::vector<DifferingFact>& facts) {
  Json list = Json::array();
  for (const auto& fact : facts) list.push_back({{"what", fact.what}, {"first", fact.first}, {"second", fact.second}});
  return list;
}

Json json_of(const RunSide& side) {
  return {{"name", side.name},         {"status", side.status},
          {"started", side.started},   {"wall_s", static_cast<double>(side.wall_ns) / 1e9},
          {"bytes", side.bytes},       {"chunks", side.chunks},
          {"rate", finite(side.rate)}, {"peak_rss_bytes", side.peak_rss_bytes},
          {"verdict", side.verdict},   {"confidence", side.confidence}};
}

Json json_of(const std::optional<StageSide>& side) {
  if (!side) return {};
  Json share = Json::object();
  Json seconds = Json::object();
  for (std::size_t i = 0; i < kSlotParts; ++i) {
    share[name_of(static_cast<SlotPart>(i))] = finite(side->share.at(i));
    seconds[name_of(static_cast<SlotPart>(i))] = finite(side->seconds.at(i));
  }
  return {{"slots", side->slots},
          {"share", share},
          {"s_per_unit", seconds},
          {"p50_ns", side->p50_ns},
          {"p99_ns", side->p99_ns}};
}

Json json_of(const std::optional<LinkSide>& side) {
  if (!side) return {};
  return {{"capacity_chunks", side->capacity_chunks},
          {"fill", finite(side->fill)},
          {"full", finite(side->full)},
          {"empty", finite(side->empty)}};
}

template <typename Entry>
Json sides_of(const std::vector<Entry>& entries) {
  Json list = Json::array();
  for (const auto& entry : entries)
    list.push_back({{"name", entry.name}, {"first", json_of(entry.first)}, {"second", json_of(entry.second)}});
  return list;
}

}  // namespace

std::string to_json(const RunDifference& difference) {
  Json changes = Json::array();
  for (const auto& change : difference.changes)
    changes.push_back({{"stage", change.stage},
                       {"part", name_of(change.part)},
                       {"first_s", finite(change.first_s)},
                       {"second_s", finite(change.second_s)}});
  Json json;
  json["schema"] = "millrace.difference/1";
  json["surroundings"] = json_of(difference.surroundings);
  json["config"] = json_of(difference.config);
  json["first"] = json_of(difference.first);
  json["second"] = json_of(difference.second);
  json["unit"] = difference.unit;
  json["ratio"] = difference.ratio > 0 ? Json(finite(difference.ratio)) : Json();
  json["interval95"] =
      difference.interval ? Json({finite(difference.interval->low), finite(difference.interval->high)}) : Json();
  json["windows"] =
      difference.interval ? Json({difference.interval->first_windows, difference.interval->second_windows}) : Json();
  json["extra_s"] = finite(difference.extra_s);
  json["stages"] = sides_of(difference.stages);
  json["links"] = sides_of(difference.links);
  json["changes"] = changes;
  json["not_comparable"] = difference.not_comparable.empty() ? Json() : Json(difference.not_comparable);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace millrace
