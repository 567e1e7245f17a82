#include "apps/pore_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <string_view>

#include "apps/normal_table.h"
#include "pipeline/core/error.h"
#include "stages/counter_random.h"

namespace millrace {
namespace {

constexpr unsigned kMinK = 3;
constexpr unsigned kMaxK = 10;
constexpr unsigned kSyntheticK = 6;
constexpr std::uint64_t kSyntheticSeed = 94;
constexpr double kMeanPa = 90.2;
constexpr double kSpreadPa = 12.9;
constexpr double kMaxSpreads = 2.4;
constexpr double kMinStdvPa = 1.3;
constexpr double kMaxStdvPa = 3.0;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (;;) {
    const auto begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const auto end = line.find_first_of(" \t\r");
    words.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return words;
    line.remove_prefix(end);
  }
}

struct Columns {
  std::size_t kmer = 0;
  std::size_t mean = 0;
  std::size_t stdv = 0;
};

Columns columns_of(std::string_view header) {
  const auto words = words_of(header);
  const auto column = [&words](std::string_view name) {
    const auto found = std::find(words.begin(), words.end(), name);
    if (found == words.end()) throw Error(fmt::format("a pore model needs a header line with a column '{}'", name));
    return static_cast<std::size_t>(found - words.begin());
  };
  return {column("kmer"), column("level_mean"), column("level_stdv")};
}

std::optional<std::size_t> index_of(std::string_view kmer) {
  std::size_t index = 0;
  for (const char base : kmer) {
    const auto digit = std::string_view("ACGT").find(base);
    if (digit == std::string_view::npos) return std::nullopt;
    index = 4 * index + digit;
  }
  return index;
}

double number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    throw Error(fmt::format("'{}' is not a number", text));
  }
  return value;
}

/// Adds one row; `present` marks the k-mers that came.
void add_row(std::string_view line, const Columns& columns, PoreModel& model, std::vector<bool>& present) {
  const auto words = words_of(line);
  if (words.empty() || line.starts_with('#')) return;
  if (words.size() <= std::max({columns.kmer, columns.mean, columns.stdv})) throw Error("a row has too few columns");
  const std::string_view kmer = words[columns.kmer];
  if (model.k == 0) {
    if (kmer.size() < kMinK || kmer.size() > kMaxK) throw Error(fmt::format("k-mers of {} bases", kmer.size()));
    model.k = static_cast<unsigned>(kmer.size());
    model.levels.resize(std::size_t{1} << (2 * model.k));
    present.resize(model.levels.size());
  }
  const auto index = index_of(kmer);
  if (kmer.size() != model.k || !index) throw Error(fmt::format("'{}' is no {}-mer of A, C, G and T", kmer, model.k));
  if (present[*index]) throw Error(fmt::format("{} comes twice", kmer));
  const PoreModel::Level level{number_of(words[columns.mean]), number_of(words[columns.stdv])};
  if (std::abs(level.mean_pa) > 1000 || level.stdv_pa < 0 || level.stdv_pa > 1000) {
    throw Error(fmt::format("the level of {} is no current in pA", kmer));
  }
  model.levels[*index] = level;
  present[*index] = true;
}

}  // namespace

PoreModel read_pore_model(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw Error("cannot open the pore model").at_path(file);
  PoreModel model;
  model.name = file.string();
  std::vector<bool> present;
  std::uint64_t offset = 0;
  std::string line;
  try {
    if (!std::getline(in, line)) throw Error("a pore model needs a header line");
    const Columns columns = columns_of(line);
    for (offset += line.size() + 1; std::getline(in, line); offset += line.size() + 1) {
      add_row(line, columns, model, present);
    }
  } catch (Error& error) {
    throw error.at_path(file).at_offset(offset);
  }
  if (in.bad()) throw Error("cannot read the pore model").at_path(file);
  const auto rows = static_cast<std::size_t>(std::count(present.begin(), present.end(), true));
  if (model.k == 0 || rows != model.levels.size()) {
    throw Error(fmt::format("a pore model of {}-mers has {} rows; {} needed", model.k, rows, model.levels.size()))
        .at_path(file);
  }
  return model;
}

PoreModel synthetic_pore_model() {
  const NormalTable normal;
  PoreModel model{kSyntheticK, {}, "synthetic 6-mer table"};
  for (std::uint64_t kmer = 0; kmer < (std::uint64_t{1} << (2 * kSyntheticK)); ++kmer) {
    const std::uint64_t random = counter_random(kSyntheticSeed, 0, kmer);
    const double spreads = std::clamp(normal.number(random), -kMaxSpreads, kMaxSpreads);
    const double share = static_cast<double>((random >> 16) & 0xffffU) / 65535;
    model.levels.push_back({kMeanPa + kSpreadPa * spreads, kMinStdvPa + (kMaxStdvPa - kMinStdvPa) * share});
  }
  return model;
}

}  // namespace millrace
