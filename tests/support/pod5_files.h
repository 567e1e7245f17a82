#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "io/pod5_writer.h"
#include "pipeline/core/attributes.h"

// POD5 files made by io::Pod5Writer, for machines without real ones.

namespace millrace::test {

struct MadeRead {
  Attributes attributes;
  std::vector<std::int16_t> samples;
};

inline std::string made_id(std::uint64_t number) {
  std::string id = "00000000-1111-4222-8333-000000000000";
  for (std::size_t at = id.size(); number != 0; number /= 10) id[--at] = static_cast<char>('0' + number % 10);
  return id;
}

/// `count` samples that look like signal: levels with noise, now and then the extremes.
inline std::vector<std::int16_t> made_signal(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::vector<std::int16_t> samples(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto level = static_cast<std::int64_t>(400 + (i / 17 * 7919 + seed) % 300);
    samples[i] = static_cast<std::int16_t>(level + static_cast<std::int64_t>(random() % 41) - 20);
    if (random() % 997 == 0) samples[i] = random() % 2 == 0 ? INT16_MIN : INT16_MAX;
  }
  return samples;
}

/// A read with a value of its own for everything that POD5 holds.
inline MadeRead made_read(std::uint64_t number, std::size_t samples) {
  const auto n = static_cast<std::int64_t>(number);
  const double unit = 0.5 * static_cast<double>(number);
  const std::string run = number % 3 == 2 ? "run-b" : "run-a";
  MadeRead read;
  read.attributes = {{"read_id", made_id(number)},
                     {"read_number", n + 100},
                     {"start_time", n * 1'000'000'000'000},
                     {"median_before", 200.25 + unit},
                     {"channel_number", std::to_string(n % 512 + 1)},
                     {"start_mux", n % 4 + 1},
                     {"pore_type", std::string(number % 2 == 0 ? "not_set" : "R10.4.1")},
                     {"offset", 13.5},
                     {"range", 1443.0},
                     {"digitisation", 8192.0},
                     {"end_reason", std::string(number % 2 == 0 ? "signal_positive" : "unblock_mux_change")},
                     {"end_reason_forced", n % 2},
                     {"num_minknow_events", n * 7},
                     {"num_reads_since_mux_change", n},
                     {"time_since_mux_change", unit},
                     {"tracked_scaling_scale", 1.5 + unit},
                     {"tracked_scaling_shift", 2.5 + unit},
                     {"predicted_scaling_scale", 3.5 + unit},
                     {"predicted_scaling_shift", 4.5 + unit},
                     {"open_pore_level", 230.75},
                     {"sampling_rate", 4000.0},
                     {"run_id", run},
                     {"run_info", "acquisition_id\t" + run + "\nadc_max\t4095\nadc_min\t-4096\nexp_start_time\t" +
                                      "2019-05-13T11:11:43Z\nflow_cell_id\tFAB1\nsample_rate\t4000\n"}};
  read.samples = made_signal(number, samples);
  return read;
}

/// The bytes of a file of these reads.
inline std::string pod5_of(std::span<const MadeRead> reads, const io::Pod5Writer::Settings& settings = {}) {
  std::string file;
  io::Pod5Writer writer(settings, [&file](std::span<const std::byte> bytes) {
    file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  for (const auto& read : reads) writer.add(read.attributes, read.samples);
  writer.finish();
  return file;
}

/// Reads of these numbers of samples, numbered from 1.
inline std::vector<MadeRead> made_reads(const std::vector<std::size_t>& samples) {
  std::vector<MadeRead> reads;
  for (const std::size_t count : samples) reads.push_back(made_read(reads.size() + 1, count));
  return reads;
}

}  // namespace millrace::test
