#include "apps/input_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/page_cache.h"
#include "pipeline/core/error.h"
#include "tests/support/temp_directory.h"

namespace millrace::apps {
namespace {

using testing::HasSubstr;

TEST(InputState, CountsARunOnlyInTheStateThatWasAskedFor) {
  struct Case {
    CacheMode mode;
    double resident;
    const char* problem;
  };
  for (const Case& one :
       {Case{CacheMode::cold, 0, ""}, Case{CacheMode::cold, 0.01, ""},
        Case{CacheMode::cold, 0.37, "37.0 % of the input was in the page cache then, not at most 1 %"},
        Case{CacheMode::cold, -1, "what the page cache held of the input then is not known"},
        Case{CacheMode::warm, 1, ""}, Case{CacheMode::warm, 0.99, ""},
        Case{CacheMode::warm, 0.5, "50.0 % of the input was in the page cache then, not 99 %"},
        Case{CacheMode::warm, -1, "what the page cache held of the input then is not known"},
        Case{CacheMode::as_is, 0.5, ""}, Case{CacheMode::as_is, -1, ""}}) {
    const InputState state = judged(one.mode, one.resident, "then");
    EXPECT_EQ(state.problem, one.problem) << name_of(one.mode) << " " << one.resident;
    EXPECT_EQ(state.resident, one.resident);
  }
}

TEST(InputState, IsBroughtAboutAndLookedAt) {
  const test::TempDirectory directory;
  const auto file = directory.write("in", std::string(3'000'000, 'x'));
  if (!io::residency_of(file).resident_bytes) GTEST_SKIP() << "the kernel does not tell what it has cached";
  Interruption interruption;
  const InputState warm = bring_inputs_to(CacheMode::warm, {file}, interruption);
  EXPECT_EQ(warm.resident, 1);
  EXPECT_EQ(warm.problem, "");
  if (io::residency_of(file).state == io::Residency::State::memory) GTEST_SKIP() << "no device here";
  const InputState cold = bring_inputs_to(CacheMode::cold, {file}, interruption);
  EXPECT_EQ(cold.resident, static_cast<double>(*io::resident_bytes(file)) / 3'000'000);
  EXPECT_EQ(cold.problem.empty(), cold.resident <= 0.01);
}

TEST(InputState, OfInputsThatAreNotThereIsAnError) {
  Interruption interruption;
  EXPECT_THROW(bring_inputs_to(CacheMode::cold, {"/no/such/file"}, interruption), Error);
  EXPECT_THROW(bring_inputs_to(CacheMode::warm, {"/no/such/file"}, interruption), Error);
}

TEST(InputState, ThatCannotBeIsRefusedBeforeTheFirstRun) {
  const auto refusal = [](CacheMode mode, const std::vector<std::filesystem::path>& inputs) {
    try {
      require_possible(mode, inputs);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::config);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal(CacheMode::cold, {}), HasSubstr("no stage reads any"));
  EXPECT_THAT(refusal(CacheMode::warm, {}), HasSubstr("no stage reads any"));
  EXPECT_EQ(refusal(CacheMode::as_is, {}), "");
  EXPECT_THAT(refusal(CacheMode::cold, {"/no/such/file"}), HasSubstr("cannot be verified"));
  EXPECT_EQ(usual_mode({}), CacheMode::as_is);
}

}  // namespace
}  // namespace millrace::apps
