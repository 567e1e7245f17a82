#include "apps/pore_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "pipeline/core/error.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::TempDirectory;

/// All 3-mers in order, the level of number i being 60 + i; `row` may change a line.
template <typename Change>
std::string table(const Change& change) {
  std::string text = "kmer\tlevel_mean\tlevel_stdv\textra\n";
  for (int i = 0; i < 64; ++i) {
    std::string line;
    for (const int digit : {i / 16, i / 4 % 4, i % 4}) line += "ACGT"[digit];
    line += "\t" + std::to_string(60 + i) + ".5\t1.25\tx\n";
    text += change(i, line);
  }
  return text;
}

std::string same(int /*row*/, const std::string& line) { return line; }

TEST(PoreModel, ReadsATableByItsColumns) {
  const TempDirectory directory;
  const PoreModel model = read_pore_model(directory.write("model", table(same)));
  EXPECT_EQ(model.k, 3U);
  ASSERT_EQ(model.levels.size(), 64U);
  EXPECT_EQ(model.levels[0].mean_pa, 60.5);
  EXPECT_EQ(model.levels[27].mean_pa, 87.5) << "CGT";
  EXPECT_EQ(model.levels[27].stdv_pa, 1.25);
}

TEST(PoreModel, RefusesTablesThatAreNotWhole) {
  const TempDirectory directory;
  const std::pair<const char*, std::string> cases[] = {
      {"missing row", table([](int row, const std::string& line) { return row == 5 ? "" : line; })},
      {"row twice", table([](int row, const std::string& line) { return row == 5 ? line + line : line; })},
      {"other letters", table([](int row, const std::string& line) { return row == 5 ? "ANA\t1\t1\tx\n" : line; })},
      {"other k", table([](int row, const std::string& line) { return row == 5 ? "ACGT\t1\t1\tx\n" : line; })},
      {"no number", table([](int row, const std::string& line) { return row == 5 ? "ACC\tmuch\t1\tx\n" : line; })},
      {"not finite", table([](int row, const std::string& line) { return row == 5 ? "ACC\tnan\t1\tx\n" : line; })},
      {"negative spread", table([](int row, const std::string& line) { return row == 5 ? "ACC\t1\t-1\tx\n" : line; })},
      {"short row", table([](int row, const std::string& line) { return row == 5 ? "ACC\t1\n" : line; })},
      {"no header", table(same).substr(table(same).find('\n') + 1)},
      {"no spread", "AAA\t0.9\n"},
      {"empty", ""},
  };
  for (const auto& [what, text] : cases) {
    const auto path = directory.write("model", text);
    const auto error = test::error_of([&] { read_pore_model(path); });
    ASSERT_TRUE(error) << what;
    EXPECT_EQ(error->path(), path) << what;
  }
  EXPECT_THROW(read_pore_model(directory / "absent"), Error);
}

TEST(PoreModel, TheSyntheticTableHasTheSpreadOfARealOne) {
  const PoreModel model = synthetic_pore_model();
  EXPECT_EQ(model.k, 6U);
  ASSERT_EQ(model.levels.size(), 4096U);
  double sum = 0;
  double squares = 0;
  for (const auto& level : model.levels) {
    sum += level.mean_pa;
    squares += level.mean_pa * level.mean_pa;
    EXPECT_GE(level.stdv_pa, 1.3);
    EXPECT_LE(level.stdv_pa, 3.0);
  }
  const double mean = sum / 4096;
  EXPECT_NEAR(mean, 90.2, 1.0);
  EXPECT_NEAR(std::sqrt(squares / 4096 - mean * mean), 12.9, 1.0);
}

TEST(PoreModel, ReadsTheTableOfTheManufacturer) {
  const auto file = test::test_data() / "pore_models" / "r9.4_180mv_450bps_6mer_template.model";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no " << file;
  const PoreModel model = read_pore_model(file);
  EXPECT_EQ(model.k, 6U);
  EXPECT_EQ(model.levels[0].mean_pa, 86.486336);
  EXPECT_EQ(model.levels[1].mean_pa, 83.948838);
}

}  // namespace
}  // namespace millrace
