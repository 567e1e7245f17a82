#include "pipeline/experiment/comparison_run_json.h"

#include <algorithm>
#include <cmath>

#include "pipeline/experiment/experiment_spec.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

/// Rates beyond this, or below its inverse, are no measurement; between them logarithms and sums stay in range.
constexpr double kMaxRate = 1e18;

Json measured(double value) { return value < 0 || !std::isfinite(value) ? Json() : Json(value); }

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

RunMechanism read_mechanism(const ReportReader& in) {
  RunMechanism result;
  result.io_wait_s = in.number("source_io_wait_s");
  result.io_wait_share = in.number("source_io_wait_share");
  result.starved_share = in.number("consumer_starved_share");
  result.advice_resident = in.number_or("advice_resident_fraction", -1);
  result.hit_bytes = in.count("cache_hit_bytes");
  result.cpu_s_per_gib = in.number_or("cpu_s_per_gib", -1);
  result.run_delay_share = in.number_or("run_delay_share", -1);
  result.transport = in.text("transport");
  result.transport_refused = in.text("transport_refused");
  result.waiting = in.text("waiting");
  result.cause = in.text("cause");
  result.waited_share = in.number("waited_share");
  return result;
}

OutputDigest read_output(const ReportReader& in) {
  OutputDigest result{in.text("path"), in.count("bytes"), in.text("sha256")};
  const bool hexadecimal = std::all_of(result.sha256.begin(), result.sha256.end(), [](char character) {
    return (character >= '0' && character <= '9') || (character >= 'a' && character <= 'f');
  });
  constexpr std::size_t kDigits = 64;
  if (result.sha256.size() != kDigits || !hexadecimal) in.refuse("'" + in.name("sha256") + "' is no SHA-256");
  return result;
}

std::int64_t read_duration(const ReportReader& in, const char* key) {
  const std::int64_t ns = in.seconds(key);
  if (ns < 0) in.refuse("'" + in.name(key) + "' is negative");
  return ns;
}

}  // namespace

Json mechanism_json(const RunMechanism& mechanism) {
  return {{"source_io_wait_s", mechanism.io_wait_s},
          {"source_io_wait_share", mechanism.io_wait_share},
          {"consumer_starved_share", mechanism.starved_share},
          {"advice_resident_fraction", measured(mechanism.advice_resident)},
          {"cache_hit_bytes", mechanism.hit_bytes},
          {"cpu_s_per_gib", measured(mechanism.cpu_s_per_gib)},
          {"run_delay_share", measured(mechanism.run_delay_share)},
          {"transport", mechanism.transport},
          {"transport_refused", mechanism.transport_refused},
          {"waiting", mechanism.waiting},
          {"cause", mechanism.cause},
          {"waited_share", mechanism.waited_share}};
}

Json run_json(const ComparisonRun& run) {
  Json outputs = Json::array();
  for (const auto& output : run.outputs) {
    outputs.push_back({{"path", output.path}, {"bytes", output.bytes}, {"sha256", output.sha256}});
  }
  return {{"block", run.block},
          {"order", run.order},
          {"input", run.input},
          {"rate", run.rate},
          {"wall_s", seconds(run.wall_ns)},
          {"spent_s", seconds(run.spent_ns)},
          {"bytes", run.bytes},
          {"chunks", run.chunks},
          {"cache_resident_before", measured(run.cache_resident_before)},
          {"cache_resident_at_read", measured(run.cache_resident_at_read)},
          {"excluded", run.excluded},
          {"reason", run.reason},
          {"verdict", run.verdict},
          {"confidence", run.confidence},
          {"reader_limits", run.reader_limits},
          {"reading_cannot_help", run.reading_cannot_help},
          {"outputs", std::move(outputs)},
          {"mechanism", mechanism_json(run.mechanism)}};
}

ComparisonRun read_run(const ReportReader& in) {
  ComparisonRun run;
  run.block = static_cast<std::uint32_t>(in.count_below("block", kMaxRepeats - 1));
  run.order = static_cast<std::uint32_t>(in.count_below("order", kMaxArms + 1));
  run.input = in.text("input");
  run.rate = in.number("rate");
  if (!(run.rate >= 1 / kMaxRate && run.rate <= kMaxRate)) in.refuse("'" + in.name("rate") + "' is no rate");
  run.wall_ns = read_duration(in, "wall_s");
  run.spent_ns = read_duration(in, "spent_s");
  run.bytes = in.count("bytes");
  run.chunks = in.count("chunks");
  run.cache_resident_before = in.number_or("cache_resident_before", -1);
  run.cache_resident_at_read = in.number_or("cache_resident_at_read", -1);
  run.excluded = in.flag("excluded");
  run.reason = in.text("reason");
  run.verdict = in.text("verdict");
  run.confidence = in.text("confidence");
  run.reader_limits = in.flag("reader_limits");
  run.reading_cannot_help = in.text("reading_cannot_help");
  in.each("outputs", [&run](const ReportReader& output) { run.outputs.push_back(read_output(output)); });
  run.mechanism = read_mechanism(in.object("mechanism"));
  return run;
}

}  // namespace millrace
