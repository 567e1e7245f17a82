#pragma once

#include <string>
#include <vector>

#include "pipeline/verdict_analysis.h"

namespace millrace::verdict {

/// "92 %", "0.3 %".
std::string percent(double share);

/// Sentences that say why a verdict about the stage or link `index` was given.
std::vector<std::string> pacing_evidence(const Analysis& analysis, std::size_t index, const std::string& kind);
std::vector<std::string> workers_evidence(const Analysis& analysis);
std::vector<std::string> balanced_evidence(const Analysis& analysis, const std::vector<std::size_t>& stages);
std::vector<std::string> link_evidence(const Analysis& analysis, std::size_t index);
std::vector<std::string> hand_over_evidence(const Analysis& analysis);

/// "what: why", for changes that the figures rule out.
std::vector<std::string> cannot_help_pacing(const Analysis& analysis, std::size_t index, const std::string& kind);
std::vector<std::string> cannot_help_workers(const Analysis& analysis);
std::vector<std::string> cannot_help_balanced(const Analysis& analysis, const std::vector<std::size_t>& stages);
std::vector<std::string> cannot_help_link(const Analysis& analysis, std::size_t index);
std::vector<std::string> cannot_help_hand_over(const Analysis& analysis);

}  // namespace millrace::verdict
