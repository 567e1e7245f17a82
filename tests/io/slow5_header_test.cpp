#include "io/slow5_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/core/error.h"
#include "tests/support/slow5_files.h"
#include "tests/support/stage_driver.h"

namespace millrace::io {
namespace {

using Kind = Slow5Field::Kind;
using test::error_of;
using testing::HasSubstr;

const std::string kTypes = "#char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\tint16_t*";
const std::string kNames =
    "#read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\tlen_raw_signal\traw_signal";
const std::string kFront = "#slow5_version\t1.0.0\n#num_read_groups\t2\n";

TEST(Slow5Header, ReadsEveryTypeOfField) {
  const Slow5Header header = parse_slow5_header(
      kFront + "@run_id\ta\tb\n@kit\t.\tsqk\n" + kTypes +
      "\tint8_t\tint16_t\tint32_t\tint64_t\tuint8_t\tuint16_t\tuint32_t\tuint64_t\tfloat\tdouble\tchar\tchar*\tfloat*" +
      "\tenum{x,y}\n" + kNames + "\ta\tb\tc\td\te\tf\tg\th\ti\tj\tk\tl\tm\tn\n");
  EXPECT_EQ(header.version, (std::array<std::uint8_t, 3>{1, 0, 0}));
  EXPECT_EQ(header.groups, 2U);
  EXPECT_EQ(header.value("run_id", 1), "b");
  EXPECT_EQ(header.value("kit", 0), "") << "a dot is no value";
  EXPECT_EQ(header.value("kit", 2), "") << "there is no third group";
  EXPECT_EQ(header.value("none", 0), "");
  ASSERT_EQ(header.fields.size(), 14U);
  EXPECT_EQ(header.fields[3], (Slow5Field{"d", Kind::i64, false, {}}));
  EXPECT_EQ(header.fields[11], (Slow5Field{"l", Kind::character, true, {}}));
  EXPECT_EQ(header.fields[12], (Slow5Field{"m", Kind::f32, true, {}}));
  EXPECT_EQ(header.fields[13], (Slow5Field{"n", Kind::enumeration, false, {"x", "y"}}));
}

TEST(Slow5Header, IsTheSameAfterWritingAndReading) {
  const Slow5Header header = test::slow5_header();
  EXPECT_EQ(parse_slow5_header(text_of(header)), header);
  const std::string body = body_text_of(header);
  for (const auto& coding : test::slow5_codings()) {
    if (coding.text) continue;
    const std::string start = blow5_start_of(header, coding, static_cast<std::uint32_t>(body.size()));
    ASSERT_EQ(start.size(), kBlow5StartBytes);
    Blow5Start read = parse_blow5_start(start);
    parse_slow5_body(body, read.header);
    EXPECT_EQ(read.header, header);
    EXPECT_EQ(read.coding, coding);
    EXPECT_EQ(read.text_bytes, body.size());
  }
}

TEST(Slow5Header, RefusesWhatItCannotVouchFor) {
  const struct {
    std::string text;
    const char* why;
  } cases[] = {
      {"", "does not begin with '#slow5_version'"},
      {"#slow5_version\t1.0\n", "has no version"},
      {"#slow5_version\t2.0.0\n", "version 2.0.0 is not supported"},
      {"#slow5_version\t1.2.0\n", "version 1.2.0 is not supported"},
      {"#slow5_version\t1.0.0\n@run_id\ta\n", "no second line"},
      {"#slow5_version\t1.0.0\n#num_read_groups\t0\n", "no number of read groups"},
      {"#slow5_version\t1.0.0\n#num_read_groups\t-1\n", "no number of read groups"},
      {kFront + "@run_id\ta\n", "1 values of 'run_id' for 2 read groups"},
      {kFront + "@\ta\tb\n", "an attribute without a name"},
      {kFront + "@run_id\ta\tb", "ends in the middle of a line"},
      {kFront + kTypes + "\tint32_t\n" + kNames + "\n", "1 types of auxiliary fields and 0 names"},
      {kFront + kTypes + "\tint128_t\n" + kNames + "\ta\n", "field 'a' of type 'int128_t', which is not known"},
      {kFront + kTypes + "\tint8_t\tint8_t\n" + kNames + "\ta\ta\n", "two fields 'a'"},
      {kFront + kTypes + "\tint8_t\n" + kNames + "\trange\n", "two fields 'range'"},
      {kFront + kNames + "\n" + kTypes + "\n", "no line that begins with"},
      {kFront + kTypes + "\n" + kNames + "\nmore\n", "goes on after the names"},
  };
  for (const auto& [text, why] : cases) {
    const auto error = error_of([&text = text] { parse_slow5_header(text); });
    ASSERT_TRUE(error) << text;
    EXPECT_THAT(error->what(), HasSubstr(why));
    EXPECT_TRUE(error->offset()) << why;
  }
}

TEST(Slow5Header, RefusesStartsOfBlow5ThatItCannotVouchFor) {
  const std::string good = blow5_start_of(test::slow5_header(), {}, 10);
  const struct {
    std::size_t at;
    char value;
    const char* why;
  } cases[] = {{0, 'C', "is not a BLOW5 file"},      {5, '\2', "is not a BLOW5 file"},  {6, '\2', "version 2.0.0"},
               {7, '\2', "version 1.2.0"},           {9, '\3', "record compression 3"}, {10, '\0', "no read group"},
               {14, '\2', "ex-zd is not supported"}, {14, '\3', "signal compression 3"}};
  for (const auto& [at, value, why] : cases) {
    std::string bad = good;
    bad[at] = value;
    const auto error = error_of([&bad] { parse_blow5_start(bad); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->what(), HasSubstr(why));
    EXPECT_TRUE(error->offset()) << why;
  }
  EXPECT_THROW(parse_blow5_start(std::string_view(good).substr(0, 67)), Error);
}

TEST(Slow5Header, DoesNotLookForASignalCodingBeforeVersionTwo) {
  Slow5Header header = test::slow5_header();
  header.version = {0, 1, 0};
  std::string start = blow5_start_of(header, {}, 10);
  start[14] = '\2';
  EXPECT_EQ(parse_blow5_start(start).coding.signal, Slow5SignalCoding::none);
}

TEST(Slow5Header, NamesCodings) {
  for (const auto& coding : test::slow5_codings()) {
    EXPECT_TRUE(is_slow5_coding(text_of(coding)));
    EXPECT_EQ(parse_slow5_coding(text_of(coding)), coding);
  }
  EXPECT_EQ(text_of(Slow5Coding{false, Slow5Packing::zstd, Slow5SignalCoding::svb_zd}), "blow5:zstd,svb-zd");
  EXPECT_FALSE(is_slow5_coding("vbz:1,2,1,1"));
  EXPECT_THROW(parse_slow5_coding("blow5:lzma,none"), Error);
}

}  // namespace
}  // namespace millrace::io
