#include "apps/explain_inputs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "io/page_cache.h"
#include "pipeline/core/error.h"
#include "tests/support/temp_directory.h"

namespace millrace::apps {
namespace {

using State = io::Residency::State;

class KeptInputs : public ::testing::Test {
 protected:
  void SetUp() override {
    first_ = directory_.write("first.raw", std::string(1 << 20, 'x'));
    second_ = directory_.write("second.raw", std::string(1 << 20, 'y'));
    io::evict(second_);
    if (state_of(first_) != State::warm || state_of(second_) != State::cold) {
      GTEST_SKIP() << "files here cannot be made warm and cold at will";
    }
  }
  static State state_of(const std::filesystem::path& file) { return io::residency_of(file).state; }

  test::TempDirectory directory_;
  std::filesystem::path first_;
  std::filesystem::path second_;
};

TEST_F(KeptInputs, AutoKeepsEachFileAsItWasFound) {
  const InputsKept inputs({first_, second_, first_}, "auto");
  EXPECT_EQ(inputs.text(), "1 input kept cold, 1 kept warm");
  io::evict(first_);
  test::contents_of(second_);
  EXPECT_EQ(inputs.restore(), "");
  EXPECT_EQ(state_of(first_), State::warm);
  EXPECT_EQ(state_of(second_), State::cold);
}

TEST_F(KeptInputs, ColdAndWarmAreForAll) {
  const InputsKept cold({first_, second_}, "cold");
  EXPECT_EQ(cold.text(), "2 inputs kept cold");
  EXPECT_EQ(cold.restore(), "");
  EXPECT_EQ(state_of(first_), State::cold);
  const InputsKept warm({first_, second_}, "warm");
  EXPECT_EQ(warm.restore(), "");
  EXPECT_EQ(state_of(second_), State::warm);
}

TEST_F(KeptInputs, AsIsTouchesNothing) {
  const InputsKept inputs({first_, second_}, "as-is");
  EXPECT_EQ(inputs.text(), "2 inputs as found");
  EXPECT_EQ(inputs.restore(), "");
  EXPECT_EQ(state_of(first_), State::warm);
  EXPECT_EQ(state_of(second_), State::cold);
}

TEST(KeptInputsWithoutFiles, SayNothing) {
  const InputsKept inputs({}, "auto");
  EXPECT_EQ(inputs.text(), "");
  EXPECT_EQ(inputs.restore(), "");
}

TEST(KeptInputsWithoutFiles, WhatTheKernelDoesNotTellAboutCannotBeAskedFor) {
  for (const char* const state : {"cold", "warm"}) {
    EXPECT_THROW(InputsKept({"/no/such/file"}, state), Error);
  }
  EXPECT_EQ(InputsKept({"/no/such/file"}, "auto").text(), "1 input as found");
}

}  // namespace
}  // namespace millrace::apps
