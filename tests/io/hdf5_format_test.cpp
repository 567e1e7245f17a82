#include "io/hdf5_format.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "pipeline/core/error.h"
#include "tests/support/places.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::TempDirectory;

std::filesystem::path sample(const std::string& name) {
  return test::source_dir() / "tests" / "io" / "fast5" / name;
}

/// A file with one group of attributes, a linked group, and datasets of both kinds.
std::filesystem::path write_file(const TempDirectory& directory) {
  const auto path = directory / "file.h5";
  Hdf5Writer writer(path);
  writer.set_attribute("/", {"version", std::string("2.2")});
  writer.create_group("first", std::vector<Hdf5Attribute>{{"text", std::string("some text")},
                                                          {"empty", std::string()},
                                                          {"number", 0.1},
                                                          {"small", std::int64_t{200}, DType::u8},
                                                          {"large", std::int64_t{-5'000'000'000}}});
  writer.link("first", "second");
  const std::vector<std::int16_t> samples{1, -2, 300};
  writer.write_contiguous("plain", DType::i16, std::as_bytes(std::span(samples)));
  writer.write_contiguous("nothing", DType::f64, {});
  const std::vector<Hdf5Filter> filters{{32020, {1, 2, 1, 1}}};
  const std::vector<std::byte> chunk(17, std::byte{42});
  writer.write_encoded("encoded", DType::i16, 1000, filters, chunk);
  writer.write_encoded("empty", DType::i16, 0, filters, {});
  writer.close();
  return path;
}

TEST(Hdf5Format, AttributesComeBackAsTheyWereWritten) {
  const TempDirectory directory;
  const Hdf5Reader reader(write_file(directory));
  EXPECT_EQ(reader.attribute("/", "version"), AttributeValue(std::string("2.2")));
  const Attributes attributes = reader.attributes("first");
  EXPECT_EQ(attributes.entries().size(), 5U);
  EXPECT_EQ(attributes.text("text"), "some text");
  EXPECT_EQ(attributes.text("empty"), "");
  EXPECT_EQ(attributes.number("number"), 0.1);
  EXPECT_EQ(attributes.integer("small"), 200);
  EXPECT_EQ(attributes.integer("large"), -5'000'000'000);
  EXPECT_EQ(reader.attribute("first", "absent"), std::nullopt);
}

TEST(Hdf5Format, ALinkedGroupIsTheSameGroup) {
  const TempDirectory directory;
  const Hdf5Reader reader(write_file(directory));
  EXPECT_EQ(reader.attributes("second").entries(), reader.attributes("first").entries());
  EXPECT_EQ(reader.place("second"), reader.place("first"));
  EXPECT_NE(reader.place("empty"), reader.place("first"));
  EXPECT_EQ(test::error_of([&] { reader.place("nowhere"); })->path(), directory / "file.h5");
  EXPECT_EQ(reader.names("/"), (std::vector<std::string>{"empty", "encoded", "first", "nothing", "plain", "second"}));
}

TEST(Hdf5Format, SaysWhereTheBytesOfADatasetLie) {
  const TempDirectory directory;
  const auto path = write_file(directory);
  const std::string file = test::contents_of(path);
  const Hdf5Reader reader(path);
  EXPECT_EQ(reader.file_bytes(), file.size());

  const Hdf5Dataset plain = reader.dataset("plain");
  EXPECT_EQ(plain.layout, Hdf5Layout::contiguous);
  EXPECT_EQ(plain.dtype, DType::i16);
  ASSERT_EQ(plain.chunks.size(), 1U);
  EXPECT_EQ(plain.chunks[0].extent.length, 6U);
  EXPECT_EQ(file.substr(plain.chunks[0].extent.offset, 6), std::string("\x01\x00\xfe\xff\x2c\x01", 6));

  const Hdf5Dataset encoded = reader.dataset("encoded");
  EXPECT_EQ(encoded.layout, Hdf5Layout::chunked);
  EXPECT_EQ(encoded.elements, 1000U);
  EXPECT_EQ(encoded.chunk_elements, 1000U);
  EXPECT_EQ(encoded.filters, (std::vector<Hdf5Filter>{{32020, {1, 2, 1, 1}}}));
  ASSERT_EQ(encoded.chunks.size(), 1U);
  EXPECT_EQ(file.substr(encoded.chunks[0].extent.offset, encoded.chunks[0].extent.length), std::string(17, '*'));
}

TEST(Hdf5Format, EmptyDatasetsHaveNoChunks) {
  const TempDirectory directory;
  const Hdf5Reader reader(write_file(directory));
  EXPECT_TRUE(reader.dataset("empty").chunks.empty());
  EXPECT_TRUE(reader.dataset("nothing").chunks.empty());
}

TEST(Hdf5Format, ContainsOnlyWhatCanBeReached) {
  const TempDirectory directory;
  const Hdf5Reader reader(write_file(directory));
  EXPECT_TRUE(reader.contains("/"));
  EXPECT_TRUE(reader.contains("first"));
  EXPECT_FALSE(reader.contains("first/deeper/still"));
  EXPECT_FALSE(reader.contains("fourth"));
}

TEST(Hdf5Format, ReadsAttributesOfEveryTypeThatH5pyWrites) {
  const Hdf5Reader reader(sample("single.fast5"));
  const Attributes channel = reader.attributes("UniqueGlobalKey/channel_id");
  EXPECT_EQ(channel.integer("channel_number"), 77);
  EXPECT_EQ(channel.text("digitisation"), "8192");  // variable length
  EXPECT_EQ(channel.number("range"), 1440.5);
  EXPECT_EQ(channel.integer("offset"), -3);
  EXPECT_EQ(reader.attributes("UniqueGlobalKey/tracking_id").find("list"), nullptr) << "an array is left out";
  const Hdf5Reader layouts(sample("layouts.fast5"));
  EXPECT_EQ(layouts.attribute("read_00000000-0000-4000-8000-000000000001/Raw", "end_reason"),
            AttributeValue(std::string("signal_positive")));
}

TEST(Hdf5Format, AddressesCountTheUserBlock) {
  const std::string dataset = "read_00000000-0000-4000-8000-000000000004/Raw/Signal";
  for (const char* const name : {"layouts.fast5", "userblock.fast5", "latest.fast5"}) {
    const std::string file = test::contents_of(sample(name));
    const Hdf5Dataset signal = Hdf5Reader(sample(name)).dataset(dataset);
    ASSERT_EQ(signal.chunks.size(), 6U) << name;
    for (const auto& chunk : signal.chunks) {
      EXPECT_EQ(file.substr(chunk.extent.offset, 2), "\x78\x01") << name << ": not a zlib header";
    }
  }
}

TEST(Hdf5Format, NamesTheFileItCannotOpen) {
  const TempDirectory directory;
  const auto text = directory.write("text.h5", "no HDF5 at all");
  const auto empty = directory.write("empty.h5", "");
  for (const auto& path : {text, empty, directory / "absent.h5", directory.path()}) {
    const auto error = test::error_of([&] { Hdf5Reader reader(path); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->path(), path);
  }
}

TEST(Hdf5Format, RefusesATruncatedFile) {
  const TempDirectory directory;
  const std::string whole = test::contents_of(write_file(directory));
  for (std::size_t size = 1; size < whole.size(); size += 97) {
    const auto path = directory.write("cut.h5", whole.substr(0, size));
    EXPECT_THROW(Hdf5Reader{path}, Error) << size << " bytes";
  }
}

TEST(Hdf5Format, RefusesDatasetsItCannotDescribe) {
  const TempDirectory directory;
  const Hdf5Reader reader(write_file(directory));
  EXPECT_THROW(reader.dataset("first"), Error);
  EXPECT_THROW(reader.dataset("absent"), Error);
  EXPECT_THROW(reader.names("plain"), Error);
  EXPECT_THROW(reader.attributes("absent"), Error);
}

TEST(Hdf5Format, DoesNotOverwrite) {
  const TempDirectory directory;
  const auto path = write_file(directory);
  EXPECT_THROW(Hdf5Writer{path}, Error);
}

}  // namespace
}  // namespace millrace::io
