#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "pipeline/config.h"
#include "pipeline/plan.h"
#include "tests/pipeline/scripted_stages.h"

namespace millrace {
namespace {

std::string error_of(const std::string& text) {
  try {
    validate(load_config_text(text, "t.toml", {}), test::scripted_registry());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "no error";
}

std::string stage(const std::string& name, const std::string& type, const std::string& more = "") {
  return "[[stage]]\nname = \"" + name + "\"\ntype = \"" + type + "\"\n" + more + (more.empty() ? "" : "\n");
}

struct Shape {
  const char* what;
  std::string config;
  std::string error;
};
void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.what; }

class Validate : public testing::TestWithParam<Shape> {};

TEST_P(Validate, AcceptsOrSaysWhereAndWhy) { EXPECT_EQ(error_of(GetParam().config), GetParam().error); }

const std::string kSource = stage("a", "source");
const std::string kSink = stage("z", "sink");

const std::vector<Shape> kShapes{
    {"source and sink", kSource + kSink, "no error"},
    {"chain", kSource + stage("b", "transform") + kSink, "no error"},
    {"fan-out", kSource + stage("b", "sink") + stage("c", "sink", "from = \"a\""), "no error"},
    {"fan-in of two sources", kSource + stage("b", "source") + stage("c", "sink", "from = [\"a\", \"b\"]"), "no error"},
    {"diamond",
     kSource + stage("b", "transform") + stage("c", "transform", "from = \"a\"") +
         stage("z", "sink", "from = [\"c\", \"b\"]"),
     "no error"},
    {"against file order", stage("z", "sink", "from = \"a\"") + kSource, "no error"},
    {"two pipelines in one", kSource + kSink + stage("c", "source") + stage("d", "sink"), "no error"},

    {"no stage", "", "t.toml:1:1: there is no [[stage]]: a pipeline needs at least a source and a sink"},
    {"two of one name", kSource + stage("a", "sink"), "t.toml:5:1: two stages are called 'a'; the first is in line 1"},
    {"unknown type", kSource + stage("z", "snik"),
     "t.toml:6:1: stage 'z': there is no stage type 'snik'; did you mean 'sink'?"},
    {"unknown type far off", stage("a", "kafka_consumer"),
     "t.toml:3:1: stage 'a': there is no stage type 'kafka_consumer'; `millrace stages` lists them"},
    {"from nobody", stage("read", "source") + stage("z", "sink", "from = \"raed\""),
     "t.toml:7:1: stage 'z': there is no stage 'raed' to read from; did you mean 'read'?"},
    {"second from is nobody", kSource + stage("z", "sink", "from = [\"a\", \"elsewhere\"]"),
     "t.toml:7:14: stage 'z': there is no stage 'elsewhere' to read from"},
    {"from itself", kSource + stage("b", "transform", "from = \"b\""),
     "t.toml:7:1: stage 'b': it cannot read from itself"},
    {"from a sink", kSource + kSink + stage("y", "sink", "from = \"z\""),
     "t.toml:10:1: stage 'y': 'z' is a sink: nothing comes out"},
    {"from one stage twice", kSource + stage("z", "sink", "from = [\"a\", \"a\"]"),
     "t.toml:7:14: stage 'z': it names 'a' twice"},
    {"source with input", kSource + stage("b", "source", "from = \"a\"") + kSink,
     "t.toml:7:1: stage 'b': 'source' is a source: it has no input"},
    {"transform first", stage("b", "transform") + kSink,
     "t.toml:1:1: 'b' is the first stage and a transform: it has nothing to read; put a source before it, or say which "
     "stage it reads with from = \"...\""},
    {"after a sink", kSource + kSink + stage("y", "sink"),
     "t.toml:7:1: 'y' would read from 'z' before it, which is a sink; say which stage it reads with from = \"...\""},
    {"source nobody reads", kSource + stage("b", "source") + kSink,
     "t.toml:1:1: nobody reads from 'a': end it in a sink such as null_writer, or name it in a from"},
    {"transform nobody reads", kSource + kSink + stage("b", "transform", "from = \"a\""),
     "t.toml:7:1: nobody reads from 'b': end it in a sink such as null_writer, or name it in a from"},
    {"cycle of two", kSource + stage("b", "transform", "from = [\"a\", \"c\"]") + stage("c", "transform") + kSink,
     "t.toml:7:1: the stages form a cycle: b -> c -> b"},
    {"cycle behind a stage",
     kSource + stage("d", "transform", "from = \"c\"") + stage("b", "transform", "from = [\"a\", \"c\"]") +
         stage("c", "transform", "from = \"b\"") + stage("z", "sink", "from = \"d\""),
     "t.toml:7:1: the stages form a cycle: c -> b -> c"},
    {"no slots", stage("a", "source", "slots = 0") + kSink,
     "t.toml:4:1: stage 'a': 'slots' must be between 1 and 1024, not 0"},
    {"too many slots", stage("a", "source", "slots = 1025") + kSink,
     "t.toml:4:1: stage 'a': 'slots' must be between 1 and 1024, not 1025"},
    {"link without chunks", kSource + stage("z", "sink", "link = { chunks = 0 }"),
     "t.toml:7:1: stage 'z': 'link.chunks' must be between 1 and 65536, not 0"},
    {"link without bytes", kSource + stage("z", "sink", "link = { bytes = \"0 B\" }"),
     "t.toml:7:1: stage 'z': 'link.bytes' must be more than 0: nothing would fit"},
    {"when_full on a source", stage("a", "source", "when_full = \"drop_oldest\"") + kSink,
     "t.toml:4:1: stage 'a': 'when_full' is about the link into a stage, and a source has none; it goes to the stage "
     "that reads from this one"},
    {"link on a source", stage("a", "source", "link.chunks = 3") + kSink,
     "t.toml:4:1: stage 'a': 'link' is about the link into a stage, and a source has none; it goes to the stage that "
     "reads from this one"},
    {"too many threads", "[pipeline]\nthreads = 5000\n" + kSource + kSink,
     "t.toml:2:1: 'threads' must be at most 1024, not 5000"},
};
INSTANTIATE_TEST_SUITE_P(Table, Validate, testing::ValuesIn(kShapes));

TEST(ValidateLimits, TakesThousandsOfStagesInLittleTime) {
  PipelineSpec spec;
  const auto add = [&spec](const std::string& type) {
    StageSpec stage;
    stage.name = "s" + std::to_string(spec.stages.size());
    stage.type = type;
    spec.stages.push_back(stage);
  };
  add("source");
  for (int i = 0; i < 3000; ++i) add("transform");
  add("sink");
  EXPECT_NO_THROW(validate(spec, test::scripted_registry()));
}

}  // namespace
}  // namespace millrace
