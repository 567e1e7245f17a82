#include "io/slow5_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "io/stream_vbyte.h"
#include "pipeline/core/error.h"
#include "tests/support/slow5_files.h"
#include "tests/support/stage_driver.h"

namespace millrace::io {
namespace {

using Kind = Slow5Field::Kind;
using Samples = std::vector<std::int16_t>;
using test::error_of;
using testing::HasSubstr;

constexpr std::uint64_t kMaxSamples = 10'000;
constexpr Slow5Coding kPlain{};
constexpr Slow5Coding kText{true, Slow5Packing::none, Slow5SignalCoding::none};

template <typename T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// A binary record of one sample with `auxiliary` behind it.
std::string record_with(const std::string& auxiliary, const std::string& id = "r", std::uint64_t samples = 1) {
  const std::string body = raw(static_cast<std::uint16_t>(id.size())) + id + raw(std::uint32_t{0}) + raw(1.0) +
                           raw(2.0) + raw(3.0) + raw(4000.0) + raw(samples) + raw(std::int16_t{7}) + auxiliary;
  return raw(static_cast<std::uint64_t>(body.size())) + body;
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

Slow5Header header_with(std::vector<Slow5Field> fields) {
  Slow5Header header;
  header.fields = std::move(fields);
  return header;
}

Attributes attributes_of(const std::string& stored, const Slow5Header& header, const Slow5Coding& coding = kPlain) {
  Slow5RecordDecoder decoder;
  const Slow5Record record = decoder.open(bytes_of(stored), coding, header, kMaxSamples);
  Attributes attributes;
  Slow5RecordDecoder::add_attributes(record, coding, header, attributes);
  return attributes;
}

class Slow5Records : public testing::TestWithParam<Slow5Coding> {};

TEST_P(Slow5Records, GiveBackWhatWasEncoded) {
  const Slow5Coding coding = GetParam();
  const Slow5Header header = test::slow5_header();
  Slow5RecordEncoder encoder(header.fields, coding);
  Slow5RecordDecoder decoder;
  for (const auto& read : test::slow5_reads()) {
    const auto stored = encoder.encode(read.attributes, read.group, read.samples);
    const Slow5Record record = decoder.open(stored, coding, header, kMaxSamples);
    EXPECT_EQ(record.group, read.group);
    ASSERT_EQ(record.samples, read.samples.size());
    Samples samples(record.samples);
    decoder.decode(record, coding, samples);
    EXPECT_EQ(samples, read.samples);
    Attributes attributes;
    Slow5RecordDecoder::add_attributes(record, coding, header, attributes);
    for (const auto& [name, value] : read.attributes.entries()) {
      ASSERT_NE(attributes.find(name), nullptr) << name;
      EXPECT_EQ(*attributes.find(name), value) << name;
    }
    EXPECT_EQ(attributes.integer("samples"), static_cast<std::int64_t>(read.samples.size()));
    EXPECT_EQ(attributes.integer("read_group"), read.group);
  }
}

TEST_P(Slow5Records, ThatAreCutAreRefused) {
  const Slow5Coding coding = GetParam();
  const Slow5Header header = test::slow5_header();
  Slow5RecordEncoder encoder(header.fields, coding);
  const auto reads = test::slow5_reads();
  const auto whole = encoder.encode(reads[4].attributes, 0, reads[4].samples);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    if (!coding.text && length >= 8) {
      const std::uint64_t said = length - 8;
      std::memcpy(cut.data(), &said, sizeof said);
    }
    Slow5RecordDecoder decoder;
    EXPECT_THROW(
        {
          const Slow5Record record = decoder.open(cut, coding, header, kMaxSamples);
          Attributes attributes;
          Slow5RecordDecoder::add_attributes(record, coding, header, attributes);
        },
        Error)
        << length;
  }
}

TEST_P(Slow5Records, WithMoreSamplesThanAnnouncedAreRefused) {
  const Slow5Header header = test::slow5_header();
  Slow5RecordEncoder encoder(header.fields, GetParam());
  const auto reads = test::slow5_reads();
  const auto stored = encoder.encode(reads[5].attributes, 0, reads[5].samples);
  Slow5RecordDecoder decoder;
  EXPECT_THROW(decoder.open(stored, GetParam(), header, 2999), Error);
  EXPECT_EQ(decoder.open(stored, GetParam(), header, 3000).samples, 3000U);
}

INSTANTIATE_TEST_SUITE_P(Codings, Slow5Records, testing::ValuesIn(test::slow5_codings()),
                         [](const auto& name) { return test::test_name_of(name.param); });

TEST(Slow5Record, ReadsAuxiliaryFieldsOfEveryType) {
  const Slow5Header header = header_with({{"i8", Kind::i8, false, {}},
                                          {"i16", Kind::i16, false, {}},
                                          {"i32", Kind::i32, false, {}},
                                          {"i64", Kind::i64, false, {}},
                                          {"u8", Kind::u8, false, {}},
                                          {"u16", Kind::u16, false, {}},
                                          {"u32", Kind::u32, false, {}},
                                          {"u64", Kind::u64, false, {}},
                                          {"f32", Kind::f32, false, {}},
                                          {"f64", Kind::f64, false, {}},
                                          {"c", Kind::character, false, {}},
                                          {"text", Kind::character, true, {}},
                                          {"list", Kind::i16, true, {}},
                                          {"numbers", Kind::f64, true, {}},
                                          {"label", Kind::enumeration, false, {"a", "b"}},
                                          {"labels", Kind::enumeration, true, {"a", "b"}}});
  const std::string values =
      raw(std::int8_t{-8}) + raw(std::int16_t{-16}) + raw(std::int32_t{-32}) + raw(std::int64_t{-64}) +
      raw(std::uint8_t{8}) + raw(std::uint16_t{16}) + raw(std::uint32_t{32}) + raw(std::uint64_t{1} << 63) + raw(0.5F) +
      raw(0.25) + "x" + raw(std::uint64_t{5}) + "hello" + raw(std::uint64_t{3}) + raw(std::int16_t{-1}) +
      raw(std::int16_t{0}) + raw(std::int16_t{32767}) + raw(std::uint64_t{2}) + raw(1.5) + raw(-2.0) +
      raw(std::uint8_t{1}) + raw(std::uint64_t{2}) + raw(std::uint8_t{1}) + raw(std::uint8_t{0});
  const Attributes attributes = attributes_of(record_with(values), header);
  EXPECT_EQ(attributes.integer("i8"), -8);
  EXPECT_EQ(attributes.integer("i16"), -16);
  EXPECT_EQ(attributes.integer("i32"), -32);
  EXPECT_EQ(attributes.integer("i64"), -64);
  EXPECT_EQ(attributes.integer("u8"), 8);
  EXPECT_EQ(attributes.integer("u16"), 16);
  EXPECT_EQ(attributes.integer("u32"), 32);
  EXPECT_EQ(attributes.text("u64"), "9223372036854775808") << "more than an integer attribute can hold";
  EXPECT_EQ(attributes.number("f32"), 0.5);
  EXPECT_EQ(attributes.number("f64"), 0.25);
  EXPECT_EQ(attributes.text("c"), "x");
  EXPECT_EQ(attributes.text("text"), "hello");
  EXPECT_EQ(attributes.text("list"), "-1,0,32767");
  EXPECT_EQ(attributes.text("numbers"), "1.5,-2");
  EXPECT_EQ(attributes.text("label"), "b");
  EXPECT_EQ(attributes.text("labels"), "b,a");
}

TEST(Slow5Record, LeavesOutFieldsWithoutAValue) {
  const Slow5Header header = header_with({{"i8", Kind::i8, false, {}},
                                          {"u8", Kind::u8, false, {}},
                                          {"u64", Kind::u64, false, {}},
                                          {"f32", Kind::f32, false, {}},
                                          {"text", Kind::character, true, {}},
                                          {"list", Kind::i32, true, {}},
                                          {"label", Kind::enumeration, false, {"a"}},
                                          {"range", Kind::i8, false, {}}});
  const std::string values = raw(std::int8_t{127}) + raw(std::uint8_t{255}) +
                             raw(std::numeric_limits<std::uint64_t>::max()) +
                             raw(std::numeric_limits<float>::quiet_NaN()) + raw(std::uint64_t{0}) +
                             raw(std::uint64_t{0}) + raw(std::uint8_t{255}) + raw(std::int8_t{5});
  const Attributes attributes = attributes_of(record_with(values), header);
  for (const char* const name : {"i8", "u8", "u64", "f32", "text", "list", "label"}) {
    EXPECT_EQ(attributes.find(name), nullptr) << name;
  }
  EXPECT_EQ(attributes.number("range"), 3.0) << "a taken name stays with its owner";
}

TEST(Slow5Record, ReadsAuxiliaryFieldsOfText) {
  const Slow5Header header = header_with({{"n", Kind::i32, false, {}},
                                          {"f", Kind::f32, false, {}},
                                          {"text", Kind::character, true, {}},
                                          {"list", Kind::i16, true, {}},
                                          {"label", Kind::enumeration, false, {"a", "b"}},
                                          {"none", Kind::u8, false, {}}});
  const std::string front = "id\t0\t8192\t23\t1467.61\t4000\t3\t-5,0,9\t";
  const Attributes attributes = attributes_of(front + "-7\t0.5\thello\t1,2\t1\t.\n", header, kText);
  EXPECT_EQ(attributes.integer("n"), -7);
  EXPECT_EQ(attributes.number("f"), 0.5);
  EXPECT_EQ(attributes.text("text"), "hello");
  EXPECT_EQ(attributes.text("list"), "1,2");
  EXPECT_EQ(attributes.text("label"), "b");
  EXPECT_EQ(attributes.find("none"), nullptr);
  EXPECT_EQ(attributes.number("range"), 1467.61);
  for (const char* const columns :
       {"-7\t0.5\thello\t1,2\t1\n", "-7\t0.5\thello\t1,2\t1\t.\t.\n", "\n", "x\t0.5\thello\t1,2\t1\t.\n",
        "1\t0.5\thello\t1,2\t2\t.\n", "1\t0.5\thello\t1,2\tc\t.\n"}) {
    EXPECT_THROW(attributes_of(front + columns, header, kText), Error) << columns;
  }
}

TEST(Slow5Record, RefusesSignalOfTextThatIsNoSignal) {
  const auto decoded = [](const std::string& count, const std::string& signal) {
    const std::string line = "id\t0\t8192\t23\t1467.61\t4000\t" + count + "\t" + signal + "\n";
    Slow5RecordDecoder decoder;
    const Slow5Record record = decoder.open(bytes_of(line), kText, header_with({}), kMaxSamples);
    Samples samples(record.samples);
    decoder.decode(record, kText, samples);
    return samples;
  };
  EXPECT_EQ(decoded("3", "-32768,0,32767"), (Samples{-32768, 0, 32767}));
  EXPECT_EQ(decoded("0", "."), Samples{});
  const std::pair<const char*, const char*> wrong[] = {{"3", "1,2"},     {"2", "1,2,3"}, {"3", "1,2,"}, {"2", "1,,2"},
                                                       {"2", "1,32768"}, {"2", "1,x"},   {"1", "."},    {"0", "1"},
                                                       {"-1", "1"},      {"1.5", "1"},   {"2", "1, 2"}, {"99", "1"}};
  for (const auto& [count, signal] : wrong) EXPECT_THROW(decoded(count, signal), Error) << count << ": " << signal;
}

TEST(Slow5Record, RefusesFieldsThatCannotBe) {
  const Slow5Header none = header_with({});
  const std::pair<std::string, const char*> cases[] = {
      {record_with("x"), "1 bytes behind its last field"},
      {record_with("", ""), "read_id that cannot be printed"},
      {record_with("", "a b"), "read_id that cannot be printed"},
      {record_with("", "a\x1b[2J"), "read_id that cannot be printed"},
      {record_with("", std::string(1025, 'a')), "read_id that cannot be printed"},
      {record_with("", "r", 2), "ends too early"},
      {record_with("", "r", std::uint64_t{1} << 62), "claims 4611686018427387904 samples"},
      {record_with("", "r", ~std::uint64_t{0}), "claims 18446744073709551615 samples"},
      {"", "ends too early"},
      {raw(std::uint64_t{4}) + "abc", "3 bytes says that it has 4"},
  };
  for (const auto& [record, why] : cases) {
    const auto error = error_of([&record = record, &none] { attributes_of(record, none); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->what(), HasSubstr(why));
  }
}

TEST(Slow5Record, BoundsArraysBeforeTheyAreMade) {
  const Slow5Header header = header_with({{"list", Kind::i64, true, {}}});
  for (const std::uint64_t count : {std::uint64_t{2}, std::uint64_t{1} << 61, ~std::uint64_t{0}}) {
    EXPECT_THROW(attributes_of(record_with(raw(count) + raw(std::int64_t{1})), header), Error) << count;
  }
  const Slow5Header text = header_with({{"text", Kind::character, true, {}}});
  EXPECT_THROW(attributes_of(record_with(raw(~std::uint64_t{0}) + "x"), text), Error);
  const Slow5Header label = header_with({{"label", Kind::enumeration, false, {"a"}}});
  EXPECT_THROW(attributes_of(record_with(raw(std::uint8_t{1})), label), Error);
}

TEST(Slow5Record, RefusesAGroupThatTheHeaderDoesNotHave) {
  Slow5RecordEncoder encoder({}, kPlain);
  const auto stored = encoder.encode(test::slow5_reads()[1].attributes, 1, Samples{1});
  Slow5RecordDecoder decoder;
  EXPECT_THAT(error_of([&] { decoder.open(stored, kPlain, header_with({}), kMaxSamples); })->what(),
              HasSubstr("read group 1; there are 1"));
}

TEST(Slow5Record, TellsWhatItsFirstBytesTell) {
  for (const auto coding : {Slow5SignalCoding::none, Slow5SignalCoding::svb_zd}) {
    const auto reads = test::slow5_reads();
    Slow5RecordEncoder encoder({}, {false, Slow5Packing::none, coding});
    const auto stored = encoder.encode(reads[5].attributes, 1, reads[5].samples).subspan(8);
    std::size_t needed = 0;
    Slow5Record record;
    while (!parse_front(stored.first(needed), coding, record)) ++needed;
    EXPECT_LE(needed, kUsualFrontBytes);
    EXPECT_EQ(record.id, *reads[5].attributes.text("read_id"));
    EXPECT_EQ(record.samples, 3000U);
    EXPECT_EQ(record.group, 1U);
    EXPECT_EQ(record.sampling_rate, 4000.0);
  }
}

TEST(Slow5Record, NoRecordHoldsMoreSamplesThanItsBytesAllow) {
  const std::vector<std::int16_t> zeros(1003);
  for (const auto coding : {Slow5SignalCoding::none, Slow5SignalCoding::svb_zd}) {
    Slow5RecordEncoder encoder({}, {false, Slow5Packing::none, coding});
    const auto stored = encoder.encode(test::slow5_reads()[0].attributes, 0, zeros);
    EXPECT_GE(max_slow5_samples(stored.size() - 8, coding), zeros.size());
  }
}

}  // namespace
}  // namespace millrace::io
