// Every transport of the table on every kind of file system: it works, byte for byte, or its probe says why not.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "io/buffer_pool.h"
#include "io/file_descriptor.h"
#include "io/open_file.h"
#include "io/transports.h"
#include "pipeline/core/clock.h"
#include "tests/support/file_systems.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/scripted_io.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::bytes_of;
using test::contents_of;
using test::text_of;

constexpr std::uint64_t kMiB = 1ULL << 20;

std::string noise(std::size_t bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string result(bytes, '\0');
  std::generate(result.begin(), result.end(), [&random] { return static_cast<char>(random()); });
  return result;
}

/// Lines of /proc/self/maps for files below `directory` and for rings.
std::ptrdiff_t mappings(const std::filesystem::path& directory) {
  std::ifstream maps("/proc/self/maps");
  std::ptrdiff_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(directory.string()) != std::string::npos || line.find("io_uring") != std::string::npos) ++count;
  }
  return count;
}

class FileSystemConformance : public testing::TestWithParam<test::FileSystem> {
 protected:
  void SetUp() override {
    const test::Place& place = test::place_on(GetParam());
    if (!place.missing.empty()) GTEST_SKIP() << place.missing;
    directory_ = place.directory;
  }

  std::filesystem::path write(const std::string& name, const std::string& contents) const {
    const auto path = directory_ / name;
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out << contents;
    out.close();
    EXPECT_TRUE(out.good()) << path;
    return path;
  }

  /// Runs `use` for each transport that `probe` finds to work here, and looks for what it left behind.
  template <typename Probing>
  void for_each_transport(Probing probe, const std::function<void(const Transport&)>& use) const {
    monotonic_clock().thread_usage();  // opens a file that stays open for the thread
    for (const Transport& transport : transports()) {
      SCOPED_TRACE(std::string(transport.name) + " on " + test::name_of(GetParam()));
      const Probe result = probe(transport);
      if (!result.works) {
        EXPECT_NE(result.reason, "") << "it refuses without a word";
        continue;
      }
      const std::ptrdiff_t descriptors = test::open_descriptors();
      const std::ptrdiff_t maps = mappings(directory_);
      try {
        use(transport);
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
      EXPECT_EQ(test::open_descriptors(), descriptors) << "a descriptor was left open";
      EXPECT_EQ(mappings(directory_), maps) << "a mapping was left";
    }
  }

  /// As for_each_transport, with memory as in a run and with memory of any alignment.
  template <typename Probing>
  void for_each_transport_and_lender(Probing probe, const std::function<void(const Transport&)>& use) const {
    for_each_transport(probe, [&](const Transport& transport) {
      {
        BufferPool pool(2 * kMiB + 2 * transport.read_padding_bytes, 8);
        const test::LendFrom lend(pool);
        use(transport);
      }
      use(transport);
    });
  }

  std::filesystem::path directory_;
};

ReadVia read_via_of(const Transport& transport) {
  ReadVia via;
  via.transport = via.transport_requested = transport.name;
  return via;
}

/// Pieces of a file of `bytes` bytes from its start to its end, now on whole blocks and now not.
std::vector<Extent> pieces_of(std::uint64_t bytes, std::mt19937_64& random) {
  std::vector<Extent> pieces;
  for (std::uint64_t offset = 0; offset < bytes;) {
    const std::uint64_t wanted = random() % 2 == 0 ? 4096 * (1 + random() % 64) : 1 + random() % 200'000;
    const Extent piece{offset, std::min(wanted, bytes - offset)};
    pieces.push_back(piece);
    offset += piece.length;
  }
  return pieces;
}

/// Reads `pieces` in order, with as many announced ahead as the reader wants, and after `stray` of them one that was
/// not announced.
void read_announced(Reader& reader, const std::string& contents, const std::vector<Extent>& pieces, std::size_t stray) {
  std::size_t announced = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i == stray) {
      EXPECT_EQ(text_of(reader.read({contents.size() / 3, 100})), contents.substr(contents.size() / 3, 100));
      announced = i;
    }
    for (announced = std::max(announced, i); announced < pieces.size() && announced <= i + reader.lookahead().reads;) {
      reader.announce(pieces[announced++]);
    }
    const Buffer buffer = reader.read(pieces[i]);
    ASSERT_EQ(text_of(buffer), contents.substr(pieces[i].offset, pieces[i].length)) << "piece " << i;
  }
}

