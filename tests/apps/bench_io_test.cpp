#include "apps/bench_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "io/transports.h"
#include "tests/support/command.h"
#include "tests/support/temp_directory.h"

namespace millrace::apps {
namespace {

using test::CommandResult;
using test::run_millrace;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(BenchIo, RunsEveryTransportThatWorksHereAndLeavesNothing) {
  const test::TempDirectory directory;
  const test::TempDirectory results;
  const auto json_path = results / "io.json";
  const CommandResult result = run_millrace({"bench", "io", directory.path().string(), "--bytes", "3MiB", "--block",
                                             "1MiB", "--repeats", "1", "--json", json_path.string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(result.out, HasSubstr("to read: "));
  EXPECT_THAT(directory.names(), IsEmpty());

  const auto json = nlohmann::json::parse(test::contents_of(json_path));
  EXPECT_EQ(json["schema"], "millrace.bench.io/1");
  EXPECT_EQ(json["file_bytes"], 3 << 20);
  std::set<std::string> reads;
  std::set<std::string> writes;
  for (const auto& row : json["rows"]) {
    EXPECT_GT(row["mib_s"]["median"].get<double>(), 0);
    EXPECT_EQ(row["runs"], 1);
    if (row["op"] == "read") reads.insert(row["transport"].get<std::string>());
    if (row["op"] == "write") writes.insert(row["transport"].get<std::string>());
  }
  const auto file = directory.write("probe", "x");
  for (const auto& transport : io::transports()) {
    const std::string name(transport.name);
    EXPECT_EQ(reads.contains(name), transport.probe_read(file).works) << name;
    EXPECT_EQ(writes.contains(name), transport.probe_write(directory.path()).works) << name;
  }
  for (const char* const key : {"read", "write", "confidence"})
    EXPECT_TRUE(json["recommendation"].contains(key)) << key;
}

TEST(BenchIo, ReadsAFileThatIsThereAndKeepsIt) {
  const test::TempDirectory directory;
  const auto file = directory.write("data ä.raw", std::string(100'000, 'x'));
  const CommandResult result = run_millrace({"bench", "io", file.string(), "--op", "read", "--repeats", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, testing::Not(HasSubstr("\nwrite ")));
  EXPECT_THAT(directory.names(), ElementsAre("data ä.raw"));
}

TEST(BenchIo, RefusesPlacesAndNumbersThatCannotBe) {
  const test::TempDirectory directory;
  directory.write("empty", "");
  const std::string place = directory.path().string();
  for (const auto& [arguments, message] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{place + "/missing"}, "is neither a directory nor a file"},
           {{"/dev/null"}, "is neither a directory nor a file"},
           {{place + "/empty"}, "is empty"},
           {{place, "--bytes", "1000TiB"}, "are free; --bytes makes them smaller"},
           {{place, "--bytes", "0B"}, "cannot be 0"},
           {{place, "--repeats", "0"}, "must be at least 1"},
           {{place, "--seconds", "0"}, "must be at least 1"},
           {{place, "--op", "reed"}, "--op is read, write or copy"}}) {
    std::vector<std::string> all{"bench", "io"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const CommandResult result = run_millrace(all);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err_lines(), ElementsAre(StartsWith("millrace: error: "))) << result.err;
    EXPECT_THAT(result.err, HasSubstr(message));
  }
  EXPECT_THAT(directory.names(), ElementsAre("empty"));
}

}  // namespace
}  // namespace millrace::apps
