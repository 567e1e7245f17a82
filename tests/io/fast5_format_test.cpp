#include "io/fast5_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "io/hdf5_format.h"
#include "pipeline/core/error.h"
#include "tests/support/places.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using Samples = std::vector<std::int16_t>;
using test::TempDirectory;

std::filesystem::path sample(const std::string& name) {
  return test::source_dir() / "tests" / "io" / "fast5" / name;
}

/// What make_samples.py wrote.
Samples expected_samples(std::int64_t seed, std::size_t count) {
  Samples samples(count);
  for (std::size_t i = 0; i < count; ++i) {
    samples[i] = static_cast<std::int16_t>((37 * static_cast<std::int64_t>(i) + 101 * seed) % 1021 - 200);
  }
  return samples;
}

/// The samples of a read, piece by piece out of the file's bytes.
Samples decoded(const std::string& file, const Fast5Read& read) {
  SignalDecoder decoder;
  Samples samples;
  if (!read.compact.empty()) {
    samples.resize(read.compact.size() / 2);
    decoder.decode(read.compact, read.coding, 0, samples);
  }
  for (const auto& piece : read.pieces) {
    Samples part(read.piece_samples);
    decoder.decode(std::as_bytes(std::span(file)).subspan(piece.extent.offset, piece.extent.length), read.coding,
                   piece.filter_mask, part);
    samples.insert(samples.end(), part.begin(), part.end());
  }
  EXPECT_GE(samples.size(), read.samples);
  samples.resize(read.samples);
  return samples;
}

std::map<std::int64_t, Fast5Read> by_number(std::vector<Fast5Read> reads) {
  std::map<std::int64_t, Fast5Read> result;
  for (auto& read : reads) result.emplace(read.attributes.integer("read_number").value_or(-1), std::move(read));
  return result;
}

TEST(Fast5Format, ReadsEveryStorageLayout) {
  for (const char* const name : {"layouts.fast5", "userblock.fast5", "latest.fast5"}) {
    const std::string file = test::contents_of(sample(name));
    const auto reads = by_number(index_fast5(sample(name)));
    const std::map<std::int64_t, std::size_t> samples{{1, 300}, {2, 40},  {3, 1000}, {4, 1050}, {5, 1050},
                                                      {6, 333}, {7, 100}, {8, 0},    {9, 250}};
    ASSERT_EQ(reads.size(), samples.size()) << name;
    for (const auto& [number, count] : samples) {
      ASSERT_EQ(reads.at(number).samples, count) << name << " read " << number;
      EXPECT_EQ(decoded(file, reads.at(number)), expected_samples(number, count)) << name << " read " << number;
    }
  }
}

TEST(Fast5Format, SaysHowTheSignalIsCodedAndCut) {
  const auto reads = by_number(index_fast5(sample("layouts.fast5")));
  const auto coding = [&](std::int64_t number) { return reads.at(number).attributes.text("coding"); };
  EXPECT_EQ(coding(1), "none");
  EXPECT_EQ(coding(4), "deflate");
  EXPECT_EQ(coding(5), "shuffle+deflate+fletcher32");
  EXPECT_EQ(coding(6), "fletcher32");
  EXPECT_EQ(reads.at(2).compact.size(), 80U);
  EXPECT_EQ(reads.at(4).pieces.size(), 6U);
  EXPECT_EQ(reads.at(4).piece_samples, 200U);
  EXPECT_EQ(reads.at(7).piece_samples, 5000U);
  EXPECT_EQ(reads.at(9).pieces.at(1).filter_mask, 1U);
}

TEST(Fast5Format, TakesTheAttributesOfMultiReadFiles) {
  const auto reads = by_number(index_fast5(sample("layouts.fast5")));
  const Attributes& attributes = reads.at(3).attributes;
  EXPECT_EQ(attributes.text("read_id"), "00000000-0000-4000-8000-000000000003");
  EXPECT_EQ(attributes.text("run_id"), "run");
  EXPECT_EQ(attributes.text("channel_number"), "3");
  EXPECT_EQ(attributes.text("end_reason"), "signal_positive");
  EXPECT_EQ(attributes.integer("samples"), 1000);
  EXPECT_EQ(attributes.integer("start_time"), 3000);
  EXPECT_EQ(attributes.integer("duration"), 1000);
  EXPECT_EQ(attributes.number("median_before"), 200.5);
  EXPECT_EQ(attributes.number("digitisation"), 8192);
  EXPECT_EQ(attributes.number("offset"), 6);
  EXPECT_EQ(attributes.number("range"), 1440.75);
  EXPECT_EQ(attributes.number("sampling_rate"), 4000);
}

