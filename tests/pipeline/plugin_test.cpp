#include "pipeline/plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "pipeline/core/abi.h"
#include "pipeline/core/call_context.h"
#include "pipeline/core/stage.h"
#include "tests/support/places.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::filesystem::path plugin(const std::string& name) {
  return test::build_dir() / "tests" / "plugins" / (name + ".so");
}

/// The message of the refusal; empty when the plugin was loaded. Checks what every refusal has.
std::string refusal(const std::filesystem::path& path, Registry& registry) {
  const auto before = registry.entries().size();
  try {
    load_plugin(path, registry);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_EQ(error.path(), path);
    EXPECT_EQ(registry.entries().size(), before) << "a refused plugin must leave the registry as it was";
    return error.what();
  }
}

std::string refusal(const std::filesystem::path& path) {
  Registry registry;
  return refusal(path, registry);
}

TEST(Plugin, StagesOfAPluginWorkLikeBuiltInOnes) {
  Registry registry;
  load_plugin(plugin("good"), registry);
  ASSERT_TRUE(registry.contains("double"));
  EXPECT_EQ(registry.at("double").role, Role::transform);
  EXPECT_EQ(registry.at("double").summary, "doubles every sample");

  const auto stage = registry.at("double").make(Options());
  auto* const transform = dynamic_cast<Transform*>(stage.get());
  ASSERT_NE(transform, nullptr);
  EXPECT_EQ(transform->prepare({DType::i16, "signal", 64}).content, "signal");

  Buffer buffer = loan(3 * sizeof(std::int16_t));
  Chunk chunk(std::move(buffer), DType::i16);
  auto samples = chunk.samples<std::int16_t>();
  samples[0] = 1;
  samples[1] = -7;
  samples[2] = 300;
  const auto out = transform->process(std::move(chunk));
  ASSERT_TRUE(out.has_value());
  EXPECT_THAT(out->view<std::int16_t>(), testing::ElementsAre(2, -14, 600));
}

TEST(Plugin, ErrorsThrownInAPluginsStageAreCaughtAsErrors) {
  Registry registry;
  load_plugin(plugin("good"), registry);
  const auto stage = registry.at("double").make(Options());
  EXPECT_THROW(dynamic_cast<Transform&>(*stage).prepare({DType::f32, "signal", 64}), Error);
}

TEST(Plugin, OptionsOfAPluginsStageAreDescribedLikeBuiltInOnes) {
  Registry registry;
  load_plugin(plugin("good"), registry);
  const auto options = registry.describe("double");
  ASSERT_EQ(options.size(), 1U);
  EXPECT_EQ(options[0].key, "factor");
  EXPECT_EQ(options[0].type, "integer");
  EXPECT_EQ(options[0].fallback, "2");
}

TEST(Plugin, EntryNamesThePluginAndLaterOnesMillrace) {
  class Later final : public Sink {
   public:
    explicit Later(const Options& /*options*/) {}
    void prepare(const ChunkType& /*input*/) override {}
    void consume(Chunk /*chunk*/) override {}
  };
  Registry registry;
  load_plugin(plugin("good"), registry);
  registry.add<Later>("later");
  EXPECT_EQ(registry.at("double").from, plugin("good").string());
  EXPECT_EQ(registry.at("later").from, "millrace");
}

TEST(Plugin, RelativePathIsTakenFromTheWorkingDirectory) {
  Registry registry;
  load_plugin(std::filesystem::relative(plugin("good")), registry);
  EXPECT_TRUE(registry.contains("double"));
}

TEST(Plugin, MissingFileIsRefused) {
  EXPECT_THAT(refusal("/nowhere/libnone.so"),
              AllOf(HasSubstr("/nowhere/libnone.so"), HasSubstr("there is no such plugin")));
}

TEST(Plugin, BareNameIsNotLookedForInTheLibrarySearchPath) {
  EXPECT_THAT(refusal("libc.so.6"), HasSubstr("there is no such plugin"));
}

TEST(Plugin, DirectoryIsRefused) { EXPECT_THAT(refusal(testing::TempDir()), HasSubstr("a plugin must be a file")); }

TEST(Plugin, FileThatIsNoSharedObjectIsRefused) {
  const test::TempDirectory directory;
  EXPECT_THAT(refusal(directory.write("text.so", std::string(4096, 'x'))),
              HasSubstr("cannot load the plugin: invalid ELF header"));
}

TEST(Plugin, EmptyFileIsRefused) {
  const test::TempDirectory directory;
  EXPECT_THAT(refusal(directory.write("empty.so", "")), HasSubstr("cannot load the plugin: file too short"));
}

TEST(Plugin, SharedObjectWithoutTagIsRefusedBeforeAnythingInItIsCalled) {
  EXPECT_THAT(refusal(plugin("no_tag")), HasSubstr("no symbol millrace_abi_tag"));
}

TEST(Plugin, OtherTagIsRefusedBeforeAnythingInItIsCalledAndTheMessageHasBoth) {
  EXPECT_THAT(refusal(plugin("other_tag")), AllOf(HasSubstr("millrace-abi-0-cxx11"), HasSubstr(MILLRACE_ABI_TAG)));
}

TEST(Plugin, MissingRegisterFunctionIsRefused) {
  EXPECT_THAT(refusal(plugin("no_register")), HasSubstr("no symbol millrace_register"));
}

TEST(Plugin, UnresolvedSymbolIsNamed) {
  EXPECT_THAT(refusal(plugin("unresolved")), HasSubstr("function_that_nobody_defines"));
}

TEST(Plugin, FailureOfRegisterIsReportedAndWhatItHadRegisteredIsTakenBack) {
  EXPECT_THAT(refusal(plugin("throws")), HasSubstr("the licence server does not answer"));
}

TEST(Plugin, ExceptionOfAnyTypeInRegisterIsAnError) {
  EXPECT_THAT(refusal(plugin("throws_no_exception")), HasSubstr("no std::exception"));
}

TEST(Plugin, PluginThatRegistersNothingIsRefused) {
  EXPECT_THAT(refusal(plugin("registers_nothing")), HasSubstr("registers no stage type"));
}

TEST(Plugin, TypeThatIsTakenIsRefusedWithBothProviders) {
  Registry registry;
  load_plugin(plugin("good"), registry);
  EXPECT_THAT(refusal(plugin("good"), registry),
              AllOf(HasSubstr("stage type 'double'"), HasSubstr("already registered by " + plugin("good").string())));
}

}  // namespace
}  // namespace millrace
