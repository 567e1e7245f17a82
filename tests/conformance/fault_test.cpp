// What every transport makes of a device that fails, through the kernel: slowfs gives the errors, not a decorator.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "io/buffer_pool.h"
#include "io/file_descriptor.h"
#include "io/open_file.h"
#include "io/output_file.h"
#include "io/transports.h"
#include "tests/support/command.h"
#include "tests/support/scripted_io.h"
#include "tests/support/slow_mount.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace::io {
namespace {

using test::bytes_of;
using test::CommandResult;
using test::error_of;
using test::SlowMount;
using test::TempDirectory;
using test::text_of;
using testing::AnyOf;
using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint64_t kBlock = 256 << 10;
constexpr std::uint64_t kFileBytes = 8 * kBlock + 1234;

const std::string& contents() {
  static const std::string kContents = [] {
    std::mt19937_64 random(1);
    std::string bytes(kFileBytes, '\0');
    std::generate(bytes.begin(), bytes.end(), [&random] { return static_cast<char>(random()); });
    return bytes;
  }();
  return kContents;
}

ReadVia read_via_of(const Transport& transport) {
  ReadVia via;
  via.transport = via.transport_requested = transport.name;
  return via;
}

WriteVia write_via_of(const Transport& transport) {
  WriteVia via;
  via.transport = via.transport_requested = transport.name;
  return via;
}

std::vector<Extent> blocks() {
  std::vector<Extent> result;
  for (std::uint64_t offset = 0; offset < kFileBytes; offset += kBlock) {
    result.push_back({offset, std::min(kBlock, kFileBytes - offset)});
  }
  return result;
}

/// Reads blocks in order as a source does, which announces what comes as far ahead as the reader wants.
class BlockReader {
 public:
  BlockReader(const std::filesystem::path& path, const ReadVia& via)
      : session_(open_session(via)), reader_(open_reader(path, via, session_)) {}

  Buffer read(std::size_t block) {
    for (announced_ = std::max(announced_, block);
         announced_ < all_.size() && announced_ <= block + reader_->lookahead().reads;) {
      reader_->announce(all_[announced_++]);
    }
    return reader_->read(all_[block]);
  }

 private:
  std::vector<Extent> all_ = blocks();
  std::shared_ptr<ReaderSession> session_;
  std::unique_ptr<Reader> reader_;
  std::size_t announced_ = 0;
};

std::vector<std::string> names_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

class Fault : public testing::Test {
 protected:
  explicit Fault(const std::vector<std::string>& keys = {}) : mount_(keys) {}
  void SetUp() override {
    if (!mount_.mounted()) GTEST_SKIP() << mount_.reason();
    mount_.source().write("a", contents());
  }
  void TearDown() override {
    if (mount_.mounted()) set_stall(mount_.control(), false);
  }

  std::filesystem::path input() const { return mount_.directory() / "a"; }

  /// Runs `use` for every transport that reads here.
  void for_each_reading(const std::function<void(const Transport&)>& use) const {
    for_each([this](const Transport& transport) { return transport.probe_read(input()); }, use);
  }
  void for_each_writing(const std::function<void(const Transport&)>& use) const {
    for_each([this](const Transport& transport) { return transport.probe_write(mount_.directory()); }, use);
  }

  SlowMount mount_;

