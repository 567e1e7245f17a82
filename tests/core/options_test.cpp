#include "pipeline/core/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace millrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StrEq;

using Values = std::map<std::string, OptionValue>;

const SourcePosition kHeader{"run.toml", 10, 1};

/// A value that stands in column 9 of its line.
template <typename T>
OptionValue value(T contents, std::uint32_t line) {
  return {std::move(contents), {"run.toml", line, 9}};
}

Options sample() {
  Values via;
  via.emplace("transport", value(std::string("mmap"), 15));
  via.emplace("depth", value(std::int64_t{8}, 15));
  Values values;
  values.emplace("offset", value(std::int64_t{-5}, 11));
  values.emplace("scale", value(1.5, 12));
  values.emplace("path", value(std::string("data/a.fast5"), 13));
  values.emplace("fast", value(true, 14));
  values.emplace("via", value(OptionValue::Table(std::make_shared<Options>(via, "", kHeader)), 15));
  values.emplace("block", value(std::string("4 MiB"), 16));
  values.emplace("wait", value(std::string("250 ms"), 17));
  values.emplace("names", value(std::vector<std::string>{"a", "/b"}, 18));
  return {values, "/config", kHeader};
}

/// what() of the Error that `call` throws.
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

TEST(Options, EveryTypeIsReadAsWritten) {
  const Options options = sample();
  EXPECT_EQ(options.get<std::int16_t>("offset", 0), -5);
  EXPECT_EQ(options.get<double>("scale", 0), 1.5);
  EXPECT_EQ(options.get<float>("scale", 0), 1.5F);
  EXPECT_EQ(options.get<bool>("fast", false), true);
  EXPECT_EQ(options.get<std::string>("path", ""), "data/a.fast5");
  EXPECT_EQ(options.get<Bytes>("block", {}).count, 4ULL << 20U);
  EXPECT_EQ(options.get<Duration>("wait", {}), std::chrono::milliseconds(250));
  EXPECT_THAT(options.get<std::vector<std::string>>("names", {}), ElementsAre("a", "/b"));
}

TEST(Options, AbsentKeysGiveTheDefault) {
  const Options options = sample();
  EXPECT_EQ(options.get<int>("absent", 17), 17);
  EXPECT_EQ(options.get<std::filesystem::path>("absent", "x"), "x") << "a default is taken as it is";
}

TEST(Options, IntegersAreNumbersButNumbersAreNoIntegers) {
  const Options options = sample();
  EXPECT_EQ(options.get<double>("offset", 0), -5.0);
  EXPECT_THAT(error_of([&] { (void)options.get<int>("scale", 0); }),
              StrEq("run.toml:12:9: 'scale' must be an integer, not a number"));
}

TEST(Options, RelativePathsAreTakenFromTheConfigsDirectory) {
  const Options options = sample();
  EXPECT_EQ(options.get<std::filesystem::path>("path", ""), "/config/data/a.fast5");
  EXPECT_THAT(options.get<std::vector<std::filesystem::path>>("names", {}), ElementsAre("/config/a", "/b"));
}

TEST(Options, OneTextCountsAsAListOfOne) {
  EXPECT_THAT(sample().get<std::vector<std::string>>("path", {}), ElementsAre("data/a.fast5"));
}

TEST(Options, IntegerOutOfTheTypesRangeIsRefused) {
  const auto of = [](std::int64_t number) { return Options({{"n", value(number, 11)}}, "", kHeader); };
  EXPECT_EQ(of(127).get<std::int8_t>("n", 0), 127);
  EXPECT_EQ(of(INT64_MAX).get<std::uint64_t>("n", 0), static_cast<std::uint64_t>(INT64_MAX));
  EXPECT_EQ(of(INT64_MIN).get<std::int64_t>("n", 0), INT64_MIN);
  EXPECT_THAT(error_of([&] { (void)of(128).get<std::int8_t>("n", 0); }),
              StrEq("run.toml:11:9: 'n' must be between -128 and 127, not 128"));
  EXPECT_THAT(error_of([&] { (void)of(-1).get<std::uint64_t>("n", 0); }), HasSubstr("must be between 0 and"));
  EXPECT_THAT(error_of([&] { (void)of(1LL << 32U).get<std::uint32_t>("n", 0); }), HasSubstr("4294967295"));
}

