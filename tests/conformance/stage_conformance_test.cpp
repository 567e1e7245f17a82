// What pipeline/core/stage.h asks of a stage, run over every built-in one (stage_cases.cpp).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/buffer_pool.h"
#include "pipeline/core/registry.h"
#include "pipeline/core/stage.h"
#include "stages/builtin.h"
#include "tests/conformance/stage_cases.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::Feed;
using test::StageCase;
using test::TempDirectory;
using testing::IsEmpty;

const Registry& registry() {
  static const Registry* const registry = [] {
    auto* const made = new Registry;
    add_builtin_stages(*made);
    return made;
  }();
  return *registry;
}

/// What a chunk carries, for comparing streams.
struct Content {
  std::vector<std::byte> bytes;
  DType dtype;
  std::string shape;
  std::uint64_t origin_offset;
  std::shared_ptr<const Attributes> attributes;
  bool operator==(const Content&) const = default;
};

Content content_of(const Chunk& chunk) {
  return {{chunk.bytes().begin(), chunk.bytes().end()},
          chunk.dtype(),
          chunk.shape().text(),
          chunk.origin().offset,
          chunk.shared_attributes()};
}

class StageConformance : public testing::TestWithParam<StageCase> {
 protected:
  Role role() const { return registry().at(GetParam().type).role; }

  template <typename Kind>
  std::unique_ptr<Kind> make() const {
    const Options options = GetParam().options(directory_);
    auto stage = registry().at(GetParam().type).make(options);
    EXPECT_THAT(options.unread(), IsEmpty());
    auto* const kind = dynamic_cast<Kind*>(stage.get());
    if (kind != nullptr) stage.release();
    return std::unique_ptr<Kind>(kind);
  }

  TempDirectory directory_;
};

class SourceConformance : public StageConformance {
 protected:
  void SetUp() override {
    const Options options = GetParam().options(directory_);
    if (options.has("path") && !std::filesystem::exists(options.get<std::filesystem::path>("path", {}))) {
      GTEST_SKIP() << "real data is not here: " << options.get<std::filesystem::path>("path", {});
    }
  }
};

class TransformConformance : public StageConformance {
 protected:
  void SetUp() override {
    if (!GetParam().feed()) GTEST_SKIP() << "real data is not here: " << test::test_data();
  }

  std::vector<Content> outputs_of_one() const {
    const auto stage = make<Transform>();
    auto feed = GetParam().feed();
    stage->prepare(feed->type);
    std::vector<Content> contents;
    for (const Chunk& chunk : test::drive(*stage, std::move(feed->chunks))) contents.push_back(content_of(chunk));
    return contents;
  }
};

class SinkConformance : public TransformConformance {
 protected:
  bool writes() const { return GetParam().options(directory_).has("path"); }

  std::vector<std::string> names_after(Sink& sink, std::optional<Sink::End> end) const {
    auto feed = GetParam().feed();
    sink.prepare(feed->type);
    if (end) {
      test::drive(sink, std::move(feed->chunks), *end);
    } else {
      for (Chunk& chunk : feed->chunks) sink.consume(std::move(chunk));
      sink.abandon();
    }
    return directory_.names();
  }
};

TEST_P(StageConformance, OptionsAreFoundByConstructionAndExplained) {
  for (const auto& option : registry().describe(GetParam().type)) {
    EXPECT_FALSE(option.help.empty()) << option.key;
    EXPECT_FALSE(option.required && !option.fallback.empty()) << option.key;
  }
}

TEST_P(StageConformance, ConstructionTouchesNothing) {
  const Options options = GetParam().options(directory_);
  const auto names = directory_.names();
  const auto descriptors = test::open_descriptors();
  const auto stage = registry().at(GetParam().type).make(options);
  EXPECT_EQ(directory_.names(), names);
  EXPECT_EQ(test::open_descriptors(), descriptors);
}

TEST_P(StageConformance, AnUnknownKeyStaysUnread) {
  auto values = GetParam().options(directory_).values();
  values["no_such_option"] = {true, {"test.toml", 9, 1}};
  const Options options(values, {}, {});
  registry().at(GetParam().type).make(options);
  ASSERT_EQ(options.unread().size(), 1U);
  EXPECT_EQ(options.unread().front().first, "no_such_option");
}

TEST_P(StageConformance, RequiredOptionsAreRequired) {
  const auto descriptions = registry().describe(GetParam().type);
  const bool any =
      std::any_of(descriptions.begin(), descriptions.end(), [](const auto& option) { return option.required; });
  const auto construct = [] { registry().at(GetParam().type).make(test::options_of({})); };
  if (any) {
    EXPECT_EQ(test::error_of(construct)->kind(), ErrorKind::config);
  } else {
    EXPECT_NO_THROW(construct());
  }
}