TEST_P(FileSystemConformance, ReadsAreExact) {
  std::vector<std::string> all_contents;
  for (const std::size_t bytes : {0U, 1U, 511U, 4095U, 4096U, 4097U, 1U << 20, 3'000'017U}) {
    all_contents.push_back(noise(bytes, bytes));
    write("read" + std::to_string(bytes), all_contents.back());
  }
  const auto path_of = [&](const std::string& contents) {
    return directory_ / ("read" + std::to_string(contents.size()));
  };
  const auto probe = [&](const Transport& transport) { return transport.probe_read(path_of(all_contents.back())); };
  for_each_transport_and_lender(probe, [&](const Transport& transport) {
    std::mt19937_64 random(7);
    const ReadVia via = read_via_of(transport);
    const auto session = open_session(via);
    for (const std::string& contents : all_contents) {
      SCOPED_TRACE(std::to_string(contents.size()) + " bytes");
      const auto reader = open_reader(path_of(contents), via, session);
      EXPECT_EQ(reader->size(), contents.size());
      EXPECT_EQ(text_of(reader->read({0, contents.size()})), contents);
      EXPECT_TRUE(reader->read({contents.size(), 0}).empty());
      EXPECT_THROW(reader->read({0, contents.size() + 1}), Error);
      for (int i = 0; i < 100 && !contents.empty(); ++i) {
        const std::uint64_t offset = random() % contents.size();
        const std::uint64_t length = std::min<std::uint64_t>(contents.size() - offset, random() % (1 << random() % 21));
        ASSERT_EQ(text_of(reader->read({offset, length})), contents.substr(offset, length)) << offset << "+" << length;
        const std::uint64_t tail = std::min<std::uint64_t>(contents.size(), 1 + random() % 5000);
        ASSERT_EQ(text_of(reader->read({contents.size() - tail, tail})), contents.substr(contents.size() - tail));
      }
    }
  });
}

TEST_P(FileSystemConformance, ReadsThatWereAnnouncedAreExact) {
  const std::string contents = noise(6'000'017, 1);
  const auto path = write("announced", contents);
  const auto probe = [&](const Transport& transport) { return transport.probe_read(path); };
  for_each_transport_and_lender(probe, [&](const Transport& transport) {
    for (const std::uint32_t depth : {0U, 1U, 4U}) {
      SCOPED_TRACE("depth " + std::to_string(depth));
      std::mt19937_64 random(11);
      ReadVia via = read_via_of(transport);
      via.depth = depth;
      const auto session = open_session(via);
      const auto reader = open_reader(path, via, session);
      const auto pieces = pieces_of(contents.size(), random);
      read_announced(*reader, contents, pieces, pieces.size());
      read_announced(*reader, contents, pieces, pieces.size() / 2);
      // One that goes while transfers are under way.
      for (std::uint32_t i = 0; i < reader->lookahead().reads; ++i) reader->announce(pieces[i]);
    }
  });
}

/// A writer and what its file must have in it.
class ModelledFile {
 public:
  ModelledFile(const Transport& transport, std::filesystem::path path) : path_(std::move(path)) {
    WriteVia via;
    via.transport = via.transport_requested = transport.name;
    writer_ = open_writer(create_output(path_), path_, via);
  }

  void put(std::uint64_t offset, const std::string& piece, bool submitted) {
    model_.resize(std::max<std::size_t>(model_.size(), offset + piece.size()), '\0');
    model_.replace(offset, piece.size(), piece);
    if (!submitted) return writer_->write(offset, bytes_of(piece));
    Buffer buffer = loan(std::max<std::size_t>(1, piece.size()));
    buffer.resize(piece.size());
    const auto bytes = bytes_of(piece);
    std::copy(bytes.begin(), bytes.end(), buffer.writable().begin());
    writer_->submit(offset, std::move(buffer));
  }
  void flush() {
    writer_->flush();
    EXPECT_EQ(std::filesystem::file_size(path_), model_.size());
  }
  /// Ends the writing and looks at the file.
  void check() {
    writer_->sync();
    EXPECT_EQ(std::filesystem::file_size(path_), model_.size());
    writer_.reset();
    EXPECT_TRUE(contents_of(path_) == model_) << "the contents differ";
    std::filesystem::remove(path_);
  }

  const std::string& model() const { return model_; }

 private:
  std::filesystem::path path_;
  std::unique_ptr<Writer> writer_;
  std::string model_;
};

TEST_P(FileSystemConformance, WritesAreExact) {
  const auto probe = [&](const Transport& transport) { return transport.probe_write(directory_); };
  const std::string source = noise(2 * kMiB, 5);
  for_each_transport_and_lender(probe, [&](const Transport& transport) {
    for (const std::size_t bytes : {0U, 1U, 4096U, 5000U, 1U << 20}) {
      SCOPED_TRACE(std::to_string(bytes) + " bytes at once");
      ModelledFile file(transport, directory_ / "written");
      file.put(0, source.substr(0, bytes), bytes % 2 == 0);
      file.check();
    }
    for (const std::uint64_t seed : {1, 2}) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      std::mt19937_64 random(seed);
      ModelledFile file(transport, directory_ / "written");
      for (int i = 0; i < 40; ++i) {
        const bool whole_blocks = random() % 2 == 0;
        const std::size_t bytes = whole_blocks ? 4096 * (random() % 100) : random() % (1 << random() % 20);
        const bool append = file.model().empty() || random() % 4 != 0;
        const std::uint64_t offset = append ? file.model().size() : random() % file.model().size();
        file.put(offset, source.substr(random() % kMiB, bytes), random() % 3 != 0);
        if (random() % 10 == 0) file.flush();
      }
      file.put(file.model().size() + 100'000, "after a hole", false);
      file.check();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Every, FileSystemConformance, testing::ValuesIn(test::kFileSystems),
                         [](const auto& instance) { return test::name_of(instance.param); });

}  // namespace
}  // namespace millrace::io