TEST(Fast5Format, ConvertsAttributesOfUnusualTypesAndLivesWithoutMissingOnes) {
  const auto reads = index_fast5(sample("single.fast5"));
  ASSERT_EQ(reads.size(), 1U);
  const Attributes& attributes = reads[0].attributes;
  EXPECT_EQ(attributes.text("read_id"), "single-read");
  EXPECT_EQ(attributes.text("channel_number"), "77");
  EXPECT_EQ(attributes.text("run_id"), "run of text");
  EXPECT_EQ(attributes.integer("read_number"), 12);
  EXPECT_EQ(attributes.integer("start_time"), 5);
  EXPECT_EQ(attributes.number("digitisation"), 8192);
  EXPECT_EQ(attributes.number("offset"), -3);
  EXPECT_EQ(attributes.find("sampling_rate"), nullptr);
  EXPECT_EQ(attributes.find("median_before"), nullptr);
  EXPECT_EQ(decoded(test::contents_of(sample("single.fast5")), reads[0]), expected_samples(12, 64));
}

TEST(Fast5Format, OrdersReadsAsTheirSignalLiesInTheFile) {
  const auto reads = index_fast5(sample("layouts.fast5"));
  std::uint64_t last = 0;
  for (const auto& read : reads) {
    if (read.pieces.empty()) continue;
    EXPECT_GT(read.pieces.front().extent.offset, last);
    last = read.pieces.front().extent.offset;
  }
}

TEST(Fast5Format, GivesTheSameFromAnotherProcess) {
  for (const char* const name : {"layouts.fast5", "single.fast5"}) {
    const auto here = index_fast5(sample(name));
    const auto there = index_fast5_isolated(sample(name));
    ASSERT_EQ(there.size(), here.size());
    for (std::size_t i = 0; i < here.size(); ++i) {
      EXPECT_EQ(there[i].attributes.entries(), here[i].attributes.entries());
      EXPECT_EQ(there[i].samples, here[i].samples);
      EXPECT_EQ(there[i].coding, here[i].coding);
      EXPECT_EQ(there[i].piece_samples, here[i].piece_samples);
      EXPECT_EQ(there[i].compact, here[i].compact);
      ASSERT_EQ(there[i].pieces.size(), here[i].pieces.size());
      for (std::size_t j = 0; j < here[i].pieces.size(); ++j) {
        EXPECT_EQ(there[i].pieces[j].extent.offset, here[i].pieces[j].extent.offset);
        EXPECT_EQ(there[i].pieces[j].extent.length, here[i].pieces[j].extent.length);
        EXPECT_EQ(there[i].pieces[j].filter_mask, here[i].pieces[j].filter_mask);
        EXPECT_EQ(there[i].pieces[j].first, here[i].pieces[j].first);
      }
    }
  }
}

/// A multi-read file whose one read is made by `make(writer, group)`.
template <typename Make>
std::filesystem::path file_with(const TempDirectory& directory, const Make& make) {
  const auto path = directory / "one.fast5";
  std::filesystem::remove(path);
  Hdf5Writer writer(path);
  writer.set_attribute("/", {"file_version", std::string("2.2")});
  writer.create_group("read_x");
  writer.create_group("read_x/Raw");
  make(writer, std::string("read_x/Raw"));
  writer.close();
  return path;
}

TEST(Fast5Format, CallsAReadByItsGroupWhenItHasNoId) {
  const TempDirectory directory;
  const auto path = file_with(directory, [](Hdf5Writer& writer, const std::string& raw) {
    writer.write_contiguous(raw + "/Signal", DType::i16, {});
  });
  const auto reads = index_fast5(path);
  ASSERT_EQ(reads.size(), 1U);
  EXPECT_EQ(reads[0].attributes.text("read_id"), "x");
}

TEST(Fast5Format, AcceptsAFast5FileWithoutReads) {
  const TempDirectory directory;
  const auto path = directory / "none.fast5";
  Hdf5Writer writer(path);
  writer.set_attribute("/", {"file_version", std::string("2.2")});
  writer.close();
  EXPECT_TRUE(index_fast5(path).empty());
}

