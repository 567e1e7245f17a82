#include "stages/events_writer.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/allocation_count.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

const ChunkType kEvents{DType::f32, "events", 1 << 20};
const std::string kHeader = "read_id\tevent\tstart\tlength\tmean\tstdv\n";

Chunk events_of(const std::vector<float>& fields, const std::string& read_id = "") {
  std::shared_ptr<Attributes> attributes;
  if (!read_id.empty()) {
    attributes = std::make_shared<Attributes>();
    attributes->set("read_id", read_id);
  }
  const Chunk flat = test::chunk_of(fields, attributes);
  return flat.with(Buffer(flat.buffer()), DType::f32, {fields.size() / 3, 3});
}

class EventsWriterTest : public testing::Test {
 protected:
  Options options() const { return test::options_of({{"path", (directory_ / "events.tsv").string()}}); }
  std::string written() const { return test::contents_of(directory_ / "events.tsv"); }

  test::TempDirectory directory_;
};

TEST_F(EventsWriterTest, WritesOneRowPerEventUnderAHeader) {
  EventsWriter writer(options());
  writer.prepare(kEvents);
  std::vector<Chunk> chunks;
  chunks.push_back(events_of({5, 87.25F, 1.5F, 3, -0.1F, 0}, "read-a"));
  chunks.push_back(events_of({}, "read-b"));
  chunks.push_back(events_of({100000, 1e30F, 1e-9F}, "read-c"));
  test::drive(writer, std::move(chunks));
  EXPECT_EQ(written(), kHeader +
                           "read-a\t0\t0\t5\t87.25\t1.5\n"
                           "read-a\t1\t5\t3\t-0.1\t0\n"
                           "read-c\t0\t0\t100000\t1e+30\t1e-09\n");
  ASSERT_EQ(writer.outputs().size(), 1);
  EXPECT_EQ(writer.outputs()[0].path, directory_ / "events.tsv");
  EXPECT_EQ(writer.outputs()[0].bytes, written().size());
  EXPECT_EQ(writer.io_stats()->bytes, written().size());
}

TEST_F(EventsWriterTest, NamesAReadWithoutIdAfterItsChunk) {
  EventsWriter writer(options());
  writer.prepare(kEvents);
  std::vector<Chunk> chunks;
  chunks.push_back(events_of({1, 2, 3}));
  chunks.push_back(events_of({1, 2, 3}));
  test::drive(writer, std::move(chunks));
  EXPECT_EQ(written(), kHeader + "chunk-0\t0\t0\t1\t2\t3\nchunk-1\t0\t0\t1\t2\t3\n");
}

TEST_F(EventsWriterTest, WritesTheHeaderAloneForAnEmptyStream) {
  EventsWriter writer(options());
  writer.prepare(kEvents);
  writer.finish(Sink::End::complete);
  EXPECT_EQ(written(), kHeader);
}

TEST_F(EventsWriterTest, SpellsFloatsSoThatTheyReadBackTheSame) {
  std::mt19937_64 random(21);
  std::vector<float> fields;
  while (fields.size() < 30000) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isfinite(value)) continue;
    fields.insert(fields.end(), {1, value, -value});
  }
  fields.insert(fields.end(), {1, std::numeric_limits<float>::lowest(), std::numeric_limits<float>::denorm_min()});
  EventsWriter writer(options());
  writer.prepare(kEvents);
  std::vector<Chunk> chunks;
  chunks.push_back(events_of(fields, "r"));
  test::drive(writer, std::move(chunks));

  std::istringstream rows(written());
  std::string row;
  std::getline(rows, row);
  std::uint64_t event = 0;
  while (std::getline(rows, row)) {
    const auto stdv = row.rfind('\t');
    const auto mean = row.rfind('\t', stdv - 1);
    float value = 0;
    std::from_chars(&row[mean + 1], &row[stdv], value);
    EXPECT_EQ(value, fields[3 * event + 1]) << row;
    std::from_chars(&row[stdv + 1], row.data() + row.size(), value);
    EXPECT_EQ(value, fields[3 * event + 2]) << row;
    ++event;
  }
  EXPECT_EQ(event, fields.size() / 3);
}

