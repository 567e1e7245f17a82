#include "pipeline/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

constexpr const char* kStages = R"([[stage]]
name = "read"
type = "reader"
path = "in/*.raw"

[[stage]]
name = "write"
type = "writer"
)";

PipelineSpec load(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return load_config_text(text, "dir/test.toml", overrides);
}

std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    load(text, overrides);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "no error";
}

TEST(Config, ReadsThePipelineTable) {
  const auto spec = load(R"([pipeline]
name = "basecall"
threads = 3
memory = "1.5 GiB"
stall_timeout = "2 min"
loss_budget = 7
)" + std::string(kStages));
  EXPECT_EQ(spec.name, "basecall");
  EXPECT_EQ(spec.threads, 3U);
  EXPECT_EQ(spec.memory.count, 3ULL << 29);
  EXPECT_EQ(spec.stall_timeout, std::chrono::minutes(2));
  EXPECT_EQ(spec.loss_budget_chunks, 7U);
  EXPECT_EQ(spec.keys.at("memory").text(), "dir/test.toml:4:1");
  EXPECT_EQ(spec.file, "dir/test.toml");
}

TEST(Config, GivesDefaultsWithoutAPipelineTable) {
  const auto spec = load(kStages);
  EXPECT_EQ(spec.name, "pipeline");
  EXPECT_EQ(spec.threads, 0U);
  EXPECT_EQ(spec.memory.count, 2ULL << 30);
  EXPECT_EQ(spec.stages.size(), 2U);
  EXPECT_EQ(spec.stages[0].slots, 1U);
  EXPECT_TRUE(spec.stages[0].ordered);
  EXPECT_TRUE(spec.stages[1].from.empty()) << "roles are needed to fill it in";
}