 private:
  template <typename Probing>
  static void for_each(Probing probe, const std::function<void(const Transport&)>& use) {
    for (const Transport& transport : transports()) {
      SCOPED_TRACE(std::string(transport.name));
      if (!probe(transport).works) continue;
      BufferPool pool(kBlock + 2 * transport.read_padding_bytes, 8);
      const test::LendFrom lend(pool);
      try {
        use(transport);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "nobody expected: " << error.what();
      }
    }
  }
};

TEST_F(Fault, ABlockThatCannotBeReadIsNamedAndThoseBeforeItAreRight) {
  for_each_reading([&](const Transport& transport) {
    for (const std::size_t bad : {std::size_t{0}, std::size_t{4}, blocks().size() - 1}) {
      SCOPED_TRACE("bad block " + std::to_string(bad));
      const Extent block = blocks()[bad];
      const std::uint64_t place = block.offset + block.length / 2;
      mount_.control().read_error_begin = place;
      mount_.control().read_error_end = place + 1;
      BlockReader reader(input(), read_via_of(transport));
      for (std::size_t i = 0; i < bad; ++i) {
        ASSERT_TRUE(text_of(reader.read(i)) == contents().substr(blocks()[i].offset, blocks()[i].length)) << i;
      }
      const auto error = error_of([&] { reader.read(bad); });
      ASSERT_TRUE(error);
      EXPECT_EQ(error->path(), input());
      ASSERT_TRUE(error->offset().has_value()) << error->what();
      EXPECT_GE(*error->offset(), block.offset);
      EXPECT_LE(*error->offset(), place);
      // Whoever goes on gets what is there or another error.
      if (bad + 1 < blocks().size()) {
        const Extent next = blocks()[bad + 1];
        try {
          EXPECT_TRUE(text_of(reader.read(bad + 1)) == contents().substr(next.offset, next.length));
        } catch (const Error& again) {
          EXPECT_EQ(again.path(), input());
        }
      }
      mount_.control().read_error_end = 0;
    }
  });
}

TEST_F(Fault, AServerThatGivesTooLittleIsNeverTakenForData) {
  // The kernel takes a short read for the end of the file, whatever its size was; only who knows the size notices.
  // (With a writeback cache it fills in zeros, and nobody can notice.)
  mount_.control().short_read_bytes = 1000;
  for_each_reading([&](const Transport& transport) {
    BlockReader reader(input(), read_via_of(transport));
    for (std::size_t i = 0; i < blocks().size(); ++i) {
      const Extent block = blocks()[i];
      try {
        ASSERT_TRUE(text_of(reader.read(i)) == contents().substr(block.offset, block.length)) << "wrong bytes in " << i;
      } catch (const Error& error) {
        // Who maps the file cannot tell the two apart.
        EXPECT_THAT(error.message(), AnyOf(HasSubstr("truncated"), HasSubstr("Input/output error")));
        EXPECT_EQ(error.path(), input());
        break;
      }
    }
  });
}

TEST_F(Fault, AFileThatShrinksWhileItIsReadEndsInAnError) {
  for_each_reading([&](const Transport& transport) {
    mount_.source().write("a", contents());
    // Names and sizes are remembered for a second, so the mount is told of the new size itself.
    std::filesystem::resize_file(input(), kFileBytes);
    BlockReader reader(input(), read_via_of(transport));
    EXPECT_TRUE(text_of(reader.read(0)) == contents().substr(0, kBlock));
    const std::uint64_t end = 5 * kBlock + 100;
    std::filesystem::resize_file(input(), end);
    std::optional<Error> error;
    for (std::size_t i = 1; i < blocks().size() && !error; ++i) {
      const Extent block = blocks()[i];
      try {
        // What was fetched before the file shrank may still be given.
        EXPECT_TRUE(text_of(reader.read(i)) == contents().substr(block.offset, block.length)) << "wrong bytes in " << i;
      } catch (const Error& thrown) {
        error = thrown;
        EXPECT_GE(block.offset + block.length, end) << "it ends later";
      }
    }
    // Reads in flight may have been faster; a new read is not.
    if (!error) error = error_of([&] { reader.read(6); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), HasSubstr("truncated"));
    EXPECT_EQ(error->path(), input());
  });
}

TEST_F(Fault, ADiskThatIsFullAtAnyByteIsForGood) {
  for_each_writing([&](const Transport& transport) {
    for (const std::uint64_t space : {0U, 1U, 4096U, 100'000U, 1U << 20}) {
      for (const bool submitted : {false, true}) {
        SCOPED_TRACE(std::to_string(space) + (submitted ? " submitted" : " written"));
        mount_.control().space_bytes = space;
        const auto path = mount_.directory() / "out";
        const auto writer = open_writer(create_output(path), path, write_via_of(transport));
        const auto write_all = [&] {
          constexpr std::uint64_t kPiece = 60'000;
          for (std::uint64_t offset = 0; offset < kFileBytes; offset += kPiece) {
            const std::string piece = contents().substr(offset, kPiece);
            if (submitted) {
              Buffer buffer = loan(piece.size());
              std::copy(bytes_of(piece).begin(), bytes_of(piece).end(), buffer.writable().begin());
              writer->submit(offset, std::move(buffer));
            } else {
              writer->write(offset, bytes_of(piece));
            }
          }
          writer->sync();
        };
        const auto error = error_of(write_all);
        ASSERT_TRUE(error);
        EXPECT_THAT(error->message(), HasSubstr("No space left on device"));
        EXPECT_EQ(error->path(), path);
        ASSERT_TRUE(error->offset().has_value());
        EXPECT_LE(*error->offset(), space);
        EXPECT_STREQ(error_of([&] { writer->write(0, bytes_of("x")); })->what(), error->what());
        EXPECT_STREQ(error_of([&] { writer->flush(); })->what(), error->what());
        EXPECT_STREQ(error_of([&] { writer->sync(); })->what(), error->what());
        mount_.control().space_bytes = slowfs::Control::kEndless;
        EXPECT_STREQ(error_of([&] { writer->sync(); })->what(), error->what());
        std::filesystem::remove(path);
      }
    }
  });
}

TEST_F(Fault, ASyncThatFailedOnceHasFailedForGood) {
  for_each_writing([&](const Transport& transport) {
    const auto path = mount_.directory() / "out";
    const auto writer = open_writer(create_output(path), path, write_via_of(transport));
    writer->write(0, bytes_of(contents()));
    mount_.control().fsync_errors = 1;
    const auto error = error_of([&] { writer->sync(); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), HasSubstr("Input/output error"));
    EXPECT_EQ(error->path(), path);
    EXPECT_EQ(mount_.control().fsync_errors, 0U) << "the device would take it now";
    EXPECT_STREQ(error_of([&] { writer->sync(); })->what(), error->what());
    EXPECT_STREQ(error_of([&] { writer->write(0, bytes_of("x")); })->what(), error->what());
    std::filesystem::remove(path);
  });
}

TEST_F(Fault, AFileThatCannotBeSyncedIsNotPublished) {
  std::filesystem::create_directory(mount_.directory() / "out");
  for_each_writing([&](const Transport& transport) {
    {
      OutputFile file(mount_.directory() / "out/result", write_via_of(transport));
      file.append(bytes_of(contents()));
      mount_.control().fsync_errors = 1;
      EXPECT_THROW(file.publish(), Error);
      EXPECT_THROW(file.publish(), Error) << "a second try would succeed, and the data may be lost";
    }
    // libfuse keeps what is removed while it is open under such names for a moment.
    EXPECT_THAT(names_in(mount_.source() / "out"), Each(StartsWith(".fuse_hidden")));
  });
}

class FaultWithWriteback : public Fault {
 protected:
  FaultWithWriteback() : Fault({"writeback=1"}) {}
};

TEST_F(FaultWithWriteback, AWriteThatFailsAfterItWasTakenFailsTheFile) {
  for_each_writing([&](const Transport& transport) {
    const auto path = mount_.directory() / "out";
    const auto writer = open_writer(create_output(path), path, write_via_of(transport));
    mount_.control().write_errors = 1;
    const auto error = error_of([&] {
      writer->write(0, bytes_of(contents()));
      writer->sync();
    });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), HasSubstr("Input/output error"));
    EXPECT_EQ(error->path(), path);
    EXPECT_EQ(mount_.control().write_errors, 0U) << "the device would take it now";
    EXPECT_STREQ(error_of([&] { writer->sync(); })->what(), error->what());
    EXPECT_STREQ(error_of([&] { writer->write(0, bytes_of("x")); })->what(), error->what());
    std::filesystem::remove(path);
  });
}

