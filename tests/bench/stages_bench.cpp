// Speed of the compute stages, one instance on one core, without an engine. Times are per call; "bytes_per_second" is
// of the stage's input, "ns_per_item" of its samples (events_writer: events).

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "stages/detect_events.h"
#include "stages/encode_lz4.h"
#include "stages/encode_zstd.h"
#include "stages/events_writer.h"
#include "stages/normalize.h"
#include "tests/support/stage_driver.h"

namespace millrace {
namespace {

/// A pore's signal as generated for R9.4: a level for 9 +- 4 samples, normal noise on it.
std::vector<std::int16_t> pore_signal(std::size_t samples) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> level(500, 75);
  std::normal_distribution<double> dwell(9, 4);
  std::normal_distribution<double> noise(0, 10);
  std::vector<std::int16_t> signal;
  while (signal.size() < samples) {
    const double current = level(random);
    for (double left = std::max(1.0, std::round(dwell(random))); left > 0 && signal.size() < samples; --left) {
      signal.push_back(static_cast<std::int16_t>(current + noise(random)));
    }
  }
  return signal;
}

Chunk as_float(const Chunk& signal) {
  const auto samples = signal.view<std::int16_t>();
  return test::chunk_of(std::vector<float>(samples.begin(), samples.end()));
}

void count_items(benchmark::State& state, std::uint64_t items_per_call) {
  state.counters["per_item"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(items_per_call),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// Calls `stage` again and again with the same chunk, which it sees as shared.
void measure(benchmark::State& state, Transform& stage, const Chunk& input, const char* content) {
  test::RecyclingLender lender;
  const test::LendFrom use(lender);
  stage.prepare({input.dtype(), content, input.size_bytes()});
  std::uint64_t bytes_out = 0;
  for (auto _ : state) {
    const auto output = stage.process(input);
    bytes_out = output->size_bytes();
    benchmark::DoNotOptimize(output->bytes().data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(input.size_bytes()));
  count_items(state, input.elements());
  state.counters["out_per_in"] = static_cast<double>(bytes_out) / static_cast<double>(input.size_bytes());
}

void BM_Normalize(benchmark::State& state) {
  Normalize stage{Options()};
  measure(state, stage, test::chunk_of(pore_signal(static_cast<std::size_t>(state.range(0)))), "signal");
}
BENCHMARK(BM_Normalize)->Arg(500)->Arg(4000)->Arg(50'000)->Arg(1'000'000);

void BM_DetectEvents(benchmark::State& state) {
  DetectEvents stage{Options()};
  measure(state, stage, test::chunk_of(pore_signal(static_cast<std::size_t>(state.range(0)))), "signal");
}
BENCHMARK(BM_DetectEvents)->Arg(500)->Arg(4000)->Arg(50'000)->Arg(1'000'000);

void BM_DetectEventsOfFloats(benchmark::State& state) {
  DetectEvents stage{Options()};
  const Chunk raw = test::chunk_of(pore_signal(static_cast<std::size_t>(state.range(0))));
  measure(state, stage, as_float(raw), "signal");
}
BENCHMARK(BM_DetectEventsOfFloats)->Arg(50'000);

template <typename Encoder>
void BM_Encode(benchmark::State& state) {
  Encoder stage(test::options_of({{"level", state.range(1)}}));
  measure(state, stage, test::chunk_of(pore_signal(static_cast<std::size_t>(state.range(0)))), "signal");
}
BENCHMARK(BM_Encode<EncodeZstd>)->Args({50'000, -5})->Args({50'000, 1})->Args({50'000, 3})->Args({2'000'000, 3});
BENCHMARK(BM_Encode<EncodeLz4>)->Args({50'000, 0})->Args({50'000, 9})->Args({2'000'000, 0});

void BM_EventsWriter(benchmark::State& state) {
  DetectEvents detect{Options()};
  detect.prepare({DType::i16, "signal", 100'000});
  const auto attributes = std::make_shared<Attributes>();
  attributes->set("read_id", std::string("c99357df-c74f-4ac0-bb2b-10d0414866c0"));
  const Chunk events = *detect.process(test::chunk_of(pore_signal(50'000), attributes));
  const auto directory = std::filesystem::temp_directory_path() / ("stages_bench_" + std::to_string(getpid()));
  std::filesystem::create_directory(directory);
  std::int64_t bytes = 0;
  {
    EventsWriter writer(test::options_of({{"path", (directory / "events.tsv").string()}}));
    writer.prepare({DType::f32, "events", 1 << 20});
    for (auto _ : state) writer.consume(events);
    bytes = static_cast<std::int64_t>(writer.io_stats()->bytes);
    writer.abandon();
  }
  std::filesystem::remove_all(directory);
  count_items(state, events.shape()[0]);
  state.counters["text_bytes_per_second"] = benchmark::Counter(static_cast<double>(bytes), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_EventsWriter)->Iterations(300);

}  // namespace
}  // namespace millrace
