#include "pipeline/experiment/merge_hosts.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <cstddef>

#include "pipeline/core/error.h"
#include "pipeline/experiment/paired_effect.h"
#include "pipeline/experiment/variance_split.h"

namespace millrace {
namespace {

/// A host whose ratios are all the same to a millionth knows its effect no better than that.
constexpr double kLeastVariance = 1e-12;

/// Effect of one arm on one host, with the variance of its mean.
struct Study {
  double effect = 0;
  double variance = 0;
};

std::vector<HostRates> by_host(const std::vector<HostRates>& experiments) {
  std::vector<HostRates> hosts;
  for (const HostRates& experiment : experiments) {
    require_rates(experiment.rates);
    if (experiment.rates.empty() || experiment.rates.size() != experiments[0].rates.size())
      throw Error("the experiment of host " + experiment.host + " has " + std::to_string(experiment.rates.size()) +
                  " arms, that of " + experiments[0].host + " has " + std::to_string(experiments[0].rates.size()));
    const auto known =
        std::find_if(hosts.begin(), hosts.end(), [&](const HostRates& host) { return host.host == experiment.host; });
    if (known == hosts.end()) {
      hosts.push_back(experiment);
      continue;
    }
    for (std::size_t arm = 0; arm < experiment.rates.size(); ++arm)
      known->rates[arm].insert(known->rates[arm].end(), experiment.rates[arm].begin(), experiment.rates[arm].end());
  }
  return hosts;
}

HostEffect effect_on(const std::string& host, const PairedEffect& effect, double error_rate) {
  HostEffect result{.host = host, .blocks = effect.blocks, .ratio = std::exp(effect.mean), .low = {}, .high = {}};
  if (effect.blocks < 2) return result;
  const double half = half_width(effect, error_rate);
  result.low = std::exp(effect.mean - half);
  result.high = std::exp(effect.mean + half);
  return result;
}

struct Weighted {
  double mean = 0;
  double weights = 0;
  double squares = 0;  ///< weighted, around the mean
};

Weighted weighted(const std::vector<Study>& studies, double extra_variance) {
  Weighted result;
  for (const Study& study : studies) {
    const double weight = 1 / (study.variance + extra_variance);
    result.weights += weight;
    result.mean += weight * study.effect;
  }
  result.mean /= result.weights;
  for (const Study& study : studies)
    result.squares += (study.effect - result.mean) * (study.effect - result.mean) / (study.variance + extra_variance);
  return result;
}

/// DerSimonian and Laird: what Cochran's Q exceeds its expectation by, in units of variance.
double variance_between(const std::vector<Study>& studies, const Weighted& fixed) {
  double squared_weights = 0;
  for (const Study& study : studies) squared_weights += 1 / (study.variance * study.variance);
  const double freedom = static_cast<double>(studies.size()) - 1;
  return std::max(0.0, (fixed.squares - freedom) / (fixed.weights - squared_weights / fixed.weights));
}

void merge_studies(MergedArm& arm, const std::vector<Study>& studies, double error_rate) {
  arm.hosts_used = static_cast<std::uint32_t>(studies.size());
  if (studies.empty()) return;
  if (studies.size() == 1) {
    arm.ratio = std::exp(studies[0].effect);
    return;
  }
  const double freedom = static_cast<double>(studies.size()) - 1;
  const Weighted fixed = weighted(studies, 0);
  const double between = variance_between(studies, fixed);
  const Weighted random = weighted(studies, between);
  const double scale = std::max(1.0, random.squares / freedom);
  const double half = student_t_limit(error_rate, freedom) * std::sqrt(scale / random.weights);
  arm.ratio = std::exp(random.mean);
  arm.low = std::exp(random.mean - half);
  arm.high = std::exp(random.mean + half);
  arm.between_hosts_log_sd = std::sqrt(between);
  arm.i_squared = fixed.squares > freedom ? (fixed.squares - freedom) / fixed.squares : 0;
  arm.p_same_effect = boost::math::cdf(boost::math::complement(boost::math::chi_squared(freedom), fixed.squares));
}

MergedArm merged_arm(const std::vector<HostRates>& hosts, std::size_t arm, double error_rate) {
  MergedArm result;
  std::vector<Study> studies;
  for (const HostRates& host : hosts) {
    const PairedEffect effect = arm == 0 ? PairedEffect{} : paired_effect(log_ratios(host.rates[arm], host.rates[0]));
    result.hosts.push_back(effect_on(host.host, effect, error_rate));
    if (effect.blocks < 2) continue;
    const double variance = effect.standard_deviation * effect.standard_deviation / effect.blocks;
    studies.push_back({.effect = effect.mean, .variance = std::max(variance, kLeastVariance)});
  }
  merge_studies(result, studies, error_rate);
  return result;
}

}  // namespace

MergedComparison merge_hosts(const std::vector<HostRates>& experiments, double confidence) {
  if (experiments.empty()) throw Error("there are no experiments to merge");
  if (!(confidence > 0 && confidence < 1)) throw config_error("the confidence must be between 0 and 1");
  const std::vector<HostRates> hosts = by_host(experiments);
  MergedComparison result;
  for (std::size_t arm = 0; arm < hosts[0].rates.size(); ++arm)
    result.arms.push_back(merged_arm(hosts, arm, 1 - confidence));
  for (HostEffect& baseline : result.arms[0].hosts)
    for (const HostRates& host : hosts)
      if (host.host == baseline.host)
        baseline.blocks = static_cast<std::uint32_t>(std::count_if(host.rates[0].begin(), host.rates[0].end(),
                                                                   [](const auto& rate) { return rate.has_value(); }));
  try {
    result.variance = split_variance(hosts);
  } catch (const Error& error) {
    result.variance_refused = error.what();
  }
  return result;
}

}  // namespace millrace