TEST_P(SourceConformance, GivesWhatItAnnouncesAndTakesOneBufferForEachChunk) {
  const auto source = make<Source>();
  const ChunkType type = source->prepare();
  EXPECT_GT(type.max_bytes, 0U);
  EXPECT_FALSE(type.content.empty());
  io::BufferPool pool(type.max_bytes, 1);
  const test::LendFrom lend(pool);
  std::uint64_t chunks = 0;
  for (;; ++chunks) {
    const auto chunk = source->produce(chunks);
    if (!chunk) break;
    EXPECT_EQ(chunk->dtype(), type.dtype);
    EXPECT_LE(chunk->size_bytes(), type.max_bytes);
  }
  EXPECT_GT(chunks, 0U);
  EXPECT_EQ(source->total_chunks().value_or(chunks), chunks);
  EXPECT_EQ(pool.allocations(), 1U) << "more memory at a time than one chunk of the announced size";
  EXPECT_FALSE(source->produce(chunks)) << "the end is for good";
}

TEST_P(SourceConformance, TwoRunsAreTheSame) {
  const auto first = make<Source>();
  const auto second = make<Source>();
  first->prepare();
  second->prepare();
  for (std::uint64_t i = 0;; ++i) {
    const auto a = first->produce(i);
    const auto b = second->produce(i);
    ASSERT_EQ(a.has_value(), b.has_value());
    if (!a) break;
    EXPECT_EQ(content_of(*a).bytes, content_of(*b).bytes);
    EXPECT_EQ(a->shape(), b->shape());
  }
}

TEST_P(SourceConformance, SlotsGiveTogetherWhatOneGives) {
  const auto one = make<Source>();
  if (!one->parallel()) GTEST_SKIP() << "has one slot only";
  const auto first = make<Source>();
  const auto second = make<Source>();
  one->prepare();
  first->prepare();
  if (!second->prepare_like(*first)) second->prepare();
  for (std::uint64_t i = 0;; ++i) {
    const auto expected = one->produce(i);
    const auto seen = (i % 3 == 1 ? second : first)->produce(i);
    ASSERT_EQ(expected.has_value(), seen.has_value());
    if (!expected) break;
    EXPECT_EQ(content_of(*expected).bytes, content_of(*seen).bytes) << i;
  }
}

TEST_P(SourceConformance, IsNotPreparedByAStranger) {
  class Stranger final : public Source {
    ChunkType prepare() override { return {}; }
    std::optional<Chunk> produce(std::uint64_t /*index*/) override { return std::nullopt; }
  };
  EXPECT_FALSE(make<Source>()->prepare_like(Stranger()));
}

TEST_P(TransformConformance, GivesWhatItAnnouncesAndTakesOneBufferForEachChunk) {
  const auto stage = make<Transform>();
  auto feed = GetParam().feed();
  const ChunkType type = stage->prepare(feed->type);
  EXPECT_GT(type.max_bytes, 0U);
  io::BufferPool pool(type.max_bytes, 1);
  const test::LendFrom lend(pool);
  const auto check = [&type](const std::optional<Chunk>& chunk) {
    if (!chunk) return false;
    EXPECT_EQ(chunk->dtype(), type.dtype);
    EXPECT_LE(chunk->size_bytes(), type.max_bytes);
    return true;
  };
  for (std::size_t i = 0; i < feed->chunks.size(); ++i) {
    feed->chunks[i].set_sequence(i);
    if (!check(stage->process(std::move(feed->chunks[i]))) || !stage->splits()) continue;
    while (check(stage->more())) {
    }
  }
  while (check(stage->finish())) {
  }
  EXPECT_EQ(pool.allocations(), 1U) << "more memory at a time than one chunk of the announced size";
}

TEST_P(TransformConformance, LeavesASharedInputAsItIs) {
  const auto stage = make<Transform>();
  auto feed = GetParam().feed();
  stage->prepare(feed->type);
  const std::vector<Chunk> kept = feed->chunks;
  std::vector<Content> before;
  for (const Chunk& chunk : kept) before.push_back(content_of(chunk));
  const auto outputs = test::drive(*stage, std::move(feed->chunks));
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(content_of(kept[i]), before[i]);
}

TEST_P(TransformConformance, TwoRunsAreTheSame) {
  const auto first = outputs_of_one();
  const auto second = outputs_of_one();
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].bytes, second[i].bytes) << i;
}

TEST_P(TransformConformance, SlotsGiveTogetherWhatOneGives) {
  const auto one = make<Transform>();
  if (!one->parallel()) GTEST_SKIP() << "has one slot only";
  const std::vector<std::unique_ptr<Transform>> slots = [this] {
    std::vector<std::unique_ptr<Transform>> made;
    made.push_back(make<Transform>());
    made.push_back(make<Transform>());
    return made;
  }();
  auto feed = GetParam().feed();
  auto same = GetParam().feed();
  one->prepare(feed->type);
  for (const auto& slot : slots) slot->prepare(feed->type);
  for (std::size_t i = 0; i < feed->chunks.size(); ++i) {
    feed->chunks[i].set_sequence(i);
    same->chunks[i].set_sequence(i);
    const auto expected = one->process(std::move(feed->chunks[i]));
    const auto seen = slots[i % 3 == 1 ? 1 : 0]->process(std::move(same->chunks[i]));
    ASSERT_EQ(expected.has_value(), seen.has_value());
    if (!expected) continue;
    EXPECT_EQ(content_of(*expected).bytes, content_of(*seen).bytes) << i;
  }
}

