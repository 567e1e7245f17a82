#include "io/fast5_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/hdf5_format.h"
#include "io/run_info.h"
#include "pipeline/core/error.h"
#include "tests/support/places.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using Samples = std::vector<std::int16_t>;
using test::TempDirectory;

std::filesystem::path sample(const std::string& name) { return test::source_dir() / "tests" / "io" / "fast5" / name; }

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
  ASSERT_TRUE(reads.at(3).run);
  EXPECT_EQ(reads.at(3).run->id, "run");
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
  ASSERT_TRUE(reads[0].run);
  EXPECT_EQ(reads[0].run->id, "run of text");
  EXPECT_EQ(attributes.integer("read_number"), 12);
  EXPECT_EQ(attributes.integer("start_time"), 5);
  EXPECT_EQ(attributes.number("digitisation"), 8192);
  EXPECT_EQ(attributes.number("offset"), -3);
  EXPECT_EQ(attributes.find("sampling_rate"), nullptr);
  EXPECT_EQ(attributes.find("median_before"), nullptr);
  EXPECT_EQ(decoded(test::contents_of(sample("single.fast5")), reads[0]), expected_samples(12, 64));
}

std::vector<Fast5Read> varieties() { return index_fast5(sample("varieties.fast5")); }

/// The reads of varieties.fast5 by the number in their names.
std::map<int, Fast5Read> by_name(std::vector<Fast5Read> reads) {
  std::map<int, Fast5Read> result;
  for (auto& read : reads) result.emplace(read.attributes.text("read_id")->back() - '0', std::move(read));
  return result;
}

TEST(Fast5Format, TellsTheRunOfEveryRead) {
  const auto reads = by_name(varieties());
  ASSERT_EQ(reads.size(), 5U);
  ASSERT_TRUE(reads.at(1).run);
  EXPECT_EQ(reads.at(1).run->id, "run-1");
  EXPECT_EQ(reads.at(1).run->info,
            "acquisition_id\trun-1\nasic_temp\t31.5\ndevice_id\tMN1\nexp_start_time\t2019-05-13T11:11:43Z\n"
            "run_id\trun-1\nsample_frequency\t4000\nsequencing_kit\tsqk-lsk109\n");
  ASSERT_TRUE(reads.at(4).run);
  EXPECT_EQ(reads.at(4).run->id, "run-4");
  EXPECT_EQ(reads.at(4).run->info,
            "acquisition_id\trun-4\nasic_id\t7\nasic_temp\t30.25\ndevice_id\tMN1\n"
            "exp_start_time\t2019-05-13T11:11:43Z\nrun_id\trun-4\n");
  EXPECT_FALSE(reads.at(5).run);
}

TEST(Fast5Format, KeepsOneRunForGroupsThatAreSharedByLinksOrCopied) {
  for (const auto& reads : {by_name(varieties()), by_name(index_fast5_isolated(sample("varieties.fast5")))}) {
    EXPECT_EQ(reads.at(1).run, reads.at(2).run) << "a hard and a soft link";
    EXPECT_EQ(reads.at(1).run, reads.at(3).run) << "a copy";
    EXPECT_NE(reads.at(1).run, reads.at(4).run);
  }
}

TEST(Fast5Format, TakesAttributesOfAnyStringAndNumberType) {
  const auto reads = by_name(varieties());
  EXPECT_EQ(reads.at(1).attributes.text("pore_type"), "r9.4.1");
  EXPECT_EQ(reads.at(1).attributes.integer("start_mux"), 3);
  const Attributes& second = reads.at(2).attributes;
  EXPECT_EQ(second.text("pore_type"), "r10");
  EXPECT_EQ(second.integer("read_number"), 2);
  EXPECT_EQ(second.integer("start_time"), 2000);
  EXPECT_EQ(second.integer("duration"), 20);
  EXPECT_EQ(second.integer("start_mux"), 4);
  EXPECT_EQ(second.number("median_before"), 200.25);
  EXPECT_EQ(second.text("channel_number"), "112");
  EXPECT_EQ(second.number("digitisation"), 8192);
  EXPECT_EQ(second.number("offset"), -7);
  EXPECT_EQ(second.number("range"), 1440.5);
  EXPECT_EQ(second.number("sampling_rate"), 4000);
  const auto double_of = [&second](const char* name) { return std::holds_alternative<double>(*second.find(name)); };
  EXPECT_TRUE(double_of("digitisation") && double_of("offset") && double_of("sampling_rate")) << "one type each";
}

