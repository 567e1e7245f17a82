#include "stages/pore_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <istream>
#include <optional>
#include <string_view>

#include "pipeline/core/error.h"
#include "stages/counter_random.h"
#include "stages/normal_table.h"

namespace millrace {
namespace {

constexpr unsigned kSyntheticK = 6;
constexpr std::uint64_t kSyntheticSeed = 94;
constexpr double kMeanPa = 90.2;
constexpr double kSpreadPa = 12.9;
constexpr double kMeanStdvPa = 2.2;
constexpr double kMaxSpreads = 2.4;
constexpr double kMinStdvPa = 1.3;
constexpr double kMaxStdvPa = 3.0;
/// Of a level without unit; the tables of the manufacturer stay within 4.
constexpr double kMaxLevel = 20;
constexpr std::size_t kMaxLine = 4096;

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

/// Where a row has what.
struct Columns {
  std::size_t kmer = 0;
  std::size_t mean = 1;
  std::optional<std::size_t> stdv;  // absent: levels without unit
};

std::optional<std::size_t> index_of(std::string_view kmer) {
  std::size_t index = 0;
  for (const char base : kmer) {
    const auto digit = std::string_view("ACGT").find(base == 'U' ? 'T' : base);
    if (digit == std::string_view::npos) return std::nullopt;
    index = 4 * index + digit;
  }
  return index;
}

/// Text of a file in a message: its beginning, and '?' for what is no letter, digit or sign.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 32;
  std::string result(text.substr(0, kMost));
  std::replace_if(
      result.begin(), result.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

double number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    throw Error(fmt::format("'{}' is not a number", shown(text)));
  }
  return value;
}

/// What the first line says; nothing when it is a row already, of a table without a header.
std::optional<Columns> columns_of(std::string_view line) {
  const auto words = words_of(line);
  const auto column = [&words](std::string_view name) {
    return static_cast<std::size_t>(std::find(words.begin(), words.end(), name) - words.begin());
  };
  const Columns columns{column("kmer"), column("level_mean"), column("level_stdv")};
  const std::size_t none = words.size();
  if (columns.kmer != none && columns.mean != none && columns.stdv != none) return columns;
  if (words.size() == 2 && index_of(words[0])) return std::nullopt;
  throw Error(
      "is no pore model: it needs a header line with the columns kmer, level_mean and level_stdv, or rows of "
      "a k-mer and its level");
}

PoreModel::Level level_of(const std::vector<std::string_view>& words, const Columns& columns) {
  const std::string_view kmer = words[columns.kmer];
  const double mean = number_of(words[columns.mean]);
  if (!columns.stdv) {
    if (std::abs(mean) > kMaxLevel) throw Error(fmt::format("the level of {} is not one about 0 with spread 1", kmer));
    return {kMeanPa + kSpreadPa * mean, kMeanStdvPa};
  }
  const PoreModel::Level level{mean, number_of(words[*columns.stdv])};
  if (std::abs(level.mean_pa) > 1000 || level.stdv_pa < 0 || level.stdv_pa > 1000) {
    throw Error(fmt::format("the level of {} is no current in pA", kmer));
  }
  return level;
}

/// Adds one row; `present` marks the k-mers that came.
void add_row(std::string_view line, const Columns& columns, PoreModel& model, std::vector<bool>& present) {
  const auto words = words_of(line);
  if (words.size() <= std::max({columns.kmer, columns.mean, columns.stdv.value_or(0)})) {
    throw Error("a row has too few columns");
  }
  const std::string_view kmer = words[columns.kmer];
  if (model.k == 0) {
    if (kmer.size() < PoreModel::kMinK || kmer.size() > PoreModel::kMaxK) {
      throw Error(
          fmt::format("k-mers of {} bases; {} to {} can be read", kmer.size(), PoreModel::kMinK, PoreModel::kMaxK));
    }
    model.k = static_cast<unsigned>(kmer.size());
    model.levels.resize(std::size_t{1} << (2 * model.k));
    present.resize(model.levels.size());
  }
  const auto index = index_of(kmer);
  if (kmer.size() != model.k || !index) {
    throw Error(fmt::format("'{}' is no {}-mer of A, C, G and T", shown(kmer), model.k));
  }
  if (present[*index]) throw Error(fmt::format("{} comes twice", kmer));
  model.levels[*index] = level_of(words, columns);
  present[*index] = true;
}

/// The next line without its end; false at the end of the stream. Reads no more of a long line than is needed to refuse
/// it.
bool next_line(std::istream& in, std::string& line) {
  line.clear();
  for (int next = in.get(); next != std::istream::traits_type::eof(); next = in.get()) {
    if (next == '\n') return true;
    if (line.size() == kMaxLine) throw Error(fmt::format("a line of more than {} characters", kMaxLine));
    line.push_back(static_cast<char>(next));
  }
  return !line.empty();
}

void refuse_packed(std::istream& in) {
  const int first = in.peek();
  if (first == 0x1f) throw Error("the pore model is packed (gzip); unpack it first");
  if (first == 'P') throw Error("the pore model is packed (zip, npz); a table as text is needed");
}

void read_rows(std::istream& in, PoreModel& model, std::uint64_t& offset) {
  refuse_packed(in);
  std::optional<Columns> columns;
  std::vector<bool> present;
  std::string line;
  while (next_line(in, line)) {
    if (!line.starts_with('#') && !words_of(line).empty()) {
      const bool first = !columns;
      if (first) columns = columns_of(line);
      if (!first || !columns) {
        if (!columns) columns.emplace();
        add_row(line, *columns, model, present);
      }
    }
    offset += line.size() + 1;
  }
  if (in.bad()) throw Error("cannot read the pore model");
  const auto rows = static_cast<std::size_t>(std::count(present.begin(), present.end(), true));
  if (model.k == 0) throw Error("the pore model has no rows");
  if (rows != model.levels.size()) {
    throw Error(fmt::format("a pore model of {}-mers has {} rows; {} needed", model.k, rows, model.levels.size()));
  }
}

}  // namespace

PoreModel read_pore_model(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error("cannot open the pore model").at_path(file);
  try {
    PoreModel model = parse_pore_model(in);
    model.name = file.string();
    return model;
  } catch (Error& error) {
    throw error.at_path(file);
  }
}

PoreModel parse_pore_model(std::istream& in) {
  PoreModel model;
  std::uint64_t offset = 0;
  try {
    read_rows(in, model, offset);
  } catch (Error& error) {
    throw error.at_offset(offset);
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