TEST(Config, TakesReservedKeysOutAndHandsTheRestToTheStage) {
  const auto spec = load(R"([[stage]]
name = "decode"
type = "decode_signal"
slots = 2
ordered = false
when_full = "drop_oldest"
link = { chunks = 8, bytes = "32 MiB" }
from = ["a", "b"]
via = { transport = "buffered", block = "1 MiB" }
level = 3
scale = 0.5
files = ["x", "y"]
exact = true
)");
  const StageSpec& stage = spec.stages.at(0);
  EXPECT_EQ(stage.name, "decode");
  EXPECT_EQ(stage.type, "decode_signal");
  EXPECT_EQ(stage.slots, 2U);
  EXPECT_FALSE(stage.ordered);
  EXPECT_EQ(stage.link.when_full, WhenFull::drop_oldest);
  EXPECT_EQ(stage.link.chunks, 8U);
  EXPECT_EQ(stage.link.bytes.count, 32ULL << 20);
  EXPECT_EQ(stage.from, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(stage.from_positions.at(1).text(), "dir/test.toml:8:14");
  EXPECT_EQ(stage.at("slots").text(), "dir/test.toml:4:1");
  EXPECT_EQ(stage.at("type").line, 3U);
  EXPECT_EQ(stage.at("path").text(), stage.position.text()) << "not reserved, so not known here";

  EXPECT_EQ(stage.options.values().size(), 5U);
  EXPECT_EQ(stage.options.get<int>("level", 0), 3);
  EXPECT_EQ(stage.options.get<double>("scale", 0), 0.5);
  EXPECT_TRUE(stage.options.get<bool>("exact", false));
  EXPECT_EQ(stage.options.get<std::vector<std::string>>("files", {}), (std::vector<std::string>{"x", "y"}));
  const Options via = stage.options.table("via");
  EXPECT_EQ(via.get<std::string>("transport", ""), "buffered");
  EXPECT_EQ(via.get<Bytes>("block", Bytes{}).count, 1ULL << 20);
  EXPECT_TRUE(stage.options.unread().empty());
}

TEST(Config, GivesOptionsTheirPositions) {
  const auto spec = load(std::string(kStages));
  const auto unread = spec.stages.at(0).options.unread();
  ASSERT_EQ(unread.size(), 1U);
  EXPECT_EQ(unread[0].first, "path");
  EXPECT_EQ(unread[0].second.text(), "dir/test.toml:4:1");
}

TEST(Config, ResolvesPathsFromTheConfigsDirectory) {
  const auto spec = load(std::string(kStages));
  EXPECT_EQ(spec.stages.at(0).options.require<std::filesystem::path>("path"), "dir/in/*.raw");
}

TEST(Config, TakesASingleNameInFrom) {
  const auto spec = load(std::string(kStages) + "from = \"read\"\n");
  EXPECT_EQ(spec.stages.at(1).from, std::vector<std::string>{"read"});
  EXPECT_EQ(spec.stages.at(1).from_positions.at(0).text(), "dir/test.toml:9:1");
}

TEST(Config, ExpandsEnvironmentVariablesInEveryText) {
  ::setenv("MILLRACE_TEST_A", "alpha", 1);
  const auto spec = load(std::string(kStages) + R"(
path = "${MILLRACE_TEST_A}/$$5/${MILLRACE_TEST_A}.raw"
list = ["${MILLRACE_TEST_A}"]
table = { inner = "<${MILLRACE_TEST_A}>" }
)");
  const Options& options = spec.stages.at(1).options;
  EXPECT_EQ(options.get<std::string>("path", ""), "alpha/$5/alpha.raw");
  EXPECT_EQ(options.get<std::vector<std::string>>("list", {}), std::vector<std::string>{"alpha"});
  EXPECT_EQ(options.table("table").get<std::string>("inner", ""), "<alpha>");
  EXPECT_NE(spec.json.find("alpha/$5/alpha.raw"), std::string::npos);
}

TEST(Config, AppliesOverridesInOrder) {
  const auto spec =
      load(kStages, {"read.path=plain text", "write.slots=2", "write.slots=3", "write.via.advice=none",
                     "write.link.chunks=5", "pipeline.memory=3 MiB", "pipeline.name=\"7\"", "write.from=[\"read\"]",
                     "write.ordered=false", "write.day=2024-01-01", "write.empty="});
  EXPECT_EQ(spec.stages[0].options.get<std::string>("path", ""), "plain text");
  const StageSpec& write = spec.stages[1];
  EXPECT_EQ(write.slots, 3U);
  EXPECT_EQ(write.options.table("via").get<std::string>("advice", ""), "none");
  EXPECT_EQ(write.link.chunks, 5U);
  EXPECT_EQ(write.link.bytes.count, 64ULL << 20) << "the rest of a table keeps its defaults";
  EXPECT_EQ(write.from, std::vector<std::string>{"read"});
  EXPECT_FALSE(write.ordered);
  EXPECT_EQ(write.options.get<std::string>("day", ""), "2024-01-01");
  EXPECT_EQ(write.options.get<std::string>("empty", "x"), "");
  EXPECT_EQ(spec.memory.count, 3ULL << 20);
  EXPECT_EQ(spec.name, "7");
}

TEST(Config, KeepsTheConfigAsItRanAsJson) {
  const auto spec = load("[pipeline]\nname = \"n\"\n" + std::string(kStages), {"write.level=4"});
  const auto json = nlohmann::json::parse(spec.json);
  EXPECT_EQ(json.at("pipeline").at("name"), "n");
  EXPECT_EQ(json.at("stage").at(0).at("path"), "in/*.raw");
  EXPECT_EQ(json.at("stage").at(1).at("level"), 4);
}

TEST(Config, KeepsJsonValidForBytesThatAreNoText) {
  const auto spec = load(kStages, {"write.path=\xff\xfe"});
  EXPECT_EQ(spec.stages[1].options.get<std::string>("path", ""), "\xff\xfe");
  EXPECT_TRUE(nlohmann::json::accept(spec.json));
}

struct Refusal {
  const char* what;
  std::string text;
  std::string error;
  std::vector<std::string> overrides;
};
void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.what; }

class ConfigRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(ConfigRefuses, WithPositionAndHint) {
  EXPECT_EQ(error_of(GetParam().text, GetParam().overrides), GetParam().error);
}

std::string stage_with(const std::string& line) { return "[[stage]]\nname = \"a\"\ntype = \"t\"\n" + line + "\n"; }