TEST(Fast5Format, NamesTheEndReasonHoweverItIsStored) {
  const auto reads = by_name(varieties());
  EXPECT_EQ(reads.at(2).attributes.text("end_reason"), "signal_positive") << "a bare number";
  EXPECT_EQ(reads.at(3).attributes.text("end_reason"), "mux_change") << "a text";
  EXPECT_EQ(reads.at(4).attributes.text("end_reason"), "partial") << "an enumeration";
  EXPECT_EQ(reads.at(5).attributes.find("end_reason"), nullptr) << "a number that means nothing";
}

TEST(Fast5Format, LivesWithFieldsThatChannelIdLacks) {
  const auto reads = by_name(varieties());
  EXPECT_EQ(reads.at(3).attributes.number("sampling_rate"), 4000) << "the sample_frequency of the run";
  EXPECT_EQ(reads.at(3).attributes.find("offset"), nullptr);
  EXPECT_EQ(reads.at(3).attributes.number("range"), 1440.75);
  for (const char* const name : {"channel_number", "sampling_rate", "read_number", "pore_type"}) {
    EXPECT_EQ(reads.at(5).attributes.find(name), nullptr) << name;
  }
  EXPECT_EQ(decoded(test::contents_of(sample("varieties.fast5")), reads.at(5)), expected_samples(5, 20));
}

TEST(Fast5Format, SaysThatAnOldFileHasNoRawSignal) {
  const auto error = test::error_of([] { index_fast5_isolated(sample("events.fast5")); });
  ASSERT_TRUE(error);
  EXPECT_NE(error->message().find("without raw signal"), std::string::npos) << error->what();
}

