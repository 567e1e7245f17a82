#include "apps/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "io/page_cache.h"
#include "tests/support/command.h"
#include "tests/support/slow5_files.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_directory.h"

namespace millrace::apps {
namespace {

using nlohmann::json;
using test::CommandResult;
using test::run_millrace;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class Inspect : public testing::Test {
 protected:
  static json first_of(const CommandResult& result) {
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const json parsed = json::parse(result.out);
    EXPECT_EQ(parsed.at("schema"), "millrace.inspect/1");
    return parsed.at("files").at(0);
  }

  test::TempDirectory directory_;
};

TEST_F(Inspect, ShowsARawFileItsPlaceAndEveryTransport) {
  const auto file = directory_.write("a.raw", std::string(100'000, 'x'));
  const CommandResult result = run_millrace({"inspect", file.string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr(file.string() + "\n"));
  EXPECT_THAT(result.out, ContainsRegex("\n  size +97.7 KiB\n"));
  EXPECT_THAT(result.out, ContainsRegex("\n  format +raw bytes"));
  EXPECT_THAT(result.out, ContainsRegex("\n  file system +[a-z0-9]+"));
  EXPECT_THAT(result.out, ContainsRegex("\n  transports +buffered: reads yes, writes yes\n"));
  for (const auto& transport : io::transports()) {
    EXPECT_THAT(result.out, HasSubstr(" " + std::string(transport.name) + ": reads "));
  }
}

TEST_F(Inspect, NamesAnEmptyFile) {
  const CommandResult result = run_millrace({"inspect", directory_.write("a", "").string()});
  EXPECT_THAT(result.out, ContainsRegex("\n  size +0 B\n  format +empty\n"));
}

TEST_F(Inspect, ShowsWhatAFast5FileHolds) {
  const auto file = (directory_ / "a.fast5").string();
  ASSERT_EQ(run_millrace({"generate", "nanopore", file, "--reads", "7", "--seed", "3"}).exit_code, 0);
  const CommandResult text = run_millrace({"inspect", file});
  EXPECT_THAT(text.out, ContainsRegex("\n  format +FAST5, 7 reads, [0-9]+ samples, 7 of "));
  EXPECT_THAT(text.out, ContainsRegex("\n  extents +7 of .* in all\n"));
  const json parsed = first_of(run_millrace({"inspect", "--json", file}));
  EXPECT_EQ(parsed.at("format"), "FAST5");
  EXPECT_EQ(parsed.at("signal").at("reads"), 7);
  EXPECT_EQ(parsed.at("extents").at("count"), 7);
  EXPECT_LE(parsed.at("extents").at("bytes"), parsed.at("bytes"));
}

TEST_F(Inspect, ShowsWhatBlow5AndSlow5FilesHold) {
  for (const auto& coding : test::slow5_codings()) {
    const auto reads = test::slow5_reads();
    const auto file = directory_.write("a", test::slow5_file(coding, reads));
    const json parsed = first_of(run_millrace({"inspect", "--json", file.string()}));
    EXPECT_EQ(parsed.at("format"), coding.text ? "SLOW5" : "BLOW5");
    EXPECT_EQ(parsed.at("detail"), "version 1.0.0, 2 read groups");
    EXPECT_EQ(parsed.at("signal").at("reads"), reads.size());
    EXPECT_EQ(parsed.at("signal").at("samples").is_null(), coding.packing == io::Slow5Packing::zstd);
    EXPECT_EQ(parsed.at("signal").at("codings").at(io::text_of(coding)), reads.size());
    EXPECT_EQ(parsed.at("extents").at("count"), reads.size());
  }
}

TEST_F(Inspect, SaysWhyABlow5FileCannotBeRead) {
  const auto file = directory_.write("a", test::slow5_file({}, test::slow5_reads()).substr(0, 900));
  const CommandResult text = run_millrace({"inspect", file.string()});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, ContainsRegex("BLOW5, but it cannot be read: is cut off: .*offset [0-9]+"));
}

TEST_F(Inspect, ShowsWhatAPod5FileHoldsOrWhyItCannotBeRead) {
  const auto file = (directory_ / "a.pod5").string();
  ASSERT_EQ(run_millrace({"generate", "nanopore", file, "--reads", "7", "--seed", "3"}).exit_code, 0);
  const CommandResult text = run_millrace({"inspect", file});
  EXPECT_THAT(text.out, ContainsRegex("\n  format +POD5, 7 reads, [0-9]+ samples, 7 of pod5-vbz\n"));
  const auto broken = directory_.write("b.pod5", test::contents_of(file).substr(0, 5000));
  const CommandResult why = run_millrace({"inspect", broken.string()});
  EXPECT_THAT(why.out, ContainsRegex("\n  format +POD5, but it cannot be read: the POD5 file is not complete"));
}

TEST_F(Inspect, NamesAnHdf5FileThatIsNoFast5AndWhy) {
  const auto file = directory_.write("a.h5", "\x89HDF\r\n\x1A\n and then nothing of the kind");
  const json parsed = first_of(run_millrace({"inspect", "--json", file.string()}));
  EXPECT_EQ(parsed.at("format"), "HDF5");
  EXPECT_NE(parsed.at("detail"), "");
  EXPECT_TRUE(parsed.at("signal").is_null());
}

TEST_F(Inspect, ShowsTheHeaderOfAnNpyFile) {
  const std::string header = "{'descr': '<i2', 'fortran_order': False, 'shape': (3, 4), }";
  const auto file = directory_.write("a.npy", "\x93NUMPY" + std::string("\1\0v\0", 4) + header + "\n");
  const json parsed = first_of(run_millrace({"inspect", "--json", file.string()}));
  EXPECT_EQ(parsed.at("format"), "npy");
  EXPECT_EQ(parsed.at("detail"), header);
}

TEST_F(Inspect, NamesAZarrDirectory) {
  directory_.write("a.zarr/.zarray", "{}");
  const json parsed = first_of(run_millrace({"inspect", "--json", (directory_ / "a.zarr").string()}));
  EXPECT_EQ(parsed.at("format"), "Zarr");
  EXPECT_EQ(run_millrace({"inspect", (directory_ / "a.zarr").string()}).exit_code, 0);
}

TEST_F(Inspect, EvictsAndSaysWhatStays) {
  const auto file = directory_.write("a.raw", std::string(4U << 20, 'x'));
  const json parsed = first_of(run_millrace({"inspect", "--json", "--evict", file.string()}));
  EXPECT_EQ(parsed.at("evicted"), true);
  if (parsed.at("cache").at("state") == "memory") {
    EXPECT_EQ(parsed.at("left_bytes"), 4U << 20);
    return;
  }
  EXPECT_EQ(parsed.at("cache").at("state"), "warm");
  EXPECT_EQ(parsed.at("cache").at("resident_bytes"), 4U << 20);
  EXPECT_EQ(parsed.at("left_bytes"), 0);
  const CommandResult again = run_millrace({"inspect", "--evict", file.string()});
  EXPECT_THAT(again.out, HasSubstr("cold, 0.0 % of the file (0 B)"));
  EXPECT_THAT(again.out, ContainsRegex("\n  evicted +nothing is left"));
}

TEST_F(Inspect, LooksBeforeItReads) {
  const auto file = directory_.write("a.raw", std::string(4U << 20, 'x'));
  if (io::evict(file) != 0U) GTEST_SKIP() << "the files of this place cannot be evicted";
  const json parsed = first_of(run_millrace({"inspect", "--json", file.string()}));
  EXPECT_EQ(parsed.at("cache").at("resident_bytes"), 0);
  EXPECT_EQ(parsed.at("evicted"), false);
  EXPECT_TRUE(parsed.at("left_bytes").is_null());
}

TEST_F(Inspect, SaysThatATmpfsIsInMemory) {
  const test::SmallDisk disk(1U << 20);
  if (!disk.mounted()) GTEST_SKIP() << disk.reason();
  const auto file = disk.directory().write("a", "x");
  const CommandResult result = run_millrace({"inspect", "--evict", file.string()});
  EXPECT_THAT(result.out, HasSubstr("the file system is in memory"));
  EXPECT_THAT(result.out, ContainsRegex("evicted +1 B stay"));
}

TEST_F(Inspect, TakesSeveralFilesDirectoriesAndPatterns) {
  directory_.write("in/b", "x");
  directory_.write("in/a", "x");
  const json parsed = json::parse(
      run_millrace({"inspect", "--json", (directory_ / "in").string(), (directory_ / "in/b*").string()}).out);
  ASSERT_EQ(parsed.at("files").size(), 3U);
  EXPECT_EQ(parsed.at("files").at(0).at("path"), (directory_ / "in/a").string());
}

TEST_F(Inspect, IsAUsageErrorForWhatIsNotThere) {
  for (const auto& path : {directory_ / "missing", directory_ / "no*match"}) {
    const CommandResult result = run_millrace({"inspect", path.string()});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr(path.string()));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(run_millrace({"inspect"}).exit_code, 2);
}

TEST_F(Inspect, KeepsToAHundredColumns) {
  Inspection file;
  file.path = "/data/a.raw";
  file.file_system.type = "nfs4";
  file.file_system.device = "server.of.the.institute:/export/of/the/group";
  for (int i = 0; i < 30; ++i) file.file_system.mount_options += "option" + std::to_string(i) + "=value,";
  file.transports.push_back({"direct",
                             {false, "the file system says that it cannot do this at all"},
                             {true, "but it does not promise that nothing goes through the page cache"}});
  std::istringstream lines(text_of(file));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  EXPECT_THAT(text_of(file), HasSubstr("reads no (the file system says"));
  EXPECT_THAT(text_of(file), Not(HasSubstr("evicted")));
  file.transports = {{"direct", {true, "not promised"}, {true, "not promised"}}};
  EXPECT_THAT(text_of(file), HasSubstr("direct: reads and writes yes (not promised)\n"));
}

}  // namespace
}  // namespace millrace::apps
