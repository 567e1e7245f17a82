#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/run_info.h"
#include "pipeline/core/attributes.h"
#include "stages/basecalls.h"
#include "tests/support/command.h"
#include "tests/support/stage_driver.h"

// Reads as a caller hands them on, for the tests of what writes them.

namespace millrace::test {

/// A chunk of calls; as many qualities as bases.
inline Chunk called(std::string_view bases, const std::vector<std::uint8_t>& qualities, Attributes attributes) {
  std::vector<std::uint8_t> rows(bases.begin(), bases.end());
  rows.insert(rows.end(), qualities.begin(), qualities.end());
  const Chunk flat = chunk_of(rows, std::make_shared<const Attributes>(std::move(attributes)));
  return flat.with(Buffer(flat.buffer()), DType::u8, {2, bases.size()});
}

/// All that is known of a read: run info with what an instrument writes.
inline Attributes described(const std::string& id, const std::string& run = "run-a") {
  const io::RunInfo info{{"flow_cell_id", "FAO12345"},
                         {"device_id", "MN17000"},
                         {"exp_start_time", "2023-06-22T07:17:48Z"},
                         {"sample_id", "yeast 7"}};
  return {{"read_id", id},
          {"run_id", run},
          {"run_info", io::text_of(info)},
          {"model", "r94_5mers"},
          {"samples", std::int64_t{8000}},
          {"trimmed_samples", std::int64_t{120}},
          {"sampling_rate", 4000.0},
          {"start_time", std::int64_t{1234}},
          {"start_mux", std::int64_t{3}},
          {"channel_number", std::string("427")},
          {"read_number", std::int64_t{1056}},
          {"digitisation", 8192.0},
          {"range", 1024.0},
          {"offset", 10.0},
          {"scaling_shift", 630.0},
          {"scaling_scale", 96.0},
          {"scaling_version", std::string("med_mad")},
          {"mean_quality", 12.5}};
}

/// The tags that described() gives, as SAM writes them.
inline constexpr std::string_view kDescribedTags =
    "RG:Z:run-a_r94_5mers\tqs:f:12.5\tns:i:8000\tts:i:120\tdu:f:2\tst:Z:2023-06-22T07:17:48.309+00:00\tmx:i:3\t"
    "ch:i:427\trn:i:1056\tsm:f:80\tsd:f:12\tsv:Z:med_mad";

struct Calls {
  std::string bases;
  std::vector<std::uint8_t> qualities;
};

inline Calls random_calls(std::uint64_t seed, std::size_t bases) {
  std::mt19937_64 random(seed);
  Calls calls{std::string(bases, 'N'), std::vector<std::uint8_t>(bases)};
  for (char& base : calls.bases) base = "ACGT"[random() % 4];
  for (auto& quality : calls.qualities) quality = static_cast<std::uint8_t>(random() % 94);
  return calls;
}

/// As FASTQ and SAM write them.
inline std::string ascii_of(const std::vector<std::uint8_t>& qualities) {
  std::string text;
  for (const auto quality : qualities) text += static_cast<char>('!' + quality);
  return text;
}

/// Debian's samtools; tests skip what needs it where it is not installed.
inline constexpr const char* kSamtools = "/usr/bin/samtools";

/// Runs another program to its end.
inline CommandResult run_program(const std::filesystem::path& program, const std::vector<std::string>& arguments) {
  Command::Settings settings;
  settings.program = program;
  return Command(arguments, settings).wait();
}

}  // namespace millrace::test
