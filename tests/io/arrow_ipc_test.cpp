#include "io/arrow_ipc.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/arrow_ipc_writer.h"
#include "tests/support/scripted_io.h"
#include "tests/support/stage_driver.h"

namespace millrace::io {
namespace {

using test::error_of;
using test::ScriptedReader;

ArrowField field(const std::string& name, ArrowKind kind, std::uint32_t width, bool is_signed = false) {
  ArrowField made;
  made.name = name;
  made.kind = kind;
  made.width = width;
  made.is_signed = is_signed;
  return made;
}

ArrowField in_dictionary(ArrowField made, std::int64_t id) {
  made.dictionary = id;
  return made;
}

class MadeTable {
 public:
  explicit MadeTable(std::vector<ArrowField> fields)
      : writer_(std::move(fields), {{"key", "value"}},
                [this](auto bytes) { bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size()); }) {}

  ArrowTableWriter& writer() { return writer_; }
  std::string take() {
    writer_.finish();
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
  ArrowTableWriter writer_;
};

/// A column of three signed integers.
std::string small_table() {
  MadeTable table({field("n", ArrowKind::integer, 4, true)});
  ArrowBody body;
  body.values(std::span<const std::int32_t>(std::vector<std::int32_t>{-1, 2, 3}));
  table.writer().write_batch(3, body);
  return table.take();
}

std::string error_text(std::string bytes) {
  ScriptedReader reader(std::move(bytes));
  const auto error = error_of([&] {
    const ArrowFile file(reader, {0, reader.size()});
    for (std::size_t i = 0; i < file.batches(); ++i) file.batch(i, ArrowFile::Body::loaded);
  });
  return error ? error->what() : "";
}

TEST(ArrowFile, ReadsEveryPlainKindThatIsWritten) {
  MadeTable table({field("u8", ArrowKind::integer, 1), field("i64", ArrowKind::integer, 8, true),
                   field("f32", ArrowKind::floating, 4), field("f64", ArrowKind::floating, 8),
                   field("yes", ArrowKind::boolean, 0), field("text", ArrowKind::text, 4),
                   field("when", ArrowKind::timestamp, 8)});
  ArrowBody body;
  body.values(std::span<const std::uint8_t>(std::vector<std::uint8_t>{255, 1}));
  body.values(std::span<const std::int64_t>(std::vector<std::int64_t>{INT64_MIN, 5}));
  body.values(std::span<const float>(std::vector<float>{0.5F, -2}));
  body.values(std::span<const double>(std::vector<double>{1e300, 3}));
  body.booleans({true, false});
  body.texts(std::vector<std::string>{"", "two words"});
  body.values(std::span<const std::int64_t>(std::vector<std::int64_t>{1'557'745'903'000, 0}));
  table.writer().write_batch(2, body);
  ScriptedReader reader("leading bytes..." + table.take());
  const ArrowFile file(reader, {16, reader.size() - 16});
  EXPECT_EQ(file.metadata("key"), "value");
  ASSERT_EQ(file.batches(), 1U);
  const std::vector<std::vector<AttributeValue>> expected{{std::int64_t{255}, std::int64_t{1}},
                                                          {std::int64_t{INT64_MIN}, std::int64_t{5}},
                                                          {0.5, -2.0},
                                                          {1e300, 3.0},
                                                          {std::int64_t{1}, std::int64_t{0}},
                                                          {std::string(), std::string("two words")},
                                                          {std::int64_t{1'557'745'903'000}, std::int64_t{0}}};
  for (const auto how : {ArrowFile::Body::loaded, ArrowFile::Body::left}) {
    const ArrowBatch batch = file.batch(0, how);
    EXPECT_EQ(batch.rows, 2U);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(file.values(batch, file.fields()[i], batch.columns[i]), expected[i]) << file.fields()[i].name;
    }
  }
}

TEST(ArrowFile, ReadsListsByTheirOffsets) {
  ArrowField list = field("list", ArrowKind::list, 8);
  list.children = {field("item", ArrowKind::integer, 2, true)};
  MadeTable table({list});
  ArrowBody body;
  body.array(3);
  body.buffer(std::as_bytes(std::span<const std::int64_t>(std::vector<std::int64_t>{0, 2, 2, 3})));
  body.values(std::span<const std::int16_t>(std::vector<std::int16_t>{7, 8, 9}));
  table.writer().write_batch(3, body);
  ScriptedReader reader(table.take());
  const ArrowFile file(reader, {0, reader.size()});
  const ArrowBatch batch = file.batch(0, ArrowFile::Body::left);
  EXPECT_EQ(file.offsets(batch, file.fields()[0], batch.columns[0]), (std::vector<std::uint64_t>{0, 2, 2, 3}));
  EXPECT_EQ(file.unsigned_values(batch, file.fields()[0].children[0], batch.columns[0].children[0]),
            (std::vector<std::uint64_t>{7, 8, 9}));
}

TEST(ArrowFile, JoinsADictionaryWithWhatWasAddedToIt) {
  ArrowField structure = field("s", ArrowKind::structure, 0);
  structure.children = {field("name", ArrowKind::text, 4), field("n", ArrowKind::integer, 2)};
  MadeTable table({in_dictionary(field("t", ArrowKind::text, 4), 5), in_dictionary(structure, 6)});
  ArrowBody body;
  const auto texts = [&](std::vector<std::string> values) {
    body.clear();
    body.texts(values);
    table.writer().write_dictionary(5, values.size(), body);
  };
  texts({"a", "b"});
  texts({"c"});
  body.clear();
  body.array(1);
  body.texts(std::vector<std::string>{"x"});
  body.values(std::span<const std::uint16_t>(std::vector<std::uint16_t>{40'000}));
  table.writer().write_dictionary(6, 1, body);
  body.clear();
  body.values(std::span<const std::int16_t>(std::vector<std::int16_t>{2, 0}));
  body.values(std::span<const std::int16_t>(std::vector<std::int16_t>{0, 0}));
  table.writer().write_batch(2, body);
  ScriptedReader reader(table.take());
  const ArrowFile file(reader, {0, reader.size()});
  using Values = std::vector<AttributeValue>;
  EXPECT_EQ(file.dictionary(file.fields()[0]).at(""), (Values{std::string("a"), std::string("b"), std::string("c")}));
  const auto parts = file.dictionary(file.fields()[1]);
  EXPECT_EQ(parts.at("name"), Values{std::string("x")});
  EXPECT_EQ(parts.at("n"), Values{std::int64_t{40'000}});
  const ArrowBatch batch = file.batch(0, ArrowFile::Body::loaded);
  EXPECT_EQ(file.unsigned_values(batch, file.fields()[0], batch.columns[0]), (std::vector<std::uint64_t>{2, 0}));
}

TEST(ArrowFile, EveryCutIsAnErrorAndNothingElse) {
  const std::string whole = small_table();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(error_text(whole.substr(0, length)), "") << length;
  }
}

TEST(ArrowFile, NoFlippedBitIsMoreThanAnError) {
  const std::string whole = small_table();
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    ScriptedReader reader(std::move(bytes));
    try {
      const ArrowFile file(reader, {0, reader.size()});
      for (std::size_t i = 0; i < file.batches(); ++i) {
        const ArrowBatch batch = file.batch(i, ArrowFile::Body::loaded);
        EXPECT_LE(file.values(batch, file.fields()[0], batch.columns[0]).size(), whole.size());
      }
    } catch (const Error& error) {
      EXPECT_TRUE(error.offset()) << error.what();
    }
  }
}

TEST(ArrowFile, SaysWhatIsDamagedAndWhere) {
  const std::string whole = small_table();
  std::string bytes = whole;
  bytes[0] = 'X';
  EXPECT_EQ(error_text(bytes), "offset 0: the Arrow table is damaged: there is no ARROW1 at its start");
  bytes = whole;
  bytes.back() = 'X';
  EXPECT_EQ(error_text(bytes), "offset " + std::to_string(whole.size() - 6) +
                                   ": the Arrow table is damaged: there is no ARROW1 at its end");
  bytes = whole;
  bytes[whole.size() - 7] = '\x7f';  // high byte of the footer's length
  EXPECT_NE(error_text(bytes).find("its footer claims 21"), std::string::npos) << error_text(bytes);
}

}  // namespace
}  // namespace millrace::io
