#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "millrace/stage.h"

extern "C" void millrace_register(millrace::Registry& registry);

namespace {

/// The stage as the program makes it: by its name, from options.
std::unique_ptr<millrace::Stage> make_stage(std::int64_t offset) {
  millrace::Registry registry;
  millrace_register(registry);
  const std::map<std::string, millrace::OptionValue> values = {{"offset", {offset, {}}}};
  return registry.at("subtract_baseline").make(millrace::Options(values, "", {}));
}

TEST(SubtractBaseline, SubtractsFromEverySample) {
  const auto stage = make_stage(100);
  auto& transform = dynamic_cast<millrace::Transform&>(*stage);

  millrace::Chunk chunk(millrace::loan(2 * sizeof(std::int16_t)), millrace::DType::i16);
  chunk.samples<std::int16_t>()[0] = 100;
  chunk.samples<std::int16_t>()[1] = -1;

  const auto result = transform.process(std::move(chunk));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->view<std::int16_t>()[0], 0);
  EXPECT_EQ(result->view<std::int16_t>()[1], -101);
}

TEST(SubtractBaseline, RefusesWhatIsNotI16) {
  const auto stage = make_stage(0);
  auto& transform = dynamic_cast<millrace::Transform&>(*stage);
  EXPECT_EQ(transform.prepare({millrace::DType::i16, "signal", 1024}).content, "signal");
  EXPECT_THROW(transform.prepare({millrace::DType::f32, "signal", 1024}), millrace::Error);
}

}  // namespace