TEST_F(EventsWriterTest, WritesInLargePiecesWithoutCopyingThem) {
  std::vector<float> fields;
  for (int i = 0; i < 100000; ++i) fields.insert(fields.end(), {static_cast<float>(i % 9 + 1), 0.5F, 0.25F});
  EventsWriter writer(options());
  writer.prepare(kEvents);
  std::vector<Chunk> chunks;
  for (int i = 0; i < 3; ++i) chunks.push_back(events_of(fields, "read-" + std::to_string(i)));
  test::drive(writer, std::move(chunks));
  const IoStats stats = *writer.io_stats();
  EXPECT_EQ(stats.bytes, written().size());
  EXPECT_LE(stats.calls, stats.bytes / 200000 + 2);
  std::istringstream rows(written());
  std::string row;
  std::size_t count = 0;
  std::string last;
  while (std::getline(rows, row)) {
    ++count;
    last = row;
  }
  EXPECT_EQ(count, 1 + 300000);
  EXPECT_EQ(last, "read-2\t99999\t499995\t1\t0.5\t0.25");
}

TEST_F(EventsWriterTest, KeepsAnInterruptedFileUnderAnotherName) {
  EventsWriter writer(options());
  writer.prepare(kEvents);
  std::vector<Chunk> chunks;
  chunks.push_back(events_of({1, 2, 3}, "a"));
  test::drive(writer, std::move(chunks), Sink::End::interrupted);
  EXPECT_EQ(directory_.names(), std::vector<std::string>{"events.tsv.partial"});
  EXPECT_EQ(test::contents_of(directory_ / "events.tsv.partial"), kHeader + "a\t0\t0\t1\t2\t3\n");
}

TEST_F(EventsWriterTest, LeavesNothingWhenTheRunIsAbandoned) {
  EventsWriter writer(options());
  writer.abandon();
  writer.prepare(kEvents);
  std::vector<float> fields(300000, 1.0F);
  writer.consume(events_of(fields, "a"));
  writer.abandon();
  EXPECT_TRUE(directory_.names().empty());
  EXPECT_TRUE(writer.outputs().empty());
}

TEST_F(EventsWriterTest, RefusesWhatIsNoListOfEvents) {
  EventsWriter writer(options());
  EXPECT_STREQ(test::error_of([&] {
                 writer.prepare({DType::i16, "events", 6});
               })->what(),
               "needs f32 elements, but its input is i16 events, up to 6 B");
  EXPECT_STREQ(test::error_of([&] {
                 writer.prepare({DType::f32, "signal", 6});
               })->what(),
               "needs 'events' chunks, but its input is f32 signal, up to 6 B");
  writer.prepare(kEvents);
  EXPECT_STREQ(test::error_of([&] {
                 writer.consume(test::chunk_of(std::vector<float>{1, 2, 3}));
               })->what(),
               "events have the shape [n, 3], not [3]");
}

TEST_F(EventsWriterTest, RefusesALengthThatIsNoNumberOfSamples) {
  EventsWriter writer(options());
  writer.prepare(kEvents);
  for (const float length : {-1.0F, 1.5F, std::numeric_limits<float>::quiet_NaN(), 1e30F}) {
    EXPECT_THROW(writer.consume(events_of({length, 2, 3}, "a")), Error) << length;
  }
}

TEST_F(EventsWriterTest, RefusesAReadIdThatWouldBreakTheTable) {
  EventsWriter writer(options());
  writer.prepare(kEvents);
  for (const char* const id : {"a\tb", "a\nb", "\r"}) {
    EXPECT_THROW(writer.consume(events_of({1, 2, 3}, id)), Error);
  }
  EXPECT_THROW(writer.consume(events_of({1, 2, 3}, std::string(1 << 20, 'x'))), Error);
}

TEST_F(EventsWriterTest, NeedsAPath) {
  const auto error = test::error_of([] { EventsWriter(test::options_of({})); });
  EXPECT_STREQ(error->what(), "test.toml:5:1: 'path' is required");
}

TEST_F(EventsWriterTest, AllocatesNothingPerChunk) {
  EventsWriter writer(options());
  writer.prepare(kEvents);
  std::vector<float> fields(300000, 1.0F);
  writer.consume(events_of(fields, "a"));  // many flushes: the file is open and the buffers are there
  Chunk chunk = events_of(fields, "a");
  const auto before = test::allocations_of_this_thread();
  writer.consume(std::move(chunk));
  EXPECT_EQ(test::allocations_of_this_thread(), before);
  EXPECT_GE(writer.state_bytes(), (256U << 10) + 65536);
  writer.abandon();
}

}  // namespace
}  // namespace millrace
