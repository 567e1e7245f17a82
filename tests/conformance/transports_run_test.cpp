// Whole runs over every transport of the table: the output is the same whatever moved the bytes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>

#include "io/transports.h"
#include "pipeline/config.h"
#include "pipeline/core/registry.h"
#include "pipeline/plan.h"
#include "pipeline/run.h"
#include "stages/builtin.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::contents_of;
using test::TempDirectory;
using testing::HasSubstr;

/// Cuts off the file that the option `path` names, and then adds up the bytes that came.
class CutThenSum final : public Transform {
 public:
  explicit CutThenSum(const Options& options) : path_(options.get<std::string>("path", "")) {}
  ChunkType prepare(const ChunkType& input) override { return input; }
  std::optional<Chunk> process(Chunk chunk) override {
    std::filesystem::resize_file(path_, 0);
    const auto bytes = chunk.view<std::uint8_t>();
    sum_ += std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
    return sum_ == 0 ? std::nullopt : std::optional(std::move(chunk));
  }

 private:
  std::string path_;
  std::uint64_t sum_ = 0;
};

RunOutcome run_config(const std::string& text) {
  Registry registry;
  add_builtin_stages(registry);
  registry.add<CutThenSum>("cut_then_sum");
  return run(prepare(load_config_text(text, "test.toml", {}), registry), {});
}

std::string noise(std::size_t bytes) {
  std::mt19937_64 random(bytes);
  std::string result(bytes, '\0');
  std::generate(result.begin(), result.end(), [&random] { return static_cast<char>(random()); });
  return result;
}

std::string quoted(const std::filesystem::path& path) { return '"' + path.string() + '"'; }

class EveryTransport : public testing::TestWithParam<std::string> {};

TEST_P(EveryTransport, ACopyOfManyFilesIsTheSame) {
  const TempDirectory directory;
  std::string expected;
  for (int i = 0; i < 5; ++i) {
    const std::string contents = noise(static_cast<std::size_t>(i) * 150'001);
    directory.write("in/" + std::to_string(i), contents);
    expected += contents;
  }
  const io::Transport& transport = *io::find_transport(GetParam());
  const io::Probe reads = transport.probe_read(directory / "in/1");
  const io::Probe writes = transport.probe_write(directory.path());
  if (!reads.works || !writes.works) GTEST_SKIP() << reads.reason << writes.reason;
  for (const std::string depth : {"", ", depth = 1", ", depth = 5"}) {
    const RunOutcome outcome = run_config(
        "[[stage]]\nname = 'read'\ntype = 'raw_reader'\npath = " + quoted(directory / "in") +
        "\nvia = { transport = '" + GetParam() + "', block = '64 KiB'" + depth + " }\n[[stage]]\nname = 'write'\n" +
        "type = 'raw_writer'\npath = " + quoted(directory / "out") + "\nvia = { transport = '" + GetParam() + "' }\n");
    ASSERT_EQ(outcome.report.status, "ok") << depth;
    EXPECT_EQ(contents_of(directory / "out"), expected) << depth;
    EXPECT_EQ(directory.names().size(), 2U);
  }
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const auto& transport : io::transports()) result.emplace_back(transport.name);
  return result;
}

INSTANTIATE_TEST_SUITE_P(Transports, EveryTransport, testing::ValuesIn(names()),
                         [](const auto& name) { return name.param; });

TEST(MappedInput, ThatIsCutOffWhileAStageWorksOnItFailsTheRun) {
  for (const std::string fault : {"reader", "consumer"}) {
    const TempDirectory directory;
    const auto path = directory.write("in", noise(64 << 10));
    const RunOutcome outcome =
        run_config("[[stage]]\nname = 'read'\ntype = 'raw_reader'\npath = " + quoted(path) +
                   "\nvia = { transport = 'mmap', fault = '" + fault +
                   "' }\n[[stage]]\nname = 'work'\ntype = 'cut_then_sum'\npath = " + quoted(path) +
                   "\n[[stage]]\nname = 'write'\ntype = 'raw_writer'\npath = " + quoted(directory / "out") + "\n");
    EXPECT_EQ(outcome.report.status, "failed");
    EXPECT_THAT(outcome.report.error, HasSubstr("the mapped file ended or could not be read here"));
    EXPECT_THAT(outcome.report.error, HasSubstr("stage 'work'"));
    EXPECT_THAT(outcome.report.error, HasSubstr(path.string()));
    EXPECT_EQ(directory.names().size(), 1U) << "no output";
  }
}

}  // namespace
}  // namespace millrace