/// The keys of a `via` table.
std::string via_of(const Transport& transport) { return "transport = \"" + std::string(transport.name) + "\""; }

/// A config that reads `input`, and writes it to `output` when that is given.
std::string config_of(const std::filesystem::path& input, const std::string& read_via,
                      const std::filesystem::path& output = {}, const std::string& write_via = {}) {
  const std::string sink =
      output.empty() ? "type = \"null_writer\"\n"
                     : "type = \"raw_writer\"\npath = \"" + output.string() + "\"\nvia = { " + write_via + " }\n";
  return "[pipeline]\nname = \"faults\"\nstall_timeout = \"1 s\"\n"
         "[[stage]]\nname = \"read\"\ntype = \"raw_reader\"\npath = \"" +
         input.string() + "\"\nvia = { block = \"256 KiB\", " + read_via +
         " }\n"
         "[[stage]]\nname = \"write\"\n" +
         sink;
}
const std::string kBuffered = "transport = \"buffered\"";

TEST_F(Fault, ARunThatCannotReadNamesTheFileAndLeavesNothing) {
  const TempDirectory home;
  const TempDirectory out;
  for_each_reading([&](const Transport& transport) {
    mount_.control().read_error_begin = 5 * kBlock;
    mount_.control().read_error_end = 5 * kBlock + 1;
    const auto config = home.write("run.toml", config_of(input(), via_of(transport), out / "result", kBuffered));
    const CommandResult result = test::run_millrace({"run", config.string()});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, StartsWith("millrace: error: stage 'read', chunk 5, " + input().string() + ", offset " +
                                       std::to_string(5 * kBlock) + ": "));
    EXPECT_THAT(out.names(), testing::IsEmpty());
    mount_.control().read_error_end = 0;
  });
}

