#include "io/slow5_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "io/slow5_record.h"
#include "tests/support/slow5_files.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::error_of;
using test::TempDirectory;
using testing::ElementsAre;
using testing::HasSubstr;

const Slow5Coding kZstd{false, Slow5Packing::zstd, Slow5SignalCoding::svb_zd};
const Slow5Coding kZlib{false, Slow5Packing::zlib, Slow5SignalCoding::svb_zd};
const Slow5Coding kPlain{};

std::string id_of(const test::Slow5Sample& read) { return std::string(*read.attributes.text("read_id")); }

class Slow5FormatCodings : public testing::TestWithParam<Slow5Coding> {
 protected:
  std::filesystem::path write(const std::string& contents) { return directory_.write("reads.slow5", contents); }

  TempDirectory directory_;
};

TEST_P(Slow5FormatCodings, FindsEveryRecord) {
  const auto reads = test::slow5_reads();
  const std::string contents = test::slow5_file(GetParam(), reads);
  const Slow5Index index = index_slow5(write(contents));
  EXPECT_EQ(index.header, test::slow5_header());
  EXPECT_EQ(index.coding, GetParam());
  EXPECT_EQ(index.bytes, contents.size());
  ASSERT_EQ(index.records.size(), reads.size());
  EXPECT_GE(index.max_samples, 7001U);
  EXPECT_TRUE(index.ids.empty());
  Slow5RecordDecoder decoder;
  std::uint64_t samples = 0;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const auto bytes = std::as_bytes(std::span(contents)).subspan(index.records[i].offset, index.records[i].length);
    const Slow5Record record = decoder.open(bytes, index.coding, index.header, index.max_samples);
    EXPECT_EQ(record.id, id_of(reads[i]));
    EXPECT_EQ(record.samples, reads[i].samples.size());
    samples += record.samples;
  }
  if (GetParam().packing == Slow5Packing::zstd) {
    EXPECT_FALSE(index.samples);
  } else {
    EXPECT_EQ(index.samples, samples);
    EXPECT_EQ(index.max_samples, 7001U) << "exact, not a bound";
  }
}

TEST_P(Slow5FormatCodings, GivesTheReadsAskedForInTheOrderOfTheFile) {
  const auto reads = test::slow5_reads();
  const auto path = write(test::slow5_file(GetParam(), reads));
  const std::set<std::string, std::less<>> wanted{id_of(reads[6]), id_of(reads[1]), "absent"};
  Slow5Query query;
  query.wants = [&wanted](std::string_view id) { return wanted.contains(id); };
  const Slow5Index index = index_slow5(path, query);
  EXPECT_EQ(index.records.size(), 2U);
  EXPECT_THAT(index.ids, ElementsAre(id_of(reads[1]), id_of(reads[6])));
  EXPECT_EQ(index.max_samples, 7001U);
}

TEST_P(Slow5FormatCodings, EndsAfterAsManyRecordsAsAskedFor) {
  const auto path = write(test::slow5_file(GetParam(), test::slow5_reads()));
  Slow5Query query;
  query.max_records = 3;
  EXPECT_EQ(index_slow5(path, query).records.size(), 3U);
}

TEST_P(Slow5FormatCodings, AFileWithoutReadsIsAFile) {
  const Slow5Index index = index_slow5(write(test::slow5_file(GetParam(), {})));
  EXPECT_TRUE(index.records.empty());
  EXPECT_EQ(index.max_samples, 0U);
}

TEST_P(Slow5FormatCodings, AFileThatIsCutOffAnywhereIsRefused) {
  auto reads = test::slow5_reads();
  reads.resize(5);
  const std::string whole = test::slow5_file(GetParam(), reads);
  const auto path = directory_.path() / "cut.blow5";
  for (std::size_t length = 0; length < whole.size(); length += length + 20 < whole.size() ? 7 : 1) {
    // A text that ends with a line is whole.
    if (GetParam().text && length > text_of(test::slow5_header()).size() && whole[length - 1] == '\n') continue;
    if (GetParam().text && length == text_of(test::slow5_header()).size()) continue;
    directory_.write("cut.blow5", whole.substr(0, length));
    const auto error = error_of([&path] { index_slow5(path); });
    ASSERT_TRUE(error) << length;
    EXPECT_EQ(error->path(), path);
    EXPECT_TRUE(length == 0 || error->offset()) << length << ": " << error->what();
  }
}

TEST_P(Slow5FormatCodings, CountsTheRecordsThatItSaw) {
  const auto reads = test::slow5_reads();
  const std::string whole = test::slow5_file(GetParam(), reads);
  std::uint64_t seen = 99;
  Slow5Query query;
  query.seen = &seen;
  index_slow5(write(whole), query);
  EXPECT_EQ(seen, reads.size());
  EXPECT_THROW(index_slow5(write(whole.substr(0, whole.size() - 8)), query), Error);
  EXPECT_EQ(seen, reads.size());
  EXPECT_THROW(index_slow5(write(whole.substr(0, 60)), query), Error);
  EXPECT_EQ(seen, 0U);
}

INSTANTIATE_TEST_SUITE_P(Slow5, Slow5FormatCodings, testing::ValuesIn(test::slow5_codings()),
                         [](const auto& name) { return test::test_name_of(name.param); });

