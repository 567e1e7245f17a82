#include "apps/bench_io_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pipeline/core/units.h"

namespace millrace::apps {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kGiB = 1024.0 * kMiB;
/// What two ways may differ by before one is called faster.
constexpr double kWorthwhile = 1.05;

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// The figures of a row over its runs.
struct Figures {
  double mib_s = 0;
  double least_mib_s = 0;
  double most_mib_s = 0;
  double cpu_s_per_gib = 0;
  double copied = 0;  ///< bytes copied per byte
};

double speed_of(const IoRun& run) {
  const double seconds = static_cast<double>(std::max<std::int64_t>(run.wall_ns, 1)) / 1e9;
  return static_cast<double>(std::max<std::uint64_t>(run.bytes, 1)) / kMiB / seconds;
}

Figures figures_of(const IoRow& row) {
  std::vector<double> speeds;
  std::vector<double> cpu;
  std::vector<double> copied;
  for (const IoRun& run : row.runs) {
    speeds.push_back(speed_of(run));
    cpu.push_back(static_cast<double>(run.cpu_ns) / 1e9 /
                  (static_cast<double>(std::max<std::uint64_t>(run.bytes, 1)) / kGiB));
    copied.push_back(run.bytes_copied_per_byte);
  }
  if (speeds.empty()) return {};
  const auto [least, most] = std::minmax_element(speeds.begin(), speeds.end());
  return {median_of(speeds), *least, *most, median_of(cpu), median_of(copied)};
}

/// "cold" when all runs were, else what the first other one was; "unknown" for writes, which have no input.
std::string cache_of(const IoRow& row) {
  for (const IoRun& run : row.runs) {
    if (run.cache != "cold") return run.cache.empty() ? "unknown" : run.cache;
  }
  return "cold";
}

bool has_op(const IoBench& bench, const std::string& op) {
  return std::any_of(bench.rows.begin(), bench.rows.end(), [&op](const IoRow& row) { return row.arm.op == op; });
}

std::string table_rows(const IoBench& bench, const std::string& op) {
  std::vector<std::pair<Figures, const IoRow*>> rows;
  for (const IoRow& row : bench.rows) {
    if (row.arm.op == op) rows.emplace_back(figures_of(row), &row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first.mib_s > b.first.mib_s; });
  std::string text;
  for (const auto& [figures, row] : rows) {
    text += fmt::format("{:<5} {:<28} {:<10} {:<7} {:>6.0f} {:>13} {:>9.3f} {:>6.2f}\n", op, row->arm.transport,
                        row->arm.advice, op == "write" ? "-" : cache_of(*row), figures.mib_s,
                        fmt::format("{:.0f}..{:.0f}", figures.least_mib_s, figures.most_mib_s), figures.cpu_s_per_gib,
                        figures.copied);
  }
  return text;
}

nlohmann::json json_of(const IoAdvice& advice) {
  return {{"transport", advice.transport},
          {"advice", advice.advice},
          {"confidence", advice.confidence},
          {"reason", advice.reason}};
}

}  // namespace

IoAdvice recommend(const std::vector<IoRow>& rows, const std::string& op) {
  const auto median_speed = [](const IoRow& row) { return figures_of(row).mib_s; };
  const IoRow* plain = nullptr;
  const IoRow* best = nullptr;
  for (const IoRow& row : rows) {
    if (row.arm.op != op || row.runs.empty()) continue;
    if (row.arm.transport == "buffered" && row.arm.advice == "none") plain = &row;
    if (best == nullptr || median_speed(row) > median_speed(*best)) best = &row;
  }
  if (plain == nullptr) return {};
  std::vector<double> ratios;  // how much faster the best is, in each repeat
  for (std::size_t i = 0; i < std::min(plain->runs.size(), best->runs.size()); ++i) {
    ratios.push_back(speed_of(best->runs[i]) / speed_of(plain->runs[i]));
  }
  const double middle = median_of(ratios);
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  const std::string figures =
      fmt::format("{:.2f}x as fast as buffered ({:.2f} to {:.2f} in {} repeats)", middle, *least, *most, ratios.size());
  const std::string name = best->arm.transport + (best->arm.advice == "none" ? "" : " with advice " + best->arm.advice);
  if (best == plain) return {"buffered", "none", "no difference", "nothing was faster"};
  if (middle <= kWorthwhile) {
    return {"buffered", "none", "no difference", fmt::format("the fastest, {}, was {}: within noise", name, figures)};
  }
  const bool always = ratios.size() > 1 && *least > kWorthwhile;
  return {best->arm.transport, best->arm.advice, always ? "sure" : "likely", figures};
}

std::string to_text(const IoBench& bench) {
  std::string text =
      fmt::format("{} at {}, blocks of {}, {} interleaved repeats; writes and copies include the fsync\n\n",
                  format_bytes(bench.bytes), bench.directory.string(), format_bytes(bench.block_bytes), bench.repeats);
  text += fmt::format("{:<5} {:<28} {:<10} {:<7} {:>6} {:>13} {:>9} {:>6}\n", "", "transport", "advice", "cache",
                      "MiB/s", "min..max", "CPU s/GiB", "copied");
  for (const char* const op : {"read", "write", "copy"}) text += table_rows(bench, op);
  text += "\n";
  for (const std::string op : {"read", "write"}) {
    if (!has_op(bench, op)) continue;
    const IoAdvice advice = recommend(bench.rows, op);
    text +=
        fmt::format("to {}: {}{} ({}): {}\n", op, advice.transport,
                    advice.advice == "none" ? "" : " with advice " + advice.advice, advice.confidence, advice.reason);
  }
  for (const auto& remark : bench.remarks) text += remark + "\n";
  return text;
}

std::string to_json(const IoBench& bench) {
  nlohmann::json json = {{"schema", "millrace.bench.io/1"},
                         {"path", bench.directory.string()},
                         {"file_bytes", bench.bytes},
                         {"block_bytes", bench.block_bytes},
                         {"depth", bench.depth},
                         {"remarks", bench.remarks},
                         {"rows", nlohmann::json::array()}};
  for (const IoRow& row : bench.rows) {
    const Figures figures = figures_of(row);
    json["rows"].push_back(
        {{"op", row.arm.op},
         {"transport", row.arm.transport},
         {"advice", row.arm.advice},
         {"cache", cache_of(row)},
         {"mib_s", {{"median", figures.mib_s}, {"min", figures.least_mib_s}, {"max", figures.most_mib_s}}},
         {"cpu_s_per_gib", figures.cpu_s_per_gib},
         {"bytes_copied_per_byte", figures.copied},
         {"runs", row.runs.size()}});
  }
  nlohmann::json& recommendation = json["recommendation"];
  recommendation = {{"read", nullptr}, {"write", nullptr}, {"confidence", nullptr}};
  for (const std::string op : {"write", "read"}) {  // the confidence of both is that of the reading, when there is one
    if (!has_op(bench, op)) continue;
    const IoAdvice advice = recommend(bench.rows, op);
    recommendation[op] = json_of(advice);
    recommendation["confidence"] = advice.confidence;
  }
  return json.dump(2);
}

}  // namespace millrace::apps