TEST_P(TransformConformance, OutputsKeepTheAttributesOfTheirInput) {
  const auto stage = make<Transform>();
  if (stage->splits()) GTEST_SKIP() << "gives several chunks for one";
  auto feed = GetParam().feed();
  stage->prepare(feed->type);
  for (Chunk& chunk : feed->chunks) {
    const Attributes before = chunk.attributes();
    const auto output = stage->process(std::move(chunk));
    if (!output) continue;
    for (const auto& [name, value] : before.entries()) {
      if (name != "read_id") continue;  // what a stage consumes may go, who it belongs to may not
      ASSERT_NE(output->attributes().find(name), nullptr) << name;
      EXPECT_EQ(*output->attributes().find(name), value);
    }
  }
}

TEST_P(SinkConformance, CompleteOutputHasItsFinalNameAndNothingIsBesideIt) {
  const auto sink = make<Sink>();
  const auto names = names_after(*sink, Sink::End::complete);
  EXPECT_EQ(names.size(), writes() ? 1U : 0U);
  EXPECT_EQ(sink->outputs().size(), names.size());
  for (const auto& output : sink->outputs()) {
    EXPECT_EQ(output.path.filename(), names.front());
    EXPECT_EQ(output.bytes, std::filesystem::file_size(output.path));
    EXPECT_GT(output.bytes, 0U);
  }
}

TEST_P(SinkConformance, InterruptedOutputHasAnotherName) {
  const auto sink = make<Sink>();
  for (const auto& name : names_after(*sink, Sink::End::interrupted)) EXPECT_TRUE(name.ends_with(".partial")) << name;
}

TEST_P(SinkConformance, AbandonedOutputIsGone) {
  const auto sink = make<Sink>();
  EXPECT_THAT(names_after(*sink, std::nullopt), IsEmpty());
  EXPECT_THAT(sink->outputs(), IsEmpty());
}

TEST_P(SinkConformance, ForgottenOutputIsGone) {
  {
    const auto sink = make<Sink>();
    auto feed = GetParam().feed();
    sink->prepare(feed->type);
    for (Chunk& chunk : feed->chunks) sink->consume(std::move(chunk));
  }
  EXPECT_THAT(directory_.names(), IsEmpty());
}

TEST_P(SinkConformance, NoChunksIsACompleteOutputToo) {
  const auto sink = make<Sink>();
  sink->prepare(GetParam().feed()->type);
  sink->finish(Sink::End::complete);
  EXPECT_EQ(directory_.names().size(), writes() ? 1U : 0U);
  EXPECT_EQ(sink->outputs().size(), directory_.names().size());
}

TEST_P(SinkConformance, PreparingCreatesNothing) {
  const auto sink = make<Sink>();
  sink->prepare(GetParam().feed()->type);
  EXPECT_THAT(directory_.names(), IsEmpty());
}

TEST_P(SinkConformance, AFailingDiskIsAnErrorAndLeavesNothing) {
  if (!writes()) GTEST_SKIP() << "writes nothing";
  auto values = GetParam().options(directory_).values();
  for (const auto* const fault : {"enospc", "eio", "fsync"}) {
    values["via"] = {std::make_shared<const Options>(test::options_of({{"inject", fault}})), {}};
    const auto stage = registry().at(GetParam().type).make(Options(values, {}, {}));
    auto* const sink = dynamic_cast<Sink*>(stage.get());
    ASSERT_NE(sink, nullptr);
    auto feed = GetParam().feed();
    sink->prepare(feed->type);
    const auto error = test::error_of([&] { test::drive(*sink, std::move(feed->chunks)); });
    ASSERT_TRUE(error) << fault;
    EXPECT_FALSE(error->path().empty());
    sink->abandon();
    EXPECT_THAT(directory_.names(), IsEmpty()) << fault;
    EXPECT_THAT(sink->outputs(), IsEmpty());
  }
}

TEST(StageCases, CoverEveryBuiltinStage) {
  std::set<std::string> covered;
  for (const auto& entry : test::stage_cases()) covered.insert(entry.type);
  for (const auto& [type, entry] : registry().entries()) EXPECT_TRUE(covered.contains(type)) << "no case for " << type;
  EXPECT_EQ(covered.size(), registry().entries().size());
}

std::vector<StageCase> cases_of(std::optional<Role> role) {
  std::vector<StageCase> cases;
  for (auto& entry : test::stage_cases()) {
    if (!role || registry().at(entry.type).role == *role) cases.push_back(std::move(entry));
  }
  return cases;
}

constexpr auto kNameOfCase = [](const auto& instance) { return instance.param.type; };

INSTANTIATE_TEST_SUITE_P(Every, StageConformance, testing::ValuesIn(cases_of({})), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(Every, SourceConformance, testing::ValuesIn(cases_of(Role::source)), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(Every, TransformConformance, testing::ValuesIn(cases_of(Role::transform)), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(Every, SinkConformance, testing::ValuesIn(cases_of(Role::sink)), kNameOfCase);

}  // namespace
}  // namespace millrace
