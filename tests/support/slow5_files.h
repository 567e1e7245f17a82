#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "io/slow5_encoder.h"
#include "io/slow5_header.h"
#include "pipeline/core/attributes.h"

// SLOW5 and BLOW5 files made in memory, for tests that need some.

namespace millrace::test {

/// A read as a test wants it in a file.
struct Slow5Sample {
  Attributes attributes;
  std::uint32_t group = 0;
  std::vector<std::int16_t> samples;
};

/// Every coding that is supported, text last.
inline std::vector<io::Slow5Coding> slow5_codings() {
  using Packing = io::Slow5Packing;
  using Signal = io::Slow5SignalCoding;
  std::vector<io::Slow5Coding> codings;
  for (const auto packing : {Packing::none, Packing::zlib, Packing::zstd}) {
    for (const auto signal : {Signal::none, Signal::svb_zd}) codings.push_back({false, packing, signal});
  }
  codings.push_back({true, Packing::none, Signal::none});
  return codings;
}

/// A name of letters and digits for a parameterised test.
inline std::string test_name_of(const io::Slow5Coding& coding) {
  std::string name;
  for (const char c : io::text_of(coding)) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

/// Reads of 0, 1, 2, 3, 5 and some thousand samples with all that the usual fields hold, in two read groups.
inline std::vector<Slow5Sample> slow5_reads(std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<Slow5Sample> reads;
  for (const std::size_t count : {0, 1, 2, 3, 5, 3000, 7001}) {
    Slow5Sample read;
    const auto number = static_cast<std::int64_t>(reads.size());
    read.attributes = Attributes{{"read_id", "read-" + std::to_string(seed) + "-" + std::to_string(number)},
                                 {"digitisation", 8192.0},
                                 {"offset", 13.0 + static_cast<double>(number)},
                                 {"range", 1443.030273},
                                 {"sampling_rate", 4000.0},
                                 {"channel_number", std::to_string(100 + number)},
                                 {"median_before", 200.25},
                                 {"read_number", number},
                                 {"start_mux", std::int64_t{3}},
                                 {"start_time", std::int64_t{1} << 40},
                                 {"end_reason", "signal_positive"}};
    read.group = static_cast<std::uint32_t>(number % 2);
    for (std::size_t i = 0; i < count; ++i) {
      const bool jump = random() % 50 == 0;
      read.samples.push_back(static_cast<std::int16_t>(jump ? random() : 400 + random() % 200));
    }
    reads.push_back(std::move(read));
  }
  return reads;
}

inline io::Slow5Header slow5_header() {
  io::Slow5Header header;
  header.groups = 2;
  header.attributes = {{"exp_start_time", {"2020-01-01T00:00:00Z", "."}}, {"run_id", {"run-a", "run-b"}}};
  header.fields = io::slow5_fields_for(Attributes{});
  return header;
}

/// The bytes of a whole file.
inline std::string slow5_file(const io::Slow5Coding& coding, const std::vector<Slow5Sample>& reads,
                              const io::Slow5Header& header = slow5_header()) {
  const std::string body = io::body_text_of(header);
  std::string file = coding.text ? io::text_of(header)
                                 : io::blow5_start_of(header, coding, static_cast<std::uint32_t>(body.size())) + body;
  io::Slow5RecordEncoder encoder(header.fields, coding);
  for (const auto& read : reads) {
    const auto record = encoder.encode(read.attributes, read.group, read.samples);
    file.append(reinterpret_cast<const char*>(record.data()), record.size());
  }
  if (!coding.text) file += io::kBlow5EndMark;
  return file;
}

}  // namespace millrace::test