TEST(Slow5Format, FindsAReadThatOccursTwice) {
  const TempDirectory directory;
  auto reads = test::slow5_reads();
  reads.push_back(reads[3]);
  for (const auto& coding : test::slow5_codings()) {
    const auto path = directory.write("twice", test::slow5_file(coding, reads));
    if (coding.packing == Slow5Packing::zstd) {
      EXPECT_EQ(index_slow5(path).records.size(), reads.size()) << "the ids are not looked at";
      continue;
    }
    const auto error = error_of([&path] { index_slow5(path); });
    EXPECT_THAT(error->what(), HasSubstr("read " + id_of(reads[3]) + " occurs twice"));
    EXPECT_GT(error->offset(), 0U);
    std::vector<std::string> told;
    Slow5Query query;
    query.on_duplicate = [&told](const Error& twice) { told.emplace_back(twice.what()); };
    EXPECT_EQ(index_slow5(path, query).records.size(), reads.size() - 1);
    EXPECT_THAT(told, ElementsAre(error->what()));
  }
}

TEST(Slow5Format, RefusesClaimsThatCannotBeTrueBeforeAnybodyPlansForThem) {
  const TempDirectory directory;
  auto reads = test::slow5_reads();
  reads = {reads[5]};
  const auto with = [&](const Slow5Coding& coding, std::size_t at, std::uint64_t value) {
    std::string file = test::slow5_file(coding, reads);
    const std::size_t begin = kBlow5StartBytes + body_text_of(test::slow5_header()).size();
    std::memcpy(file.data() + begin + at, &value, sizeof value);
    return error_of([path = directory.write("claims", file)] { index_slow5(path); });
  };
  const std::size_t count_at = 8 + 2 + id_of(reads[0]).size() + 4 + 32;
  const std::size_t begin = kBlow5StartBytes + body_text_of(test::slow5_header()).size();
  for (const std::uint64_t claimed : {std::uint64_t{0}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    const auto error = with(kPlain, 0, claimed);
    EXPECT_THAT(error->what(), HasSubstr("is damaged: a record of " + std::to_string(claimed) + " bytes"));
    EXPECT_EQ(error->offset(), begin);
  }
  for (const std::uint64_t claimed : {std::uint64_t{4000}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    const auto error = with(kPlain, count_at, claimed);
    EXPECT_THAT(error->what(), HasSubstr("claims " + std::to_string(claimed) + " samples"));
    EXPECT_EQ(error->offset(), begin);
  }
}

TEST(Slow5Format, ReadsTheLongestIdThatItAllows) {
  const TempDirectory directory;
  for (const auto& coding : test::slow5_codings()) {
    auto reads = test::slow5_reads();
    for (const std::size_t length : {300UL, 1024UL}) {
      reads[5].attributes.set("read_id", std::string(length, 'i'));
      Slow5Query query;
      query.wants = [length](std::string_view id) { return id.size() == length; };
      EXPECT_EQ(index_slow5(directory.write("long", test::slow5_file(coding, reads)), query).records.size(), 1U);
    }
    reads[5].attributes.set("read_id", std::string(1025, 'i'));
    Slow5Query query;
    query.wants = [](std::string_view /*id*/) { return true; };
    EXPECT_THROW(index_slow5(directory.write("long", test::slow5_file(coding, reads)), query), Error);
  }
}

TEST(Slow5Format, ReadsVersionsWithoutASignalCoding) {
  const TempDirectory directory;
  Slow5Header header = test::slow5_header();
  header.version = {0, 1, 0};
  const auto path = directory.write("old", test::slow5_file(kPlain, test::slow5_reads(), header));
  EXPECT_EQ(index_slow5(path).records.size(), test::slow5_reads().size());
  EXPECT_EQ(index_slow5(path).header.version, header.version);
}

TEST(Slow5Format, RefusesOtherFiles) {
  const TempDirectory directory;
  const std::pair<std::string, const char*> cases[] = {
      {"", "is empty"},
      {"this is no signal", "is neither a BLOW5 nor a SLOW5 file"},
      {"BLOW5", "is neither a BLOW5 nor a SLOW5 file"},
      {"#slow5_version\t1.0.0\n#num_read_groups\t1\n", "has no line of field names"},
  };
  for (const auto& [contents, why] : cases) {
    const auto path = directory.write("other", contents);
    const auto error = error_of([&path] { index_slow5(path); });
    EXPECT_THAT(error->what(), HasSubstr(why));
    EXPECT_EQ(error->path(), path);
  }
  EXPECT_THROW(index_slow5(directory / "absent"), Error);
  EXPECT_THROW(index_slow5(directory.path()), Error);
}

TEST(Slow5Format, RefusesAHeaderLengthThatIsWrong) {
  const TempDirectory directory;
  const std::string good = test::slow5_file(kZlib, test::slow5_reads());
  const auto with_length = [&](std::uint32_t length) {
    std::string file = good;
    std::memcpy(file.data() + 64, &length, sizeof length);
    return error_of([path = directory.write("header", file)] { index_slow5(path); });
  };
  const auto text_bytes = static_cast<std::uint32_t>(body_text_of(test::slow5_header()).size());
  EXPECT_THAT(with_length(text_bytes - 30)->what(), HasSubstr("the header ends in the middle of a line"));
  EXPECT_THAT(with_length(~std::uint32_t{0})->what(), HasSubstr("claims a header of 4294967295 bytes"));
  EXPECT_EQ(with_length(~std::uint32_t{0})->offset(), 64U);
  EXPECT_TRUE(with_length(text_bytes + 1)->offset());
}

}  // namespace
}  // namespace millrace::io
