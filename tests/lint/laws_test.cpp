// The laws of the house that can be read off the text.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/lint/source_tree.h"

namespace millrace::lint {
namespace {

using testing::IsEmpty;

template <typename Predicate>
std::vector<SourceFile> files_where(Predicate keep) {
  std::vector<SourceFile> result;
  std::copy_if(cpp_files().begin(), cpp_files().end(), std::back_inserter(result), keep);
  return result;
}

bool is_library(const SourceFile& file) {
  const std::string room = file.room();
  return room.starts_with("pipeline") || room == "io" || room == "stages";
}

TEST(Laws, OnlyAppsPrint) {
  EXPECT_THAT(places_with(files_where(is_library), {"printf", "fprintf", "puts", "fputs", "perror", "fmt::print",
                                                    "std::cout", "std::cerr", "std::clog", "<iostream>"}),
              IsEmpty());
}

TEST(Laws, HeadersBeginWithPragmaOnce) {
  for (const auto& file : cpp_files()) {
    if (!file.is_header()) continue;
    EXPECT_EQ(file.lines.empty() ? "" : file.lines.front(), "#pragma once") << file.path;
  }
}

TEST(Laws, NothingIsLeftUnfinished) {
  // Spelled in halves, or this file would be among the findings.
  const std::vector<std::string> words = {std::string("TO") + "DO", std::string("FIX") + "ME",
                                          std::string("DIS") + "ABLED_"};
  std::vector<std::string> wrong;
  for (const auto& file : files_ending_in({".h", ".cpp", ".sh", ".txt", ".cmake", ".toml", ".md", ".json", "run"})) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      for (const auto& word : words) {
        if (file.lines[i].find(word) != std::string::npos) wrong.push_back(place(file, i));
      }
    }
  }
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(Laws, TestsDoNotSleep) {
  const auto tests = files_where([](const SourceFile& file) { return file.room() == "tests"; });
  EXPECT_THAT(
      places_with(tests, {"sleep_for", "this_thread::sleep_until", "usleep", "nanosleep", "clock_nanosleep", "sleep("}),
      IsEmpty());
}

TEST(Laws, ASkippedTestSaysWhy) {
  EXPECT_THAT(
      places_with(files_where([](const SourceFile& file) { return file.room() == "tests"; }), {"GTEST_SKIP();"}),
      IsEmpty());
}

TEST(Laws, NoFriendsAndNoDetailNamespaces) {
  EXPECT_THAT(places_with(cpp_files(), {"friend", "namespace detail", "namespace internal"}), IsEmpty());
}

TEST(Laws, NamesSayWhatAThingDoes) {
  const std::vector<std::string> vague = {"util", "helper", "common", "manager", "misc"};
  std::vector<std::string> wrong;
  for (const auto& file : cpp_files()) {
    std::string name = file.path.substr(file.path.rfind('/') + 1);
    if (std::any_of(vague.begin(), vague.end(),
                    [&](const auto& word) { return name.find(word) != std::string::npos; })) {
      wrong.push_back(file.path);
    }
  }
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(CodeOf, TakesOutCommentsAndTheContentsOfLiterals) {
  EXPECT_EQ(code_of("a(); // printf"), "a(); ");
  EXPECT_EQ(code_of(R"(f("printf // \" x", b);)"), R"(f("", b);)");
  EXPECT_EQ(code_of(R"(c == '"' || d)"), R"(c == '"' || d)");
}

TEST(PlacesWith, FindsWholeWordsOnly) {
  const std::vector<SourceFile> files = {
      {"a.cpp", {"snprintf(x);", "printf(x);", "// printf", "std::coutx", "f(std::cout)"}}};
  EXPECT_EQ(places_with(files, {"printf", "std::cout"}).size(), 2U);
}

TEST(IncludedBy, KeepsTheBrackets) {
  EXPECT_EQ(included_by("#include <vector>  // why"), "<vector>");
  EXPECT_EQ(included_by("#include \"io/reader.h\""), "\"io/reader.h\"");
  EXPECT_EQ(included_by("// #include <vector>"), "");
}

}  // namespace
}  // namespace millrace::lint
