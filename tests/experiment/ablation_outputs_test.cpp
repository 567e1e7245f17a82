#include "pipeline/experiment/ablation_outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "pipeline/config.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

/// What the sinks of a spec say of where they write, and how their stream ended.
struct Told {
  std::string path;
  std::optional<Sink::End> end;
  bool abandoned = false;
};

class TellingSink final : public Sink {
 public:
  explicit TellingSink(Told& told) : told_(told) {}
  void prepare(const ChunkType& /*input*/) override {}
  void consume(Chunk /*chunk*/) override {}
  void finish(End end) override { told_.end = end; }
  void abandon() noexcept override { told_.abandoned = true; }

 private:
  Told& told_;
};

/// A plan with the sink 'out' alone.
Plan plan_with(Told& told) {
  Plan plan;
  StagePlan& stage = plan.stages.emplace_back();
  stage.name = "out";
  stage.role = Role::sink;
  stage.instances.push_back(std::make_unique<TellingSink>(told));
  return plan;
}

class NamingSink final : public Sink {
 public:
  explicit NamingSink(const Options& options) : path(options.require<fs::path>("path")) {}
  void prepare(const ChunkType& /*input*/) override {}
  void consume(Chunk /*chunk*/) override {}
  const fs::path path;
};

class OtherSink final : public Sink {
 public:
  explicit OtherSink(const Options& options) { options.get<std::string>("address", ""); }
  void prepare(const ChunkType& /*input*/) override {}
  void consume(Chunk /*chunk*/) override {}
};

class ReadingSource final : public Source {
 public:
  explicit ReadingSource(const Options& options) : path(options.get<fs::path>("path", "")) {}
  ChunkType prepare() override { return {DType::u8, "bytes", 8}; }
  std::optional<Chunk> produce(std::uint64_t /*index*/) override { return std::nullopt; }
  const fs::path path;
};

class OutputsAside : public ::testing::Test {
 protected:
  OutputsAside() {
    registry_.add<ReadingSource>("reader");
    registry_.add<NamingSink>("writer");
    registry_.add<OtherSink>("sender");
  }
  PipelineSpec spec(const std::string& sink) const {
    return load_config_text(
        "[[stage]]\nname = \"read\"\ntype = \"reader\"\npath = \"in.raw\"\n[[stage]]\nname = \"out\"\n" + sink,
        (directory_ / "p.toml").string(), {});
  }
  fs::path path_in(const PipelineSpec& spec) const {
    return dynamic_cast<NamingSink&>(*registry_.at("writer").make(spec.stages.back().options)).path;
  }

  test::TempDirectory directory_;
  Registry registry_;
};

TEST_F(OutputsAside, HaveAHiddenNameInTheSameDirectoryWithTheSameEnding) {
  PipelineSpec changed = spec("type = \"writer\"\npath = \"out/calls.fastq.gz\"\n");
  const AsideOutputs outputs(changed, registry_, "17");
  EXPECT_EQ(path_in(changed), fs::path(directory_ / "out/.millrace-explain-17-calls.fastq.gz"));
  const auto source = registry_.at("reader").make(changed.stages.front().options);
  EXPECT_EQ(dynamic_cast<ReadingSource&>(*source).path, fs::path(directory_ / "in.raw")) << "inputs stay";
}

TEST_F(OutputsAside, FollowALinkToItsDevice) {
  fs::create_directory(directory_ / "far");
  fs::create_symlink(directory_ / "far/result.raw", directory_ / "result.raw");
  PipelineSpec changed = spec("type = \"writer\"\npath = \"result.raw\"\n");
  const AsideOutputs outputs(changed, registry_, "17");
  EXPECT_EQ(path_in(changed).parent_path(), directory_ / "far");
}

TEST_F(OutputsAside, AreRemovedAsFarAsTheRunPublishedThem) {
  const auto kept = directory_.write("calls.fastq", "from before");
  const auto published = directory_.write(".millrace-explain-17-calls.fastq.partial", "from the run");
  RunReport report;
  report.outputs.push_back({published.string(), 12});
  AsideOutputs::remove(report);
  EXPECT_FALSE(fs::exists(published));
  EXPECT_TRUE(fs::exists(kept));
  AsideOutputs::remove(report);  // what is gone already is no error
}

TEST_F(OutputsAside, DirectoriesAreRemovedOnlyUnderAHiddenName) {
  directory_.write(".millrace-explain-17-store/a/0.0", "chunk");
  const auto foreign = directory_.write("store/a/0.0", "somebody's");
  RunReport report;
  report.outputs.push_back({(directory_ / ".millrace-explain-17-store").string(), 5});
  report.outputs.push_back({(directory_ / "store").string(), 5});
  AsideOutputs::remove(report);
  EXPECT_FALSE(fs::exists(directory_ / ".millrace-explain-17-store"));
  EXPECT_TRUE(fs::exists(foreign));
}

TEST_F(OutputsAside, ASinkThatNamesItsOutputOtherwiseNeverPublishesUnderItsFinalName) {
  PipelineSpec changed = spec("type = \"sender\"\naddress = \"tcp:1\"\n");
  const AsideOutputs outputs(changed, registry_, "17");
  Told told;
  Plan plan = plan_with(told);
  outputs.protect(plan);
  auto& sink = dynamic_cast<Sink&>(*plan.stages.back().instances.front());
  sink.finish(Sink::End::complete);
  EXPECT_EQ(told.end, Sink::End::interrupted);
  sink.abandon();
  EXPECT_TRUE(told.abandoned);
}

TEST_F(OutputsAside, ASinkThatWasSentElsewhereIsNotWrapped) {
  PipelineSpec changed = spec("type = \"writer\"\npath = \"calls.fastq\"\n");
  const AsideOutputs outputs(changed, registry_, "17");
  Told told;
  Plan plan = plan_with(told);
  outputs.protect(plan);
  dynamic_cast<Sink&>(*plan.stages.back().instances.front()).finish(Sink::End::complete);
  EXPECT_EQ(told.end, Sink::End::complete);
}

}  // namespace
}  // namespace millrace
