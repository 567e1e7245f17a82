#include "pipeline/core/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "pipeline/core/stage.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Count final : public Source {
 public:
  explicit Count(const Options& options) : chunks_(options.get<std::uint64_t>("chunks", 3, "how many")) {}
  ChunkType prepare() override { return {}; }
  std::optional<Chunk> produce(std::uint64_t index) override {
    return index < chunks_ ? std::optional(Chunk()) : std::nullopt;
  }

 private:
  std::uint64_t chunks_;
};

class Pass final : public Transform {
 public:
  explicit Pass(const Options& /*options*/) {}
  ChunkType prepare(const ChunkType& input) override { return input; }
  std::optional<Chunk> process(Chunk chunk) override { return chunk; }
};

class Keep final : public Sink {
 public:
  explicit Keep(const Options& options) : path_(options.require<std::filesystem::path>("path", "where to")) {
    if (path_.empty()) throw options.error_at("path", "a path cannot be empty");
    (void)options.get<bool>("sync", false);
  }
  void prepare(const ChunkType& /*input*/) override {}
  void consume(Chunk /*chunk*/) override {}

 private:
  std::filesystem::path path_;
};

Registry sample() {
  Registry registry;
  registry.add<Count>("count_source", "counts");
  registry.add<Pass>("pass");
  registry.add<Keep>("keep");
  return registry;
}

template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "no error";
}

TEST(Registry, RoleComesFromTheBaseClass) {
  const Registry registry = sample();
  EXPECT_EQ(registry.at("count_source").role, Role::source);
  EXPECT_EQ(registry.at("pass").role, Role::transform);
  EXPECT_EQ(registry.at("keep").role, Role::sink);
  EXPECT_STREQ(name_of(Role::source), "source");
  EXPECT_STREQ(name_of(Role::transform), "transform");
  EXPECT_STREQ(name_of(Role::sink), "sink");
}

TEST(Registry, MakesStagesFromOptions) {
  const Registry registry = sample();
  const Options options({{"chunks", {std::int64_t{1}, {}}}}, "", {});
  const auto stage = registry.at("count_source").make(options);
  auto& source = dynamic_cast<Source&>(*stage);
  EXPECT_TRUE(source.produce(0).has_value());
  EXPECT_FALSE(source.produce(1).has_value());
  EXPECT_THAT(options.unread(), IsEmpty());
}

TEST(Registry, UnknownTypeIsAnErrorWithTheNearestOne) {
  EXPECT_THAT(error_of([] { (void)sample().at("count_sorce"); }),
              AllOf(HasSubstr("no stage type 'count_sorce'"), HasSubstr("did you mean 'count_source'?")));
  EXPECT_THAT(error_of([] { (void)sample().at("zzzzzz"); }),
              AllOf(HasSubstr("`millrace stages` lists them"), Not(HasSubstr("did you mean"))));
}

TEST(Registry, TypeThatIsTakenIsRefusedWithBothProviders) {
  Registry registry = sample();
  registry.set_provider("libmine.so");
  EXPECT_THAT(error_of([&] { registry.add<Pass>("keep"); }),
              AllOf(HasSubstr("'keep' of libmine.so"), HasSubstr("already registered by millrace")));
  EXPECT_EQ(registry.at("keep").role, Role::sink) << "the first one stays";
}

TEST(Registry, EntryRemembersWhoRegisteredIt) {
  Registry registry = sample();
  registry.set_provider("libmine.so");
  registry.add<Pass>("pass_mine");
  EXPECT_EQ(registry.at("pass").from, "millrace");
  EXPECT_EQ(registry.at("pass_mine").from, "libmine.so");
}

TEST(Registry, DescribesWhatAConstructorReads) {
  const auto options = sample().describe("count_source");
  ASSERT_EQ(options.size(), 1U);
  EXPECT_EQ(options[0].key, "chunks");
  EXPECT_EQ(options[0].fallback, "3");
  EXPECT_EQ(options[0].help, "how many");
  EXPECT_THAT(sample().describe("pass"), IsEmpty());
}

TEST(Registry, DescribesUpToWhereAConstructorRefusesTheStandIn) {
  const auto options = sample().describe("keep");
  ASSERT_EQ(options.size(), 1U);
  EXPECT_TRUE(options[0].required);
}

TEST(Registry, DescribingAnUnknownTypeIsAnError) {
  EXPECT_THAT(error_of([] { (void)sample().describe("nobody"); }), HasSubstr("no stage type 'nobody'"));
}

TEST(Nearest, SuggestsOnlyWhatIsClose) {
  const std::vector<std::string> words = {"slots", "type", "from", "ordered", "when_full"};
  EXPECT_EQ(nearest("slot", words), "slots");
  EXPECT_EQ(nearest("stols", words), "") << "two steps of five letters are a guess";
  EXPECT_EQ(nearest("tpye", words), "type") << "swapped neighbours are one step";
  EXPECT_EQ(nearest("when-full", words), "when_full");
  EXPECT_EQ(nearest("orderd", words), "ordered");
  EXPECT_EQ(nearest("colour", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest("slots", {}), "");
}

}  // namespace
}  // namespace millrace
