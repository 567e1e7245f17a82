#include "io/slow5_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "io/slow5_record.h"
#include "pipeline/core/error.h"
#include "tests/support/slow5_files.h"
#include "tests/support/stage_driver.h"

namespace millrace::io {
namespace {

using Kind = Slow5Field::Kind;
using Samples = std::vector<std::int16_t>;
using test::error_of;
using testing::HasSubstr;

constexpr Slow5Coding kPlain{};
constexpr Slow5Coding kText{true, Slow5Packing::none, Slow5SignalCoding::none};

Attributes read_with(std::initializer_list<std::pair<std::string, AttributeValue>> more) {
  Attributes attributes{
      {"read_id", "r"}, {"digitisation", 1.0}, {"offset", 2.0}, {"range", 3.0}, {"sampling_rate", 4.0}};
  for (const auto& [name, value] : more) attributes.set(name, value);
  return attributes;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Slow5Encoder, WritesTheBytesOfTheSpecification) {
  Slow5RecordEncoder encoder({{"n", Kind::u8, false, {}}, {"t", Kind::character, true, {}}}, kPlain);
  const std::string record =
      text_of(encoder.encode(read_with({{"n", std::int64_t{7}}, {"t", "ab"}}), 5, Samples{1, -2}));
  const std::string expected(
      "\x40\0\0\0\0\0\0\0"    // length
      "\1\0r"                 // id
      "\5\0\0\0"              // group
      "\0\0\0\0\0\0\xf0\x3f"  // 1.0
      "\0\0\0\0\0\0\0\x40"    // 2.0
      "\0\0\0\0\0\0\x08\x40"  // 3.0
      "\0\0\0\0\0\0\x10\x40"  // 4.0
      "\2\0\0\0\0\0\0\0"      // samples
      "\1\0\xfe\xff"          // the samples
      "\7"
      "\2\0\0\0\0\0\0\0"
      "ab",
      8 + 3 + 4 + 32 + 8 + 4 + 1 + 8 + 2);
  std::string with_length = expected;
  with_length[0] = static_cast<char>(expected.size() - 8);
  EXPECT_EQ(record, with_length);
}

TEST(Slow5Encoder, CountsTheBytesOfACodedSignalInItsLength) {
  Slow5RecordEncoder encoder({}, {false, Slow5Packing::none, Slow5SignalCoding::svb_zd});
  const std::string record = text_of(encoder.encode(read_with({}), 0, Samples{100, 101, 99, 99}));
  // Length field: count (4), one key byte, four values of one byte: 100, 1, -2, 0 zig-zagged.
  EXPECT_EQ(record.substr(8 + 3 + 4 + 32), std::string("\x09\0\0\0\0\0\0\0\4\0\0\0\0\xc8\2\3\0", 17));
}

TEST(Slow5Encoder, WritesALineOfText) {
  Slow5RecordEncoder encoder({{"n", Kind::u8, false, {}},
                              {"t", Kind::character, true, {}},
                              {"e", Kind::enumeration, false, {"x", "y"}},
                              {"f", Kind::f64, false, {}}},
                             kText);
  EXPECT_EQ(text_of(encoder.encode(read_with({{"n", std::int64_t{7}}, {"t", "ab"}, {"e", "y"}}), 0, Samples{1, -2})),
            "r\t0\t1\t2\t3\t4\t2\t1,-2\t7\tab\t1\t.\n");
  EXPECT_EQ(text_of(encoder.encode(read_with({}), 0, {})), "r\t0\t1\t2\t3\t4\t0\t.\t.\t.\t.\t.\n");
}

TEST(Slow5Encoder, StoresWhatIsMissingAsTheFormatAsks) {
  const std::vector<Slow5Field> fields{{"i8", Kind::i8, false, {}},
                                       {"u64", Kind::u64, false, {}},
                                       {"f32", Kind::f32, false, {}},
                                       {"text", Kind::character, true, {}},
                                       {"e", Kind::enumeration, false, {"x"}}};
  for (const auto& coding : test::slow5_codings()) {
    Slow5RecordEncoder encoder(fields, coding);
    Slow5RecordDecoder decoder;
    Slow5Header header;
    header.fields = fields;
    const auto record = decoder.open(encoder.encode(read_with({}), 0, Samples{1}), coding, header, 10);
    Attributes attributes;
    Slow5RecordDecoder::add_attributes(record, coding, header, attributes);
    for (const auto& field : fields) EXPECT_EQ(attributes.find(field.name), nullptr) << field.name;
  }
}

TEST(Slow5Encoder, RefusesWhatAFieldCannotHold) {
  const auto refused = [](const Slow5Field& field, const AttributeValue& value, const Slow5Coding& coding) {
    Slow5RecordEncoder encoder({field}, coding);
    return error_of([&] { encoder.encode(read_with({{field.name, value}}), 0, Samples{1}); });
  };
  for (const auto& coding : {kPlain, kText}) {
    EXPECT_THAT(refused({"e", Kind::enumeration, false, {"x"}}, "y", coding)->what(),
                HasSubstr("'e' = 'y' does not fit"));
  }
  EXPECT_THAT(refused({"n", Kind::u8, false, {}}, std::int64_t{300}, kPlain)->what(), HasSubstr("'n' = 300"));
  EXPECT_THAT(refused({"n", Kind::u64, false, {}}, std::int64_t{-1}, kPlain)->what(), HasSubstr("'n' = -1"));
  EXPECT_THAT(refused({"n", Kind::i32, false, {}}, 1.5, kPlain)->what(), HasSubstr("'n' = 1.5"));
  EXPECT_THAT(refused({"n", Kind::i32, false, {}}, "five", kPlain)->what(), HasSubstr("'n' = 'five'"));
  EXPECT_TRUE(refused({"t", Kind::character, true, {}}, "two\tcolumns", kText));
}

TEST(Slow5Encoder, AsksForWhatEveryRecordHas) {
  Slow5RecordEncoder encoder({}, kPlain);
  const Attributes whole = read_with({});
  for (const char* const name : {"read_id", "digitisation", "offset", "range", "sampling_rate"}) {
    Attributes attributes;
    for (const auto& [key, value] : whole.entries()) {
      if (key != name) attributes.set(key, value);
    }
    EXPECT_THAT(error_of([&] { encoder.encode(attributes, 0, Samples{1}); })->what(),
                HasSubstr("needs the attribute '" + std::string(name) + "'"));
  }
}

TEST(Slow5Encoder, MakesFieldsOfAttributes) {
  const auto fields = slow5_fields_for(read_with(
      {{"run_id", "x"}, {"n", std::int64_t{1}}, {"f", 0.5}, {"t", "a"}, {"median_before", 1.0}, {"coding", "none"}}));
  ASSERT_EQ(fields.size(), 9U) << "six usual ones and three more";
  EXPECT_EQ(fields[6], (Slow5Field{"n", Kind::i64, false, {}}));
  EXPECT_EQ(fields[7], (Slow5Field{"f", Kind::f64, false, {}}));
  EXPECT_EQ(fields[8], (Slow5Field{"t", Kind::character, true, {}}));
}

}  // namespace
}  // namespace millrace::io