const std::vector<Refusal> kRefusals{
    {"unknown pipeline key",
     "[pipeline]\nthread = 2\n",
     "dir/test.toml:2:1: [pipeline] has no key 'thread'; did you mean 'threads'?",
     {}},
    {"far-off pipeline key",
     "[pipeline]\n  colour = 2\n",
     "dir/test.toml:2:3: [pipeline] has no key 'colour'; it has: name threads memory stall_timeout loss_budget",
     {}},
    {"unknown table",
     "[pipelin]\nname = \"x\"\n",
     "dir/test.toml:1:1: a config has [pipeline], [[stage]] and [experiment], not 'pipelin'; did you mean 'pipeline'?",
     {}},
    {"experiments",
     "[experiments]\n",
     "dir/test.toml:1:1: a config has [pipeline], [[stage]] and [experiment], not 'experiments'; did you mean "
     "'experiment'?",
     {}},
    {"single bracket", "[stage]\nname = \"x\"\n", "dir/test.toml:1:1: write [[stage]], with two brackets", {}},
    {"double bracket", "[[pipeline]]\n", "dir/test.toml:1:3: write [pipeline], with one bracket", {}},
    {"pipeline as value", "pipeline = 3\n", "dir/test.toml:1:1: 'pipeline' must be a table: write [pipeline]", {}},
    {"stage as list of texts", "stage = [\"a\"]\n", "dir/test.toml:1:10: a stage must be a table: write [[stage]]", {}},
    {"wrong type", "[pipeline]\nthreads = \"two\"\n", "dir/test.toml:2:1: 'threads' must be an integer, not text", {}},
    {"size without unit",
     "[pipeline]\nmemory = 4\n",
     "dir/test.toml:2:1: 'memory' must be a size with its unit, like \"4 MiB\", not an integer",
     {}},
    {"size with a wrong unit",
     "[pipeline]\nmemory = \"4 MiBs\"\n",
     "dir/test.toml:2:1: 'memory' must be a size with its unit, like \"4 MiB\" (B kB MB GB TB KiB MiB GiB TiB), not "
     "\"4 MiBs\"",
     {}},
    {"negative budget",
     "[pipeline]\nloss_budget = -1\n",
     "dir/test.toml:2:1: 'loss_budget' must be between 0 and 9223372036854775807, not -1",
     {}},
    {"no name", "[[stage]]\ntype = \"t\"\n", "dir/test.toml:1:1: 'name' is required", {}},
    {"no type", "\n[[stage]]\nname = \"t\"\n", "dir/test.toml:2:1: 'type' is required", {}},
    {"empty pipeline name", "[pipeline]\nname = \"\"\n", "dir/test.toml:2:1: 'name' must not be empty", {}},
    {"name with a dot",
     "[[stage]]\nname = \"a.b\"\ntype = \"t\"\n",
     "dir/test.toml:2:1: a stage's name is made of letters, digits, '_' and '-', not \"a.b\"",
     {}},
    {"stage called pipeline",
     "[[stage]]\nname = \"pipeline\"\ntype = \"t\"\n",
     "dir/test.toml:2:1: a stage cannot be called 'pipeline'",
     {}},
    {"unknown link key",
     stage_with("link = { chunk = 3 }"),
     "dir/test.toml:4:10: 'link' has no key 'link.chunk'; did you mean 'link.chunks'?",
     {}},
    {"link as number", stage_with("link = 3"), "dir/test.toml:4:1: 'link' must be a table, not an integer", {}},
    {"via as text",
     stage_with("via = \"mmap\""),
     "dir/test.toml:4:1: 'via' must be a table: via = { transport = \"...\" }",
     {}},
    {"policy misspelt",
     stage_with("when_full = \"drop_newst\""),
     "dir/test.toml:4:1: there is no when_full = \"drop_newst\"; did you mean \"drop_newest\"?",
     {}},
    {"policy unknown",
     stage_with("when_full = \"explode\""),
     "dir/test.toml:4:1: 'when_full' is one of block drop_newest drop_oldest, not \"explode\"",
     {}},
    {"empty from",
     stage_with("from = []"),
     "dir/test.toml:4:1: 'from' names no stage; leave it out to read from the stage before",
     {}},
    {"number in from", stage_with("from = [1]"), "dir/test.toml:4:9: a list may hold text only", {}},
    {"number in a list", stage_with("files = [\"a\", 7]"), "dir/test.toml:4:15: a list may hold text only", {}},
    {"date",
     stage_with("day = 2024-01-01"),
     "dir/test.toml:4:1: dates and times are not used here; put text in quotes",
     {}},
    {"unset variable",
     stage_with("path = \"${MILLRACE_NOT_SET}/x\""),
     "dir/test.toml:4:1: the environment variable 'MILLRACE_NOT_SET' is not set",
     {}},
    {"open variable", stage_with("path = \"${HOME/x\""), "dir/test.toml:4:1: '${' without '}'", {}},
    {"lone dollar",
     stage_with("path = \"$HOME/x\""),
     "dir/test.toml:4:1: a single '$' in a text: write ${NAME} for an environment variable, $$ for a dollar sign",
     {}},
    {"duplicate key",
     stage_with("a = 1\na = 2"),
     "dir/test.toml:5:5: in a key-value pair: cannot redefine existing integer 'a'",
     {}},
    {"not TOML", "[pipeline\n", "dir/test.toml:1:10: in a table header: expected ']', saw '\\n'", {}},
    {"invalid UTF-8", "# \xff\n", "dir/test.toml:1:2: Encountered invalid utf-8 sequence", {}},
    {"binary", std::string("\x89HDF\0\0", 6), "dir/test.toml:1:1: this is no text file", {}},
    {"override without =",
     kStages,
     "<--set read>:1:1: no '=': write --set stage.key=value or --set pipeline.key=value",
     {"read"}},
    {"override without key",
     kStages,
     "<--set read=1>:1:1: write --set stage.key=value or --set pipeline.key=value",
     {"read=1"}},
    {"override with an empty part",
     kStages,
     "<--set read..x=1>:1:1: write --set stage.key=value or --set pipeline.key=value",
     {"read..x=1"}},
    {"override of nobody",
     kStages,
     "<--set raed.x=1>:1:1: there is no stage 'raed'; did you mean 'read'?",
     {"raed.x=1"}},
    {"override of a name",
     kStages,
     "<--set read.name=b>:1:1: the name of a stage cannot be set: links and overrides go by it",
     {"read.name=b"}},
    {"override inside a text",
     kStages,
     "<--set read.path.x=1>:1:1: 'path' is not a table, so it has no key 'x'",
     {"read.path.x=1"}},
    {"override with an unknown key",
     kStages,
     "<--set pipeline.memroy=1 GiB>:1:1: [pipeline] has no key 'memroy'; did you mean 'memory'?",
     {"pipeline.memroy=1 GiB"}},
    {"override of a wrong type",
     kStages,
     "<--set write.slots=two>:1:1: 'slots' must be an integer, not text",
     {"write.slots=two"}},
    {"override with an unset variable",
     kStages,
     "<--set write.path=${MILLRACE_NOT_SET}>:1:1: the environment variable 'MILLRACE_NOT_SET' is not set",
     {"write.path=${MILLRACE_NOT_SET}"}},
};
INSTANTIATE_TEST_SUITE_P(Table, ConfigRefuses, testing::ValuesIn(kRefusals));

