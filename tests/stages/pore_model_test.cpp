#include "stages/pore_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>

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
      {"huge level without unit", "AAA\t90.2\n"},
      {"k too large", "kmer level_mean level_stdv\n" + std::string(11, 'A') + " 1 1\n"},
      {"k huge", "kmer level_mean level_stdv\n" + std::string(4000, 'A') + " 1 1\n"},
      {"endless line", "kmer level_mean level_stdv\n" + std::string(1'000'000, 'A')},
      {"only comments", "# a\n#b\n"},
      {"only a header", "kmer level_mean level_stdv\n"},
      {"packed", "\x1f\x8b\x08"},
      {"archive", "PK\x03\x04"},
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

/// All 3-mers with levels from -1.575 to 1.575, as levels_v1 has them.
std::string levels_v1(std::string_view letters = "ACGT") {
  std::string text;
  for (int i = 0; i < 64; ++i) {
    for (const int digit : {i / 16, i / 4 % 4, i % 4}) text += letters[static_cast<std::size_t>(digit)];
    text += "\t" + std::to_string(0.05 * (i - 31.5)) + "\n";
  }
  return text;
}

TEST(PoreModel, GivesLevelsWithoutUnitTheScaleOfACurrent) {
  const TempDirectory directory;
  for (const char* const letters : {"ACGT", "ACGU"}) {
    const PoreModel model = read_pore_model(directory.write("model", levels_v1(letters)));
    ASSERT_EQ(model.levels.size(), 64U);
    EXPECT_NEAR(model.levels[0].mean_pa, 90.2 - 1.575 * 12.9, 1e-9);
    EXPECT_NEAR(model.levels[63].mean_pa, 90.2 + 1.575 * 12.9, 1e-9);
    EXPECT_EQ(model.levels[7].stdv_pa, 2.2);
  }
}

TEST(PoreModel, SkipsComments) {
  const TempDirectory directory;
  const PoreModel model = read_pore_model(directory.write("model", "#model_name\tx\n#type\tbase\n\n" + table(same)));
  EXPECT_EQ(model.levels[27].mean_pa, 87.5);
}

TEST(PoreModel, SaysWhereATableIsWrong) {
  const TempDirectory directory;
  const auto path = directory.write("model", "kmer level_mean level_stdv\nAAA 1 2\nAAC 1 x\x01y\n");
  const auto error = test::error_of([&] { read_pore_model(path); });
  EXPECT_STREQ(error->what(), (path.string() + ", offset 35: 'x?y' is not a number").c_str());
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

TEST(PoreModel, ReadsOrRefusesEveryPublicTable) {
  const auto directory = test::test_data() / "pore_models";
  if (!std::filesystem::exists(directory)) GTEST_SKIP() << "no " << directory;
  const PoreModel rna = read_pore_model(directory / "r9.4_200mv_70bps_5mer_RNA_template.model");
  EXPECT_EQ(rna.k, 5U);
  EXPECT_EQ(rna.levels[1].mean_pa, 97.538095);
  const PoreModel levels = read_pore_model(directory / "rna_r9.4_180mv_70bps_5mer_levels_v1.txt");
  EXPECT_EQ(levels.k, 5U);
  EXPECT_NEAR(levels.levels[0].mean_pa, 90.2 + 12.9 * 0.9087151885032654, 1e-9);
  for (const char* const refused : {"rna004_9mer_levels_v1.txt.gz", "uncalled4_dna_r9.4.1_400bps_6mer.npz",
                                    "kmer_models_COPYRIGHT", "kmer_models_LICENSE.md"}) {
    const auto error = test::error_of([&] { read_pore_model(directory / refused); });
    EXPECT_EQ(std::string(error->what()).find('\n'), std::string::npos) << refused;
  }
}

}  // namespace
}  // namespace millrace