TEST_F(Fault, APageThatTheNextStageCannotFetchFailsTheRunToo) {
  const TempDirectory home;
  const TempDirectory out;
  mount_.control().read_error_begin = 5 * kBlock;
  mount_.control().read_error_end = 5 * kBlock + 1;
  const auto config = home.write(
      "run.toml", config_of(input(), R"(transport = "mmap", fault = "consumer")", out / "result", kBuffered));
  const CommandResult result = test::run_millrace({"run", config.string()});
  EXPECT_EQ(result.exit_code, 1);
  // The kernel tells the writer only that its memory is not there.
  EXPECT_THAT(result.err, StartsWith("millrace: error: stage 'write', chunk 5, " + (out / "result").string()));
  EXPECT_THAT(result.err, HasSubstr("the bytes come from a mapped file"));
  EXPECT_THAT(out.names(), testing::IsEmpty());
}

TEST_F(Fault, ARunWhoseDiskGetsFullSaysSoAndLeavesNothing) {
  const TempDirectory home;
  const auto local = home.write("input", contents());
  std::filesystem::create_directory(mount_.directory() / "out");
  for_each_writing([&](const Transport& transport) {
    mount_.control().space_bytes = 3 * kBlock + 5;
    const auto config =
        home.write("run.toml", config_of(local, kBuffered, mount_.directory() / "out/result", via_of(transport)));
    const CommandResult result = test::run_millrace({"run", config.string()});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("stage 'write'"));
    EXPECT_THAT(result.err, HasSubstr("No space left on device"));
    EXPECT_THAT(result.err, HasSubstr((mount_.directory() / "out").string()));
    EXPECT_THAT(names_in(mount_.source() / "out"), Each(StartsWith(".fuse_hidden")));
    mount_.control().space_bytes = slowfs::Control::kEndless;
  });
}

TEST_F(Fault, AServerThatHangsInAWriteEndsTheRunAsStalled) {
  const TempDirectory home;
  const auto local = home.write("input", contents());
  std::filesystem::create_directory(mount_.directory() / "out");
  for_each_writing([&](const Transport& transport) {
    mount_.control().stall_from = kBlock;  // what a probe writes gets through
    set_stall(mount_.control(), true);
    const auto config =
        home.write("run.toml", config_of(local, kBuffered, mount_.directory() / "out/result", via_of(transport)));
    test::Command run({"run", config.string()});
    EXPECT_TRUE(run.wait_for_error_text("did not come back from its call: write"));
    set_stall(mount_.control(), false);
    const CommandResult result = run.wait();
    EXPECT_EQ(result.exit_code, 4) << result.err;
    EXPECT_FALSE(result.timed_out);
    EXPECT_THAT(names_in(mount_.source() / "out"), Each(StartsWith(".fuse_hidden")));
  });
}

TEST_F(Fault, AServerThatHangsEndsTheRunAsStalled) {
  const TempDirectory home;
  constexpr std::uint64_t kHealthy = 2 * kBlock;
  for_each_reading([&](const Transport& transport) {
    // The first blocks are there, so that the run has begun when it hangs.
    mount_.control().stall_from = kHealthy;
    set_stall(mount_.control(), true);
    const auto config = home.write("stalled.toml", config_of(input(), via_of(transport)));
    test::Command run({"run", config.string()});
    EXPECT_TRUE(run.wait_for_error_text("did not come back from its call: read"));
    // A process in a direct read of a FUSE server that hangs cannot even be killed; the end of the server frees it.
    set_stall(mount_.control(), false);
    const CommandResult result = run.wait();
    EXPECT_EQ(result.exit_code, 4) << result.err;
    EXPECT_FALSE(result.timed_out);
  });
}

TEST_F(Fault, ARunThatReadsThroughThePageCacheNeedsNobodyToEndWhenTheServerHangs) {
  const TempDirectory home;
  set_stall(mount_.control(), true);
  const auto config = home.write("stalled.toml", config_of(input(), kBuffered));
  const CommandResult result = test::run_millrace({"run", config.string()});
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_FALSE(result.timed_out);
}

}  // namespace
}  // namespace millrace::io
