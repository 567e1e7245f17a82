#include "io/read_warnings.h"

#include <algorithm>

#include "io/transports.h"
#include "pipeline/core/units.h"

namespace millrace::io {
namespace {

using Kind = AdvicePolicy::Kind;

void add_willneed(std::vector<std::string>& out, const AdvicePolicy& advice, const FileSystem& facts,
                  std::uint64_t largest_file_bytes) {
  const std::uint64_t limit = facts.prefetch_limit_bytes();
  if (advice.scope == AdvicePolicy::Scope::file) {
    if (largest_file_bytes > limit) {
      out.push_back("via: one willneed call for a whole file prefetches at most " + format_bytes(limit) + " here, of " +
                    format_bytes(largest_file_bytes) + "; scope = \"window\" reaches all of it");
    }
    return;
  }
  const std::uint64_t step = std::min(advice.step_bytes, advice.window_bytes);
  if (step > limit) {
    out.push_back("via: a step of " + format_bytes(step) + " is more than one call prefetches here (" +
                  format_bytes(limit) + "): the rest of each step is left out");
  }
  const auto read_ahead = static_cast<std::uint64_t>(std::max<std::int64_t>(0, facts.read_ahead_kb)) * 1024;
  if (advice.window_bytes < read_ahead) {
    out.push_back("via: a window of " + format_bytes(advice.window_bytes) +
                  " is less than the kernel's own read-ahead (" + format_bytes(read_ahead) +
                  "): reading in order, the advice does nothing");
  }
}

}  // namespace

std::vector<std::string> read_warnings(const ReadVia& via, const FileSystem& facts, std::uint64_t largest_file_bytes) {
  std::vector<std::string> out;
  const Transport* const transport = find_transport(via.transport);
  const bool cached = transport != nullptr && transport->cached;
  const bool advised = via.advice.kind != Kind::none;
  if (!cached) {  // only a fallback comes here: read_via() refuses the rest
    if (advised || via.drop_behind) {
      out.push_back("via: '" + via.transport + "' does not use the page cache: advice and drop_behind do nothing");
    }
    return out;
  }
  if (facts.is_memory()) {
    if (advised || via.drop_behind) {
      out.push_back("via: the input is on " + facts.type + ", in memory: advice and drop_behind do nothing");
    }
    return out;
  }
  if (via.advice.kind == Kind::willneed) add_willneed(out, via.advice, facts, largest_file_bytes);
  return out;
}

}  // namespace millrace::io
