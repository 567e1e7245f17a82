#include "pipeline/core/attributes.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

Attributes sample() { return {{"read_id", "a1"}, {"channel", std::int64_t{7}}, {"range", 1402.5}}; }

TEST(Attributes, EachTypeComesBackAsItWasSet) {
  const Attributes attributes = sample();
  EXPECT_EQ(attributes.text("read_id"), "a1");
  EXPECT_EQ(attributes.integer("channel"), 7);
  EXPECT_EQ(attributes.number("range"), 1402.5);
}

TEST(Attributes, NumberAcceptsAnIntegerAndIntegerNoNumber) {
  const Attributes attributes = sample();
  EXPECT_EQ(attributes.number("channel"), 7.0);
  EXPECT_EQ(attributes.integer("range"), std::nullopt);
}

TEST(Attributes, AbsentOrOfAnotherTypeIsNothing) {
  const Attributes attributes = sample();
  EXPECT_EQ(attributes.find("absent"), nullptr);
  EXPECT_EQ(attributes.text("absent"), std::nullopt);
  EXPECT_EQ(attributes.integer("absent"), std::nullopt);
  EXPECT_EQ(attributes.number("absent"), std::nullopt);
  EXPECT_EQ(attributes.text("channel"), std::nullopt);
  EXPECT_EQ(attributes.number("read_id"), std::nullopt);
  EXPECT_EQ(Attributes().find(""), nullptr);
}

TEST(Attributes, SetReplacesAndKeepsTheOrder) {
  Attributes attributes = sample();
  attributes.set("channel", "eight");
  ASSERT_EQ(attributes.entries().size(), 3U);
  EXPECT_EQ(attributes.entries()[1].first, "channel");
  EXPECT_EQ(attributes.text("channel"), "eight");
  EXPECT_EQ(attributes.integer("channel"), std::nullopt);
}

TEST(Attributes, RepeatedNameInTheListKeepsTheLastValue) {
  const Attributes attributes{{"a", std::int64_t{1}}, {"a", std::int64_t{2}}};
  EXPECT_EQ(attributes.entries().size(), 1U);
  EXPECT_EQ(attributes.integer("a"), 2);
}

}  // namespace
}  // namespace millrace