TEST(Config, RefusesKeysOfTooManyPartsBeforeTheyCostTheStack) {
  std::string key = "a";
  for (int i = 0; i < 100000; ++i) key += ".a";
  EXPECT_EQ(error_of(key + " = 1\n"), "dir/test.toml:1:34: a key has more than 16 parts");
  EXPECT_EQ(error_of("[pipeline]\nx = { " + key + " = 1 }\n"), "dir/test.toml:2:40: a key has more than 16 parts");
}

TEST(Config, DoesNotMistakeDotsInTextsAndCommentsForKeys) {
  const std::string dots(200, '.');
  const auto spec = load(stage_with("a = \"" + dots + "\" # " + dots + "\nb = '" + dots + "'\nc = \"\"\"\n\\\" \"" +
                                    dots + "\"\"\"\nd = '''" + dots + "'''\n"));
  EXPECT_EQ(spec.stages[0].options.get<std::string>("a", ""), dots);
  EXPECT_EQ(spec.stages[0].options.get<std::string>("c", ""), "\" \"" + dots);
}

TEST(Config, RefusesNestsOfListsWithoutEndingTheProgram) {
  const std::string error = error_of("a = " + std::string(100000, '['));
  EXPECT_NE(error.find("dir/test.toml:1:"), std::string::npos) << error;
  EXPECT_NE(error.find("nested"), std::string::npos) << error;
}

class ConfigFile : public testing::Test {
 protected:
  std::string error_of_file(const std::filesystem::path& file) {
    try {
      load_config(file, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::config);
      return error.what();
    }
    return "no error";
  }

  test::TempDirectory directory_;
};

TEST_F(ConfigFile, IsReadWithItsDirectory) {
  const auto file = directory_.write("sub/p.toml", kStages);
  const auto spec = load_config(file, {});
  EXPECT_EQ(spec.stages.at(0).options.require<std::filesystem::path>("path"), directory_ / "sub/in/*.raw");
}

TEST_F(ConfigFile, MayStartWithAByteOrderMarkAndHaveDosLineEnds) {
  const auto file = directory_.write("p.toml", "\xef\xbb\xbf[pipeline]\r\nname = \"dos\"\r\n");
  EXPECT_EQ(load_config(file, {}).name, "dos");
}

TEST_F(ConfigFile, MayBeEmptyHere) { EXPECT_TRUE(load_config(directory_.write("p.toml", ""), {}).stages.empty()); }

TEST_F(ConfigFile, ThatIsMissingIsNamed) {
  const auto file = directory_ / "none.toml";
  EXPECT_EQ(error_of_file(file), file.string() + ": cannot open the config: No such file or directory");
}

TEST_F(ConfigFile, ThatIsADirectoryIsNamed) {
  EXPECT_EQ(error_of_file(directory_.path()), directory_.path().string() + ": cannot read the config: Is a directory");
}

TEST_F(ConfigFile, ThatMayNotBeReadIsNamed) {
  const auto file = directory_.write("p.toml", kStages);
  std::filesystem::permissions(file, std::filesystem::perms::none);
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  EXPECT_EQ(error_of_file(file), file.string() + ": cannot open the config: Permission denied");
}

TEST_F(ConfigFile, OfTenMegabytesIsTakenForData) {
  const auto file = directory_.write("p.toml", std::string(10'000'000, '#'));
  EXPECT_EQ(error_of_file(file), file.string() + ":1:1: this has more than 256 KiB, so it is no config");
}

}  // namespace
}  // namespace millrace
