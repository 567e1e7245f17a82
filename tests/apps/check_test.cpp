#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/apps/pipeline_text.h"
#include "tests/support/command.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::CommandResult;
using test::null_writer;
using test::raw_writer;
using test::run_millrace;
using test::stage;
using test::synthetic;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Check : public testing::Test {
 protected:
  CommandResult check(const std::string& config, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"check", directory_.write("p.toml", config).string()});
    return run_millrace(more);
  }

  test::TempDirectory directory_;
};

TEST_F(Check, ShowsStagesTypesLinksAndMemory) {
  const CommandResult result =
      check("[pipeline]\nname = \"plan\"\nthreads = 2\nmemory = \"1 MiB\"\n" + synthetic(20) +
                stage("work", "spin", "slots = 2\nlink = { chunks = 2 }\nwhen_full = \"drop_oldest\"") + null_writer(),
            {"--set", "write.link.chunks=1"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_EQ(result.out, R"(plan: 3 stages, 2 links, 2 compute threads

read (synthetic_reader, source)
  out   u8 bytes, up to 64.0 KiB to work
  note  20 chunks of 64.0 KiB

work (spin, transform, 2 slots)
  in    u8 bytes, up to 64.0 KiB from read, link of 2 chunks or 64.0 MiB, drop_oldest when full
  out   u8 bytes, up to 64.0 KiB to write

write (null_writer, sink)
  in    u8 bytes, up to 64.0 KiB from work, link of 1 chunk or 64.0 MiB

memory
  link read -> work   min(64.0 MiB, 2 x 64.0 KiB) + 1 slot x 64.0 KiB      192 KiB
  link work -> write  min(64.0 MiB, 1 x 64.0 KiB) + 2 slots x 64.0 KiB     192 KiB
  stage read          1 slot x (0 B chunk + 0 B state)                         0 B
  stage work          2 slots x (64.0 KiB chunk + 0 B state)               128 KiB
  stage write         1 slot x (64.0 KiB chunk + 0 B state)               64.0 KiB
  sum                 of 1.00 MiB allowed                                  576 KiB
)");
}

TEST_F(Check, WritesNothing) {
  std::filesystem::create_directory(directory_ / "out");
  const CommandResult result = check(synthetic(20) + raw_writer());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("  via   buffered\n"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "out"));
}

TEST_F(Check, ShowsTheSumAlsoWhenItRefusesIt) {
  const CommandResult result = check("[pipeline]\nmemory = \"100 KiB\"\n" + synthetic(20) + null_writer());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.out, HasSubstr("of 100 KiB allowed"));
  EXPECT_THAT(result.err_lines(),
              ElementsAre(HasSubstr(":2:1: the plan needs 1.12 MiB, the budget 'memory' is 100 KiB")));
}

TEST_F(Check, HasExitCode2AlsoForAFileThatIsMissing) {
  const CommandResult result = check(stage("read", "raw_reader", "path = \"in.raw\"") + null_writer());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err_lines(), ElementsAre(HasSubstr("in.raw")));
}

}  // namespace
}  // namespace millrace
