#include "tests/conformance/stage_cases.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>

#include "stages/basecalls.h"
#include "stages/checksum_writer.h"
#include "stages/detect_events.h"
#include "stages/fast5_reader.h"
#include "stages/raw_reader.h"
#include "stages/signal_qc_writer.h"
#include "tests/support/called_reads.h"
#include "tests/support/pod5_files.h"
#include "tests/support/slow5_files.h"
#include "tests/support/stage_driver.h"

namespace millrace::test {
namespace {

using Values = std::initializer_list<std::pair<const std::string, decltype(OptionValue::value)>>;

/// Options that are the same wherever the test writes.
std::function<Options(const TempDirectory&)> fixed(Values values) {
  const Options options = options_of(values);
  return [options](const TempDirectory&) { return Options(options.values(), {}, options.position()); };
}

std::function<Options(const TempDirectory&)> writing(const std::string& name) {
  return [name](const TempDirectory& directory) { return options_of({{"path", (directory / name).string()}}); };
}

/// Reads of a step signal with noise, among them the shortest possible.
std::optional<Feed> signal() {
  std::mt19937_64 random(11);
  Feed feed{{DType::i16, "signal", 0}, {}};
  for (const std::size_t samples : {4000, 1, 2, 700, 0, 9000}) {
    std::vector<std::int16_t> values(samples);
    for (std::size_t i = 0; i < samples; ++i) {
      const auto level = static_cast<std::int64_t>(400 + (i / 20 * 7919) % 300);
      values[i] = static_cast<std::int16_t>(level + static_cast<std::int64_t>(random() % 21) - 10);
    }
    const auto attributes =
        std::make_shared<const Attributes>(Attributes{{"read_id", "read_" + std::to_string(feed.chunks.size())},
                                                      {"digitisation", 8192.0},
                                                      {"offset", 13.5},
                                                      {"range", 1443.03},
                                                      {"sampling_rate", 4000.0}});
    feed.chunks.push_back(chunk_of(values, attributes));
    feed.type.max_bytes = std::max<std::uint64_t>(feed.type.max_bytes, feed.chunks.back().size_bytes());
  }
  return feed;
}

std::optional<Feed> events() {
  DetectEvents detector(options_of({}));
  auto reads = signal();
  Feed feed{detector.prepare(reads->type), {}};
  feed.chunks = drive(detector, std::move(reads->chunks));
  return feed;
}

/// Called reads of one run, one of them without a call.
std::optional<Feed> calls() {
  Feed feed{basecalls_type(100'000), {}};
  for (const std::size_t bases : {900, 0, 1, 100'000}) {
    const auto made = random_calls(bases, bases);
    feed.chunks.push_back(called(made.bases, made.qualities, described("read_" + std::to_string(bases))));
  }
  return feed;
}

std::filesystem::path fast5_file() { return test_data() / "fast5" / "ont_multi_fast5_vbz.fast5"; }

Options pod5_reader_options(const TempDirectory& directory) {
  return options_of({{"path", directory.write("in.pod5", pod5_of(made_reads({5000, 0, 1, 120'000, 77}))).string()}});
}

/// Reads with all that POD5 can hold of them.
std::optional<Feed> described_signal() {
  Feed feed{{DType::i16, "signal", 0}, {}};
  for (const auto& read : made_reads({4000, 1, 0, 9000})) {
    feed.chunks.push_back(chunk_of(read.samples, std::make_shared<const Attributes>(read.attributes)));
    feed.type.max_bytes = std::max<std::uint64_t>(feed.type.max_bytes, feed.chunks.back().size_bytes());
  }
  return feed;
}

std::optional<Feed> encoded() {
  if (!std::filesystem::exists(fast5_file())) return std::nullopt;
  Fast5Reader reader(options_of({{"path", fast5_file().string()}}));
  Feed feed{reader.prepare(), {}};
  for (std::uint64_t i = 0; auto chunk = reader.produce(i); ++i) feed.chunks.push_back(std::move(*chunk));
  return feed;
}

Options raw_reader_options(const TempDirectory& directory) {
  directory.write("in/2", std::string(10'000, 'x'));
  directory.write("in/10", "");
  directory.write("in/11", std::string(777, 'y'));
  const OptionValue::Table via = std::make_shared<const Options>(options_of({{"block", "1 kB"}}));
  return options_of({{"path", (directory / "in").string()}, {"via", via}});
}

/// With the table of signal(), which a stream without reads does not fail.
Options with_its_table(const TempDirectory&) {
  static const TempDirectory directory;
  static const std::filesystem::path table = [] {
    SignalQcWriter writer(options_of({{"path", (directory / "table.tsv").string()}}));
    auto reads = signal();
    writer.prepare(reads->type);
    drive(writer, std::move(reads->chunks));
    return directory / "table.tsv";
  }();
  return options_of({{"against", table.string()}, {"on_mismatch", "count"}});
}

Options slow5_reader_options(const TempDirectory& directory) {
  std::uint64_t seed = 0;
  for (const auto& coding : slow5_codings()) {
    const std::string name = "in/" + std::to_string(++seed) + (coding.text ? ".slow5" : ".blow5");
    directory.write(name, slow5_file(coding, slow5_reads(seed)));
  }
  return options_of({{"path", (directory / "in").string()}});
}

/// Blocks of a file that has its checksums beside it.
std::optional<Feed> checked_file() {
  static const TempDirectory directory;
  static const std::filesystem::path file = [] {
    const auto path = directory.write("data", std::string(50'000, 'd'));
    ChecksumWriter writer(options_of({{"path", path.string() + ".crc32c"}, {"piece", "512 B"}}));
    writer.prepare({DType::u8, "bytes", 50'000});
    drive(writer, [] {
      std::vector<Chunk> chunks;
      chunks.push_back(chunk_of(std::vector<std::uint8_t>(50'000, 'd')));
      return chunks;
    }());
    return path;
  }();
  const OptionValue::Table via = std::make_shared<const Options>(options_of({{"block", "4 KiB"}}));
  RawReader reader(options_of({{"path", file.string()}, {"via", via}}));
  Feed feed{reader.prepare(), {}};
  for (std::uint64_t i = 0; auto chunk = reader.produce(i); ++i) feed.chunks.push_back(std::move(*chunk));
  return feed;
}

}  // namespace

std::vector<StageCase> stage_cases() {
  return {
      {"raw_reader", raw_reader_options, {}},
      {"synthetic_reader", fixed({{"chunks", std::int64_t{7}}, {"chunk_bytes", "1001 B"}}), {}},
      {"pod5_reader", pod5_reader_options, {}},
      {"fast5_reader", fixed({{"path", fast5_file().string()}}), {}},
      {"slow5_reader", slow5_reader_options, {}},

      {"decode_signal", fixed({}), encoded},
      {"normalize", fixed({}), signal},
      {"detect_events", fixed({}), signal},
      {"basecall_hmm", fixed({}), signal},
      {"encode_zstd", fixed({}), signal},
      {"encode_lz4", fixed({}), signal},
      {"verify_crc32c", fixed({}), checked_file},
      {"command", fixed({{"command", "cat"}}), signal},  // cat answers every frame with itself
      {"spin", fixed({{"busy", "1 us"}}), signal},

      {"null_writer", fixed({}), signal},
      {"checksum_writer", writing("out.crc32c"), signal},
      {"pod5_writer", writing("out.pod5"), described_signal},
      {"raw_writer", writing("out.bin"), signal},
      {"events_writer", writing("out.tsv"), events},
      {"fastq_writer", writing("out.fastq.gz"), calls},
      {"sam_writer", writing("out.bam"), calls},
      {"signal_qc_writer", writing("out.tsv"), signal},
      {"slow5_writer", writing("out.blow5"), signal},
      {"verify_signal", with_its_table, signal},
  };
}

}  // namespace millrace::test