TEST(Fast5Format, RefusesWhatItCannotReadAndNamesItsPlace) {
  const TempDirectory directory;
  const std::vector<std::byte> bytes(200);
  using Make = std::function<void(Hdf5Writer&, const std::string&)>;
  const auto encoded = [&](std::uint64_t samples, std::vector<Hdf5Filter> filters) -> Make {
    return [&bytes, samples, filters](Hdf5Writer& writer, const std::string& raw) {
      writer.write_encoded(raw + "/Signal", DType::i16, samples, filters, bytes);
    };
  };
  const std::vector<std::pair<std::string, Make>> cases{
      {"no dataset", [](Hdf5Writer&, const std::string&) {}},
      {"f32 elements", [&](Hdf5Writer& writer,
                           const std::string& raw) { writer.write_contiguous(raw + "/Signal", DType::f32, bytes); }},
      {"filter 32001", encoded(100, {{32001, {}}})},
      {"1-byte integers", encoded(100, {{32020, {1, 1, 1, 1}}})},
      {"claims 1000000 samples", encoded(1'000'000, {{kHdf5Deflate, {1}}})},
      {"claims 101 samples", encoded(101, {})},
      {"cannot be printed",
       [](Hdf5Writer& writer, const std::string& raw) {
         writer.set_attribute(raw, {"read_id", std::string("a\tb")});
         writer.write_contiguous(raw + "/Signal", DType::i16, {});
       }},
  };
  for (const auto& [expected, make] : cases) {
    const auto path = file_with(directory, make);
    const auto error = test::error_of([&] { index_fast5_isolated(path); });
    ASSERT_TRUE(error) << expected;
    EXPECT_EQ(error->path(), path) << expected;
    EXPECT_NE(std::string(error->what()).find(expected), std::string::npos) << error->what();
    EXPECT_NE(std::string(error->what()).find("read_x"), std::string::npos) << error->what();
  }
}

TEST(Fast5Format, RefusesHdf5FilesThatAreNotFast5) {
  const TempDirectory directory;
  const auto path = directory / "other.h5";
  Hdf5Writer writer(path);
  writer.create_group("data");
  writer.close();
  const auto error = test::error_of([&] { index_fast5_isolated(path); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->path(), path);
  EXPECT_NE(error->message().find("not FAST5"), std::string::npos);
}

TEST(Fast5Format, RefusesEveryTruncation) {
  const TempDirectory directory;
  const std::string whole = test::contents_of(sample("latest.fast5"));
  for (std::size_t size = 0; size < whole.size(); size += 1511) {
    const auto path = directory.write("cut.fast5", whole.substr(0, size));
    const auto error = test::error_of([&] { index_fast5_isolated(path); });
    ASSERT_TRUE(error) << size;
    EXPECT_EQ(error->path(), path);
  }
}

/// Damages bytes mostly where metadata is: single bits, 0xff, lengths and addresses of eight bytes.
std::string damaged(std::string file, std::mt19937_64& random) {
  for (auto places = 1 + random() % 4; places > 0; --places) {
    const std::size_t at = random() % (random() % 2 == 0 ? std::min<std::size_t>(file.size(), 4096) : file.size());
    const std::size_t width = random() % 3 == 0 ? 8 : 1;
    for (std::size_t i = at; i < std::min(at + width, file.size()); ++i) {
      file[i] = static_cast<char>(random() % 2 == 0 ? random() : 0xff);
    }
    if (random() % 4 == 0) file[at] = static_cast<char>(file[at] ^ (1 << (random() % 8)));
  }
  return file;
}

TEST(Fast5Format, SurvivesDamageAndNeverPointsOutsideTheFile) {
  const TempDirectory directory;
  std::mt19937_64 random(5);
  int refused = 0;
  for (const char* const name : {"layouts.fast5", "latest.fast5", "single.fast5"}) {
    const std::string whole = test::contents_of(sample(name));
    for (int round = 0; round < 100; ++round) {
      const auto path = directory.write("damaged.fast5", damaged(whole, random));
      try {
        for (const auto& read : index_fast5_isolated(path)) {
          for (const auto& piece : read.pieces) {
            ASSERT_LE(piece.extent.length, whole.size());
            ASSERT_LE(piece.extent.offset, whole.size() - piece.extent.length);
          }
        }
      } catch (const Error& error) {
        ++refused;
        EXPECT_EQ(error.path(), path) << error.what();
      }
    }
  }
  EXPECT_GT(refused, 20);
}

TEST(Fast5Format, KnowsTheReadsOfRealFiles) {
  const auto data = test::test_data();
  if (!std::filesystem::exists(data / "fast5")) GTEST_SKIP() << "no real data in " << data;
  const auto reads = index_fast5(data / "fast5" / "ont_multi_fast5_vbz.fast5");
  ASSERT_EQ(reads.size(), 10U);
  const Attributes& first = reads.front().attributes;
  EXPECT_EQ(first.text("read_id"), "0000173c-bf67-44e7-9a9c-1ad0bc728e74");
  EXPECT_EQ(first.text("coding"), "vbz:0,2,1,1");
  EXPECT_EQ(first.text("channel_number"), "109");
  EXPECT_EQ(first.integer("start_time"), 4534321);
  EXPECT_EQ(first.number("offset"), 21);
  const auto single = index_fast5(data / "basecall_truth" / "read_ch228_file118.fast5");
  ASSERT_EQ(single.size(), 1U);
  EXPECT_EQ(single[0].attributes.text("channel_number"), "228") << "an integer in this file";
  EXPECT_EQ(single[0].samples, 29150U);
}

}  // namespace
}  // namespace millrace::io
