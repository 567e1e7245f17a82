#include "io/input_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/core/error.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"
#include "tests/support/unprivileged.h"

namespace millrace::io {
namespace {

using test::error_of;
using test::TempDirectory;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_of(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::string> names;
  for (const auto& path : paths) names.push_back(path.filename().string());
  return names;
}

TEST(NaturalLess, OrdersAsPeopleCount) {
  const std::vector<std::string> ordered{"",
                                         "a",
                                         "a0",
                                         "a00",
                                         "a01",
                                         "a1",
                                         "a1b",
                                         "a2",
                                         "a10",
                                         "a10b2",
                                         "a10b10",
                                         "a99999999999999999999999",
                                         "a100000000000000000000000",
                                         "b",
                                         "ä"};
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    for (std::size_t j = 0; j < ordered.size(); ++j) {
      // "a00" and "a0" are one number: text decides.
      EXPECT_EQ(natural_less(ordered[i], ordered[j]), i < j) << ordered[i] << " < " << ordered[j];
    }
  }
}

TEST(FindInputFiles, AFileIsItself) {
  const TempDirectory directory;
  const auto file = directory.write("with space ä 名.bin", "x");
  EXPECT_THAT(find_input_files({file}), ElementsAre(file));
}

TEST(FindInputFiles, ADirectoryGivesItsFilesInNaturalOrder) {
  const TempDirectory directory;
  for (const auto* const name : {"r10.raw", "r9.raw", "r1.raw", ".hidden.raw", "notes.txt", "sub/r0.raw"}) {
    directory.write(name, "x");
  }
  std::filesystem::create_symlink("nowhere", directory / "dangling.raw");
  EXPECT_THAT(names_of(find_input_files({directory.path()}, ".raw")), ElementsAre("r1.raw", "r9.raw", "r10.raw"));
  EXPECT_THAT(names_of(find_input_files({directory.path()})), ElementsAre("notes.txt", "r1.raw", "r9.raw", "r10.raw"));
}

TEST(FindInputFiles, APatternGivesWhatMatchesInNaturalOrder) {
  const TempDirectory directory;
  for (const auto* const name : {"r10.raw", "r9.raw", "s1.raw"}) directory.write(name, "x");
  EXPECT_THAT(names_of(find_input_files({directory / "r*.raw"})), ElementsAre("r9.raw", "r10.raw"));
  EXPECT_THAT(names_of(find_input_files({directory / "[rs]?.raw"})), ElementsAre("r9.raw", "s1.raw"));
}

TEST(FindInputFiles, AFileWhoseNameLooksLikeAPatternIsThatFile) {
  const TempDirectory directory;
  directory.write("a1", "x");
  const auto odd = directory.write("a[1]", "x");
  EXPECT_THAT(find_input_files({odd}), ElementsAre(odd));
}

TEST(FindInputFiles, AListKeepsItsOrder) {
  const TempDirectory directory;
  const auto b = directory.write("b", "x");
  const auto a = directory.write("a", "x");
  directory.write("more/2", "x");
  directory.write("more/1", "x");
  EXPECT_THAT(names_of(find_input_files({b, directory / "more", a})), ElementsAre("b", "1", "2", "a"));
}

TEST(FindInputFiles, NamesWhatIsNotThere) {
  const TempDirectory directory;
  std::filesystem::create_directory(directory / "empty");
  const std::vector<std::pair<std::filesystem::path, std::string>> cases{
      {directory / "missing", "there is no such file"},
      {directory / "*.raw", "no file matches the pattern"},
      {directory / "missing" / "*.raw", "no file matches the pattern"},
      {directory / "empty", "the directory has no files that end in '.raw'"},
      {"", "there is no such file"},
  };
  for (const auto& [path, reason] : cases) {
    const auto error = error_of([&path = path] { find_input_files({path}, ".raw"); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), HasSubstr(reason));
    EXPECT_EQ(error->path(), path);
  }
  EXPECT_EQ(error_of([] { find_input_files({}); })->kind(), ErrorKind::config);
}

TEST(FindInputFiles, NamesADirectoryThatMayNotBeListed) {
  const TempDirectory directory;
  directory.write("secret/a", "x");
  std::filesystem::permissions(directory.path(), std::filesystem::perms::all);
  std::filesystem::permissions(directory / "secret", std::filesystem::perms::none);
  {
    const test::Unprivileged rights;
    if (!rights.dropped()) GTEST_SKIP() << "root cannot drop its rights here, and root lists everything";
    EXPECT_THAT(error_of([&] { find_input_files({directory / "secret"}); })->message(), HasSubstr("Permission denied"));
    EXPECT_THAT(error_of([&] { find_input_files({directory / "secret" / "a"}); })->message(),
                HasSubstr("Permission denied"));
  }
  std::filesystem::permissions(directory / "secret", std::filesystem::perms::owner_all);
}

TEST(InputFiles, TakesAsManyFilesInOneGoAsFitIntoMemory) {
  const test::TempDirectory directory;
  std::vector<std::filesystem::path> files;
  for (int i = 0; i < 100; ++i) files.push_back(directory.write("small" + std::to_string(i), "x"));
  EXPECT_EQ(files_in_one_go(files).size(), 64U);
  EXPECT_EQ(files_in_one_go(std::span(files).first(3)).size(), 3U);
  EXPECT_TRUE(files_in_one_go({}).empty());
  for (int i = 0; i < 3; ++i) std::filesystem::resize_file(files[static_cast<std::size_t>(i)], 200 << 20);
  EXPECT_EQ(files_in_one_go(files).size(), 2U) << "the second reaches the bound";
  std::filesystem::resize_file(files[0], std::uintmax_t{1} << 40);
  EXPECT_EQ(files_in_one_go(files).size(), 1U) << "at least one";
}

}  // namespace
}  // namespace millrace::io
