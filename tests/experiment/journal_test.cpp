#include "pipeline/experiment/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/core/error.h"
#include "pipeline/experiment/comparison_run_json.h"
#include "tests/experiment/comparison_fixture.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::contents_of;
using test::small_comparison;
using testing::HasSubstr;

const ExperimentIdentity kIdentity{{"the config", "1234"}, {"the seed", "1"}};

class JournalOf : public testing::Test {
 protected:
  /// A journal with `runs` runs.
  void keep(std::size_t runs) const {
    Journal journal(path(), kIdentity);
    for (std::size_t i = 0; i < runs; ++i) journal.add(i % 4, report_.arms[i % 4].runs[i / 4]);
  }
  std::string refusal(const ExperimentIdentity& identity = kIdentity) const {
    try {
      const Journal journal(path(), identity);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::config);
      return error.what();
    }
    return "";
  }
  std::filesystem::path path() const { return directory_ / "j"; }

  test::TempDirectory directory_;
  ComparisonReport report_ = small_comparison();
};

TEST_F(JournalOf, ANewExperimentIsEmpty) { EXPECT_TRUE(Journal(path(), kIdentity).kept().empty()); }

TEST_F(JournalOf, AnExperimentThatWasLeftKeepsItsRuns) {
  keep(7);
  const Journal journal(path(), kIdentity);
  ASSERT_EQ(journal.kept().size(), 7U);
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(journal.kept()[i].arm, i % 4);
    EXPECT_EQ(run_json(journal.kept()[i].run), run_json(report_.arms[i % 4].runs[i / 4])) << i;
  }
}

TEST_F(JournalOf, AnExperimentThatWasKilledLosesOnlyTheTornLine) {
  keep(3);
  const std::string whole = contents_of(path());
  const std::size_t last = whole.rfind('\n', whole.size() - 2) + 1;
  for (const std::size_t end : {last + 1, last + 40, whole.size() - 1}) {
    directory_.write("j", whole.substr(0, end));
    Journal journal(path(), kIdentity);
    EXPECT_EQ(journal.kept().size(), 2U) << end;
    journal.add(2, report_.arms[2].runs[0]);
    EXPECT_EQ(contents_of(path()), whole) << "the rest goes where the torn line was";
  }
}

TEST_F(JournalOf, AnExperimentWhoseFirstLineWasTornBeginsAgain) {
  keep(0);
  const std::string header = contents_of(path());
  for (const std::size_t end : {std::size_t{0}, std::size_t{1}, std::size_t{5}, header.size() - 1}) {
    directory_.write("j", header.substr(0, end));
    EXPECT_TRUE(Journal(path(), kIdentity).kept().empty());
    EXPECT_EQ(contents_of(path()), header);
  }
}

TEST_F(JournalOf, AnotherExperimentIsRefusedWithTheDifference) {
  keep(1);
  EXPECT_THAT(refusal({{"the config", "1234"}, {"the seed", "2"}}),
              HasSubstr("is the journal of another experiment: the seed was 1 and is 2"));
  EXPECT_THAT(refusal({{"the config", "1234"}}), HasSubstr("it has 'the seed' besides"));
  EXPECT_THAT(refusal({{"the config", "1234"}, {"the seed", "1"}, {"x", "1"}}), HasSubstr("it knows no 'x'"));
  EXPECT_EQ(refusal(), "");
}

TEST_F(JournalOf, SomethingElseIsRefusedAndNotTouched) {
  for (const char* const text : {"hello", "hello\n", "{}\n", "[]\n", "{\"schema\":\"millrace.run/1\"}\n", "\n"}) {
    directory_.write("j", text);
    EXPECT_THAT(refusal(), HasSubstr("is no journal of compare")) << text;
    EXPECT_EQ(contents_of(path()), text);
  }
}

TEST_F(JournalOf, AnExperimentWithADamagedLineIsRefusedWithItsNumber) {
  keep(2);
  const std::string whole = contents_of(path());
  for (const char* const line : {"\n", "{}\n", "{\"arm\":0}\n", "{\"arm\":9999,\"run\":{}}\n", "nonsense\n"}) {
    directory_.write("j", whole + line);
    EXPECT_THAT(refusal(), HasSubstr("line 4 is damaged")) << line;
  }
}

TEST_F(JournalOf, AnExperimentBelongsToOneProcessAtATime) {
  const Journal journal(path(), kIdentity);
  EXPECT_THAT(refusal(), HasSubstr("another process writes this journal"));
}

TEST_F(JournalOf, AnExperimentThatIsOverIsGone) {
  Journal journal(path(), kIdentity);
  journal.remove();
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(JournalOf, APlaceThatIsNotThereIsTold) {
  EXPECT_THROW(Journal(directory_ / "no/where", kIdentity), Error);
  EXPECT_THROW(Journal(directory_.path(), kIdentity), Error);
}

}  // namespace
}  // namespace millrace
