#include "io/pod5_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/run_info.h"
#include "tests/support/pod5_files.h"
#include "tests/support/scripted_io.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::error_of;
using test::made_reads;
using test::MadeRead;
using test::pod5_of;
using test::ScriptedReader;
using testing::HasSubstr;

using Samples = std::vector<std::int16_t>;

Samples samples_of(const Pod5Read& read, Reader& reader) {
  Samples samples(read.samples);
  SignalDecoder decoder;
  std::size_t first = 0;
  for (const auto& piece : read.pieces) {
    decoder.decode(reader.read(piece.extent).bytes(), read.coding, 0, std::span(samples).subspan(first, piece.samples));
    first += piece.samples;
  }
  EXPECT_EQ(first, read.samples);
  return samples;
}

void expect_same(const Pod5Read& read, const MadeRead& made, Reader& reader) {
  EXPECT_EQ(samples_of(read, reader), made.samples);
  for (const auto& [name, value] : made.attributes.entries()) {
    if (name == "run_id" || name == "run_info") continue;
    const auto* const found = read.attributes.find(name);
    ASSERT_NE(found, nullptr) << name;
    if (const auto* number = std::get_if<double>(&value)) {
      EXPECT_FLOAT_EQ(static_cast<float>(*number), static_cast<float>(std::get<double>(*found))) << name;
    } else {
      EXPECT_EQ(*found, value) << name;
    }
  }
  ASSERT_TRUE(read.run);
  EXPECT_EQ(read.run->id, *made.attributes.text("run_id"));
  const RunInfo info = parse_run_info(read.run->info);
  EXPECT_EQ(info.at("flow_cell_id"), "FAB1");
  EXPECT_EQ(info.at("acquisition_start_time"), "1557745903000");
}

void expect_round_trip(const std::vector<MadeRead>& made, const Pod5Writer::Settings& settings) {
  ScriptedReader reader(pod5_of(made, settings));
  const auto reads = index_pod5(reader);
  ASSERT_EQ(reads.size(), made.size());
  for (std::size_t i = 0; i < reads.size(); ++i) expect_same(reads[i], made[i], reader);
}