TEST(Fast5Format, GivesAnAnswerForEachOfManyFiles) {
  const TempDirectory directory;
  std::vector<std::filesystem::path> files;
  for (int i = 0; i < 20; ++i) {
    files.push_back(
        directory.write("single" + std::to_string(i) + ".fast5", test::contents_of(sample("single.fast5"))));
    files.push_back(directory.write("bad" + std::to_string(i) + ".fast5", "this is not HDF5"));
  }
  files.push_back(sample("layouts.fast5"));
  const auto indices = index_fast5_isolated(files);
  ASSERT_EQ(indices.size(), files.size());
  for (std::size_t i = 0; i < 40; ++i) {
    if (i % 2 == 0) {
      EXPECT_FALSE(indices[i].error);
      EXPECT_EQ(indices[i].reads.size(), 1U);
    } else {
      ASSERT_TRUE(indices[i].error);
      EXPECT_EQ(indices[i].error->path(), files[i]);
    }
  }
  EXPECT_EQ(indices.back().reads.size(), 9U);
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
  for (const char* const name : {"layouts.fast5", "single.fast5", "varieties.fast5"}) {
    const auto here = index_fast5(sample(name));
    const auto there = index_fast5_isolated(sample(name));
    ASSERT_EQ(there.size(), here.size());
    for (std::size_t i = 0; i < here.size(); ++i) {
      EXPECT_EQ(there[i].attributes.entries(), here[i].attributes.entries());
      ASSERT_EQ(there[i].run == nullptr, here[i].run == nullptr);
      if (here[i].run) {
        EXPECT_EQ(there[i].run->info, here[i].run->info);
      }
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

TEST(Fast5Format, CountsTheReadsOfAFileOfWhichOneIsBad) {
  const TempDirectory directory;
  const auto path = file_with(directory, [](Hdf5Writer& writer, const std::string& raw) {
    writer.write_contiguous(raw + "/Signal", DType::i16, {});
    writer.create_group("read_y");
    writer.create_group("read_y/Raw");
  });
  const auto index = std::move(index_fast5_isolated(std::span(&path, 1)).front());
  ASSERT_TRUE(index.error);
  EXPECT_EQ(index.seen, 2U);
}

TEST(Fast5Format, SaysWhatAFileOfAnotherFormatIs) {
  const TempDirectory directory;
  const auto message = [&](const std::string& bytes) {
    const auto path = directory.write("x.fast5", bytes);
    return test::error_of([&] { index_fast5_isolated(path); })->message();
  };
  EXPECT_EQ(message("\x8BPOD\r\n\x1A\n0123456789"), "is not an HDF5 file; it starts like POD5");
  EXPECT_EQ(message("BLOW5\1 ..."), "is not an HDF5 file; it starts like BLOW5");
  EXPECT_EQ(message(""), "is empty, not an HDF5 file");
}

TEST(Fast5Format, RefusesAFileThatIsOpenForWriting) {
  const TempDirectory directory;
  const auto path = directory / "growing.fast5";
  Hdf5Writer writer(path);
  writer.set_attribute("/", {"file_version", std::string("2.2")});
  const auto error = test::error_of([&] { index_fast5_isolated(path); });
  ASSERT_TRUE(error);
  EXPECT_NE(error->message().find("open for writing in another process"), std::string::npos) << error->what();
  writer.close();
  EXPECT_TRUE(index_fast5_isolated(path).empty());
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

/// What h5py 3.7 reads in the first read (by name) of every file of shared/data: the read, its channel and its run.
struct RealFile {
  const char* file;
  std::size_t reads;
  const char* read_id;
  const char* channel;
  std::int64_t read_number;
  std::int64_t start_time;
  std::int64_t start_mux;
  double offset;
  double range;
  double sampling_rate;
  std::optional<double> median_before;
  const char* end_reason;
  const char* pore_type;
  const char* run_id;
  std::size_t facts;  // of tracking_id and context_tags together, without empty ones and with acquisition_id
};

TEST(Fast5Format, KnowsTheReadsOfRealFiles) {
  const auto data = test::test_data();
  if (!std::filesystem::exists(data / "fast5")) GTEST_SKIP() << "no real data in " << data;
  const std::vector<RealFile> files{
      {"basecall_truth/MINICOL228_20161012_FNFAB42578_MN17976_mux_scan_HG_52221_ch174_read172_strand.fast5", 1,
       "c99357df-c74f-4ac0-bb2b-10d0414866c0", "174", 172, 974219, 3, 19.0, 1517.25, 4000.0, 202.68587163742782, "", "",
       "094427ef3c02b1a4df17cd788b816d1a11a8d5a6", 36},
      {"basecall_truth/debian_uncalled_example_r9.4.fast5", 1, "f41a60f7-de4a-4b17-9f54-387e52d60b65", "486", 101,
       257117, 4, 10.0, 1534.141357421875, 4000.0, 222.22232055664062, "", "",
       "ba1c20ba34ffa087212e506476f21fafb2e5d974", 38},
      {"basecall_truth/read_ch228_file118.fast5", 1, "e47468bf-12e3-4208-a866-babdd780e9c0", "228", 118, 28679694, 3,
       22.0, 1456.56, 4000.0, 99.39728546139999, "", "", "3c555f0a7c921394592162a0e9fcea4093a64221", 35},
      {"fast5/ofa_multi_read_analyses.fast5", 1, "00213bd6-0b7d-4e96-862f-160852db369a", "198", 2884, 30956292, 3, 6.0,
       1440.8011474609375, 4000.0, 211.72567749023438, "", "", "2bf4f211a2e2d04662e50f27448cfd99dafbd7ee", 41},
      {"fast5/ofa_multi_read_batch_0.fast5", 4, "fe849dd3-63bc-4044-8910-14e1686273bb", "322", 7861, 47226016, 1, 4.0,
       1403.2265625, 4000.0, 101.00142669677734, "signal_positive", "", "31352ede7f195ec493af20de221a95a4cc3683d2", 39},
      {"fast5/ofa_single_read.fast5", 1, "fe85b517-62ee-4a33-8767-41cab5d5ab39", "28", 4295, 47313679, 1, 18.0,
       1403.2265625, 4000.0, 98.48851013183594, "signal_positive", "", "31352ede7f195ec493af20de221a95a4cc3683d2", 39},
      {"fast5/ofa_single_v0.6_raw.fast5", 1, "e0c81aa8-a4fc-4f5f-a042-96af5bbf9d24", "118", 627, 4325284, 1, 24.0,
       1862.5000000000002, 5000.0, std::nullopt, "", "", "6be023a3fcff292f74489d6c1338adbbad0c92ba", 27},
      {"fast5/ofa_vbz_reads.fast5", 4, "fe849dd3-63bc-4044-8910-14e1686273bb", "322", 7861, 47226016, 1, 4.0,
       1403.2265625, 4000.0, 101.00142669677734, "signal_positive", "", "31352ede7f195ec493af20de221a95a4cc3683d2", 39},
      {"fast5/ont_multi_fast5_vbz.fast5", 10, "0000173c-bf67-44e7-9a9c-1ad0bc728e74", "109", 1093, 4534321, 4, 21.0,
       1437.6976318359375, 4000.0, 183.1077423095703, "", "not_set", "a08e850aaa44c8b56765eee10b386fc3e516a62b", 35},
      {"fast5/ont_multi_fast5_zip.fast5", 10, "0000173c-bf67-44e7-9a9c-1ad0bc728e74", "109", 1093, 4534321, 4, 21.0,
       1437.6976318359375, 4000.0, 183.1077423095703, "", "not_set", "a08e850aaa44c8b56765eee10b386fc3e516a62b", 35},
  };
  for (const auto& real : files) {
    const auto reads = index_fast5_isolated(data / real.file);
    ASSERT_EQ(reads.size(), real.reads) << real.file;
    const auto read = std::find_if(reads.begin(), reads.end(), [&](const Fast5Read& one) {
      return one.attributes.text("read_id") == real.read_id;
    });
    ASSERT_NE(read, reads.end()) << real.file;
    const Attributes& attributes = read->attributes;
    EXPECT_EQ(attributes.text("channel_number"), real.channel) << real.file;
    EXPECT_EQ(attributes.integer("read_number"), real.read_number) << real.file;
    EXPECT_EQ(attributes.integer("start_time"), real.start_time) << real.file;
    EXPECT_EQ(attributes.integer("start_mux"), real.start_mux) << real.file;
    EXPECT_EQ(attributes.number("digitisation"), 8192) << real.file;
    EXPECT_EQ(attributes.number("offset"), real.offset) << real.file;
    EXPECT_EQ(attributes.number("range"), real.range) << real.file;
    EXPECT_EQ(attributes.number("sampling_rate"), real.sampling_rate) << real.file;
    EXPECT_EQ(attributes.number("median_before"), real.median_before) << real.file;
    EXPECT_EQ(attributes.text("end_reason").value_or(""), real.end_reason) << real.file;
    EXPECT_EQ(attributes.text("pore_type").value_or(""), real.pore_type) << real.file;
    ASSERT_TRUE(read->run) << real.file;
    EXPECT_EQ(read->run->id, real.run_id) << real.file;
    EXPECT_EQ(parse_run_info(read->run->info).size(), real.facts) << real.file << '\n' << read->run->info;
    for (const auto& other : reads) EXPECT_EQ(other.run, read->run) << real.file << ": all are of one run";
  }
}

}  // namespace
}  // namespace millrace::io
