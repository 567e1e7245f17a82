#include "pipeline/core/registry.h"

#include <algorithm>
#include <utility>

#include "pipeline/core/error.h"
#include "pipeline/core/stage.h"

namespace millrace {
namespace {

/// Levenshtein distance where a swap of neighbours counts one (optimal string alignment).
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> rows(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) rows[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
      }
    }
  }
  return rows[a.size()][b.size()];
}

}  // namespace

const char* name_of(Role role) {
  switch (role) {
    case Role::source:
      return "source";
    case Role::transform:
      return "transform";
    case Role::sink:
      return "sink";
  }
  return "?";
}

const Registry::Entry& Registry::at(const std::string& type) const {
  const auto found = entries_.find(type);
  if (found != entries_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  const std::string close = nearest(type, names);
  throw config_error("there is no stage type '" + type + "'" +
                     (close.empty() ? "; `millrace stages` lists them" : "; did you mean '" + close + "'?"));
}

std::vector<OptionDescription> Registry::describe(const std::string& type) const {
  const Options options = Options::recorder();
  try {
    at(type).make(options);
  } catch (const Error&) {
    // A constructor may refuse the stand-in value of a required option; what it read up to there is known.
    if (!contains(type)) throw;
  }
  return options.described();
}

void Registry::add_entry(const std::string& type, Entry entry) {
  const std::string provider = entry.from;
  const auto [place, added] = entries_.emplace(type, std::move(entry));
  if (!added) {
    throw config_error("stage type '" + type + "' of " + provider + " is already registered by " + place->second.from);
  }
}

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;  // further away is a guess, not a hint
  for (const auto& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace millrace