TEST(Options, NumberOutOfTheTypesRangeOrNotFiniteIsRefused) {
  const auto of = [](double number) { return Options({{"x", value(number, 11)}}, "", kHeader); };
  EXPECT_EQ(of(1e300).get<double>("x", 0), 1e300);
  EXPECT_THAT(error_of([&] { (void)of(1e300).get<float>("x", 0); }), HasSubstr("'x' is too large for its type"));
  EXPECT_THAT(error_of([&] { (void)of(HUGE_VAL).get<double>("x", 0); }), HasSubstr("'x' must be finite"));
  EXPECT_THAT(error_of([&] { (void)of(std::nan("")).get<double>("x", 0); }), HasSubstr("'x' must be finite"));
}

TEST(Options, WrongTypeNamesBothAndThePlace) {
  const Options options = sample();
  EXPECT_THAT(error_of([&] { (void)options.get<bool>("offset", false); }),
              StrEq("run.toml:11:9: 'offset' must be true or false, not an integer"));
  EXPECT_THAT(error_of([&] { (void)options.get<std::string>("fast", ""); }),
              StrEq("run.toml:14:9: 'fast' must be text, not a boolean"));
  EXPECT_THAT(error_of([&] { (void)options.get<int>("via", 0); }), HasSubstr("not a table"));
  EXPECT_THAT(error_of([&] { (void)options.get<std::vector<std::string>>("offset", {}); }),
              HasSubstr("'offset' must be a list of text, not an integer"));
  EXPECT_THAT(error_of([&] { (void)options.table("offset"); }), HasSubstr("'offset' must be a table"));
}

TEST(Options, SizesAndTimesNeedTheirUnit) {
  const Options options({{"bytes", value(std::int64_t{4096}, 11)}, {"text", value(std::string("4 parsec"), 12)}}, "",
                        kHeader);
  EXPECT_THAT(error_of([&] { (void)options.get<Bytes>("bytes", {}); }),
              StrEq("run.toml:11:9: 'bytes' must be a size with its unit, like \"4 MiB\", not an integer"));
  EXPECT_THAT(error_of([&] { (void)options.get<Bytes>("text", {}); }), HasSubstr("not \"4 parsec\""));
  EXPECT_THAT(error_of([&] { (void)options.get<Duration>("bytes", {}); }), HasSubstr("a time with its unit"));
  EXPECT_THAT(error_of([&] { (void)options.get<Duration>("text", {}); }), HasSubstr("not \"4 parsec\""));
}

TEST(Options, MissingRequiredKeyIsNamedAtTheTable) {
  const Options options = sample();
  EXPECT_EQ(options.require<std::int64_t>("offset"), -5);
  EXPECT_THAT(error_of([&] { (void)options.require<std::string>("genome"); }),
              StrEq("run.toml:10:1: 'genome' is required"));
  EXPECT_THAT(error_of([&] { (void)options.table("via").require<std::string>("advice"); }),
              StrEq("run.toml:15:9: 'via.advice' is required"));
}

TEST(Options, KeysOfATableAreNamedWithTheTable) {
  const Options via = sample().table("via");
  EXPECT_EQ(via.get<std::uint32_t>("depth", 0), 8U);
  EXPECT_THAT(error_of([&] { (void)via.get<bool>("depth", false); }),
              StrEq("run.toml:15:9: 'via.depth' must be true or false, not an integer"));
}

TEST(Options, AbsentTableIsEmptyAndErrorsPointAtItsParent) {
  const Options link = sample().table("link");
  EXPECT_FALSE(link.has("chunks"));
  EXPECT_EQ(link.get<int>("chunks", 16), 16);
  EXPECT_EQ(link.position().text(), "run.toml:10:1");
}

TEST(Options, PathsInATableAreTakenFromTheSameDirectory) {
  Values inner;
  inner.emplace("path", value(std::string("x"), 12));
  const Options options({{"t", value(OptionValue::Table(std::make_shared<Options>(inner, "/other", kHeader)), 11)}},
                        "/config", kHeader);
  EXPECT_EQ(options.table("t").get<std::filesystem::path>("path", ""), "/config/x");
}

