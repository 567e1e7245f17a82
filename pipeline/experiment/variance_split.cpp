#include "pipeline/experiment/variance_split.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "pipeline/core/error.h"

namespace millrace {
namespace {

constexpr std::size_t kAaArm = 1;

/// Log rates of one host: [block][setting], complete.
using Table = std::vector<std::vector<double>>;

struct Mean {
  double sum = 0;
  double count = 0;

  void add(double value) {
    sum += value;
    ++count;
  }
  double value() const { return count > 0 ? sum / count : 0; }
};

double square(double value) { return value * value; }

bool is_complete(const RatesByBlock& rates, std::size_t block) {
  for (std::size_t arm = 0; arm < rates.size(); ++arm)
    if (arm != kAaArm && !rates[arm][block]) return false;
  return true;
}

Table complete_blocks(const HostRates& host) {
  Table table;
  for (std::size_t block = 0; block < host.rates[0].size(); ++block) {
    if (!is_complete(host.rates, block)) continue;
    table.emplace_back();
    for (std::size_t arm = 0; arm < host.rates.size(); ++arm)
      if (arm != kAaArm) table.back().push_back(std::log(*host.rates[arm][block]));
  }
  if (table.empty()) throw Error("host " + host.host + " has no repeat in which every arm has a rate");
  return table;
}

std::vector<double> means_of_settings(const Table& table) {
  std::vector<Mean> means(table[0].size());
  for (const auto& block : table)
    for (std::size_t setting = 0; setting < block.size(); ++setting) means[setting].add(block[setting]);
  std::vector<double> result;
  for (const Mean& mean : means) result.push_back(mean.value());
  return result;
}

double mean_of(const std::vector<double>& values) {
  Mean mean;
  for (const double value : values) mean.add(value);
  return mean.value();
}

Table all_blocks(const std::vector<Table>& hosts) {
  Table all;
  for (const Table& host : hosts) all.insert(all.end(), host.begin(), host.end());
  return all;
}

void add_host(VarianceSplit& split, const Table& host, const std::vector<double>& setting_means, double grand) {
  const std::vector<double> own_settings = means_of_settings(host);
  const double own = mean_of(own_settings);
  const auto settings = static_cast<double>(own_settings.size());
  const auto blocks = static_cast<double>(host.size());
  split.machine.sum_of_squares += settings * blocks * square(own - grand);
  for (std::size_t i = 0; i < own_settings.size(); ++i)
    split.machine_by_setting.sum_of_squares += blocks * square(own_settings[i] - own - setting_means[i] + grand);
  for (const auto& block : host) {
    const double level = mean_of(block);
    split.block.sum_of_squares += settings * square(level - own);
    for (std::size_t i = 0; i < block.size(); ++i) {
      split.rest.sum_of_squares += square(block[i] - level - own_settings[i] + own);
      split.total.sum_of_squares += square(block[i] - grand);
    }
  }
}

}  // namespace

VarianceSplit split_variance(const std::vector<HostRates>& hosts) {
  VarianceSplit split;
  std::vector<Table> tables;
  for (const HostRates& host : hosts) {
    tables.push_back(complete_blocks(host));
    split.blocks += static_cast<std::uint32_t>(tables.back().size());
    split.blocks_left_out += static_cast<std::uint32_t>(host.rates[0].size() - tables.back().size());
  }
  const std::vector<double> setting_means = means_of_settings(all_blocks(tables));
  const double grand = mean_of(setting_means);
  for (const double mean : setting_means) split.setting.sum_of_squares += split.blocks * square(mean - grand);
  for (const Table& table : tables) add_host(split, table, setting_means, grand);

  const auto machines = static_cast<std::uint32_t>(tables.size());
  const auto settings = static_cast<std::uint32_t>(setting_means.size());
  split.machine.degrees_of_freedom = machines - 1;
  split.setting.degrees_of_freedom = settings - 1;
  split.machine_by_setting.degrees_of_freedom = (machines - 1) * (settings - 1);
  split.block.degrees_of_freedom = split.blocks - machines;
  split.rest.degrees_of_freedom = (split.blocks - machines) * (settings - 1);
  split.total.degrees_of_freedom = split.blocks * settings - 1;
  for (VariancePart* part :
       {&split.machine, &split.setting, &split.machine_by_setting, &split.block, &split.rest, &split.total})
    if (split.total.sum_of_squares > 0) part->share = part->sum_of_squares / split.total.sum_of_squares;
  return split;
}

}  // namespace millrace