TEST(IndexPod5, GivesBackAllThatIsWritten) { expect_round_trip(made_reads({1000, 1, 50'000, 8, 333}), {}); }

TEST(IndexPod5, JoinsRowsAndBatches) {
  Pod5Writer::Settings settings;
  settings.row_samples = 100;
  settings.batch_rows = 3;
  settings.batch_reads = 2;
  expect_round_trip(made_reads({1000, 100, 99, 101, 700}), settings);
}

TEST(IndexPod5, ReadsUncompressedSignal) {
  Pod5Writer::Settings settings;
  settings.compress = false;
  settings.row_samples = 128;
  const auto made = made_reads({1000, 1, 128});
  expect_round_trip(made, settings);
  ScriptedReader reader(pod5_of(made, settings));
  EXPECT_EQ(text_of(index_pod5(reader).front().coding), "none");
}

TEST(IndexPod5, AReadWithoutSamplesStaysInItsPlace) { expect_round_trip(made_reads({0, 10, 0, 0, 20, 0}), {}); }

TEST(IndexPod5, AFileMayHoldNoRead) {
  ScriptedReader reader(pod5_of({}));
  EXPECT_TRUE(index_pod5(reader).empty());
}

TEST(IndexPod5, WhatIsNotKnownIsNotThere) {
  MadeRead read;
  read.attributes = {{"read_id", test::made_id(7)}};
  read.samples = {1, 2, 3};
  ScriptedReader reader(pod5_of(std::span(&read, 1)));
  const auto reads = index_pod5(reader);
  ASSERT_EQ(reads.size(), 1U);
  for (const char* const name : {"median_before", "offset", "range", "digitisation", "open_pore_level"}) {
    EXPECT_EQ(reads[0].attributes.find(name), nullptr) << name;
  }
  EXPECT_EQ(reads[0].attributes.text("end_reason"), "unknown");
}

TEST(IndexPod5, DoesNotReadTheSignal) {
  const auto made = made_reads({200'000, 300'000});
  const std::string file = pod5_of(made);
  std::uint64_t bytes = 0;
  ScriptedReader reader(file, [&bytes](Extent extent) { bytes += extent.length; });
  index_pod5(reader);
  EXPECT_LT(bytes, 40'000U);
  EXPECT_GT(file.size(), 400'000U);
}

std::string error_text(std::string file) {
  ScriptedReader reader(std::move(file));
  const auto error = error_of([&] { index_pod5(reader); });
  return error ? error->what() : "";
}

TEST(IndexPod5, GivesTheSameReadByRead) {
  const test::TempDirectory directory;
  Pod5Writer::Settings settings;
  settings.batch_reads = 2;
  settings.row_samples = 100;
  for (const auto& made : {made_reads({0, 300, 0, 1, 250, 0, 70}), made_reads({})}) {
    const auto path = directory.write("a.pod5", pod5_of(made, settings));
    const auto reads = index_pod5(path);
    std::size_t given = 0;
    index_pod5(path, [&](const Pod5Read& read) {
      ASSERT_LT(given, reads.size());
      EXPECT_EQ(read.attributes.entries(), reads[given].attributes.entries());
      EXPECT_EQ(read.pieces.size(), reads[given].pieces.size());
      ++given;
    });
    EXPECT_EQ(given, made.size());
  }
}

TEST(IndexPod5, SaysWhatIsWrongAndWhere) {
  const std::string whole = pod5_of(made_reads({50}));
  const std::string end = std::to_string(whole.size() - 8);
  const auto with = [&whole](std::size_t at, const std::string& bytes) {
    std::string changed = whole;
    return changed.replace(at, bytes.size(), bytes);
  };
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "/scripted/input, offset 0: is empty, not a POD5 file"},
      {"not a pod5", "/scripted/input, offset 0: is not a POD5 file: it does not start like one"},
      {whole.substr(0, 40), "/scripted/input, offset 40: the POD5 file is damaged: it ends after 40 bytes"},
      {with(0, "\x0B"), "/scripted/input, offset 0: is not a POD5 file: it does not start like one"},
      {with(whole.size() - 1, "x"), "/scripted/input, offset " + end +
                                        ": the POD5 file is not complete: it does not "
                                        "end in the signature; it was cut off, or is being written"},
      {with(9, "x"), "/scripted/input, offset " + std::to_string(whole.size() - 24) +
                         ": the POD5 file is damaged: the section marks at its start and end differ"},
      {with(whole.size() - 27, "\x01"), "/scripted/input, offset " + std::to_string(whole.size() - 32) +
                                            ": the POD5 file is damaged: its footer claims "},
      {with(24, "x"), "/scripted/input, offset 24: the Arrow table is damaged: there is no ARROW1 at its start"},
  };
  for (const auto& [file, expected] : cases) EXPECT_THAT(error_text(file), HasSubstr(expected));
}

TEST(IndexPod5, EveryCutIsAnError) {
  const std::string whole = pod5_of(made_reads({50, 20}));
  for (std::size_t length = 0; length < whole.size(); length += length < 100 ? 1 : 7) {
    EXPECT_NE(error_text(whole.substr(0, length)), "") << length;
  }
}

TEST(IndexPod5, NoFlippedBitIsMoreThanAnError) {
  const std::string whole = pod5_of(made_reads({50, 20}));
  std::size_t errors = 0;
  for (std::size_t bit = 0; bit < 8 * whole.size(); bit += 31) {
    std::string file = whole;
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ (1 << (bit % 8)));
    ScriptedReader reader(std::move(file));
    try {
      for (const auto& read : index_pod5(reader)) {
        for (const auto& piece : read.pieces) {
          ASSERT_LE(piece.extent.offset + piece.extent.length, whole.size());
        }
      }
    } catch (const Error& error) {
      ++errors;
      EXPECT_TRUE(error.offset()) << error.what();
      EXPECT_EQ(error.path(), "/scripted/input");
    }
  }
  EXPECT_GT(errors, whole.size() / 31);
}

}  // namespace
}  // namespace millrace::io