TEST(Options, UnreadKeysAreThoseThatNobodyAskedFor) {
  const Options options = sample();
  (void)options.get<int>("offset", 0);
  (void)options.has("scale");
  (void)options.table("via").get<std::string>("transport", "");
  std::vector<std::string> keys;
  for (const auto& [key, position] : options.unread()) keys.push_back(key + " " + position.text());
  EXPECT_THAT(keys, ElementsAre("block run.toml:16:9", "fast run.toml:14:9", "names run.toml:18:9",
                                "path run.toml:13:9", "via.depth run.toml:15:9", "wait run.toml:17:9"));
}

TEST(Options, TableThatNobodyOpenedIsUnreadAsOne) {
  std::vector<std::string> keys;
  for (const auto& [key, position] : sample().unread()) keys.push_back(key);
  EXPECT_THAT(keys, testing::Contains("via"));
  EXPECT_THAT(keys, testing::Not(testing::Contains("via.depth")));
}

TEST(Options, CopiesRememberTogether) {
  const Options options({{"a", value(true, 11)}}, "", kHeader);
  const Options copy = options;  // NOLINT(performance-unnecessary-copy-initialization): the copy is the test
  (void)copy.get<bool>("a", false);
  EXPECT_THAT(options.unread(), IsEmpty());
}

TEST(Options, ErrorAtAKeyPointsAtItsValueOrAtTheTable) {
  const Options options = sample();
  EXPECT_THAT(options.error_at("scale", "too steep").what(), StrEq("run.toml:12:9: too steep"));
  EXPECT_THAT(options.error_at("absent", "is needed").what(), StrEq("run.toml:10:1: is needed"));
}

TEST(OptionsRecorder, EveryReadSucceedsAndIsDescribed) {
  const Options options = Options::recorder();
  EXPECT_EQ(options.get<std::int16_t>("offset", 3, "subtracted from each sample"), 3);
  EXPECT_EQ(options.require<std::string>("genome", "FASTA"), "");
  EXPECT_EQ(options.table("via").get<Bytes>("block", {4ULL << 20U}).count, 4ULL << 20U);

  const auto described = options.described();
  ASSERT_EQ(described.size(), 3U);
  EXPECT_EQ(described[0].key, "offset");
  EXPECT_EQ(described[0].type, "integer");
  EXPECT_EQ(described[0].fallback, "3");
  EXPECT_FALSE(described[0].required);
  EXPECT_EQ(described[0].help, "subtracted from each sample");
  EXPECT_EQ(described[1].key, "genome");
  EXPECT_EQ(described[1].type, "text");
  EXPECT_EQ(described[1].fallback, "");
  EXPECT_TRUE(described[1].required);
  EXPECT_EQ(described[2].key, "via.block");
  EXPECT_EQ(described[2].type, "size");
  EXPECT_EQ(described[2].fallback, "\"4 MiB\"");
}

TEST(OptionsRecorder, DefaultsAreSpelledAsInAConfig) {
  const Options options = Options::recorder();
  (void)options.get<bool>("b", true);
  (void)options.get<double>("whole", 2);
  (void)options.get<double>("part", 0.25);
  (void)options.get<double>("tiny", 1e-9);
  (void)options.get<float>("single", 1.4F);
  (void)options.get<std::string>("s", "x");
  (void)options.get<Duration>("d", std::chrono::seconds(10));
  (void)options.get<std::filesystem::path>("p", "/x");
  (void)options.get<std::vector<std::string>>("l", {"a", "b"});
  (void)options.get<std::vector<std::filesystem::path>>("e", {});
  std::vector<std::string> spelled;
  for (const auto& option : options.described()) spelled.push_back(option.type + " " + option.fallback);
  EXPECT_THAT(spelled,
              ElementsAre("boolean true", "number 2.0", "number 0.25", "number 1e-09", "number 1.4", "text \"x\"",
                          "duration \"10 s\"", "path \"/x\"", "list of text [\"a\", \"b\"]", "list of paths []"));
}

TEST(OptionsRecorder, KeyThatIsReadTwiceIsDescribedOnce) {
  const Options options = Options::recorder();
  (void)options.get<int>("n", 1, "first");
  (void)options.get<int>("n", 2, "second");
  ASSERT_EQ(options.described().size(), 1U);
  EXPECT_EQ(options.described()[0].help, "first");
}

}  // namespace
}  // namespace millrace
