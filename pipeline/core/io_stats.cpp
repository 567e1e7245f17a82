#include "pipeline/core/io_stats.h"

namespace millrace {

void IoStats::add(const IoStats& more) {
  if (transport_requested.empty()) transport_requested = more.transport_requested;
  if (transport_used.empty()) transport_used = more.transport_used;
  if (detail.empty()) detail = more.detail;
  calls += more.calls;
  bytes += more.bytes;
  retries += more.retries;
  registered_calls += more.registered_calls;
  cache_hit_bytes += more.cache_hit_bytes;
  cache_miss_bytes += more.cache_miss_bytes;
  dropped_cache_bytes += more.dropped_cache_bytes;
  drop_errors += more.drop_errors;
  fsync_calls += more.fsync_calls;
  fsync_ns += more.fsync_ns;
  if (advice.kind == "none") {
    advice.kind = more.advice.kind;
    advice.scope = more.advice.scope;
    advice.window_bytes = more.advice.window_bytes;
    advice.step_bytes = more.advice.step_bytes;
  }
  advice.calls += more.advice.calls;
  advice.errors += more.advice.errors;
  advice.checked_bytes += more.advice.checked_bytes;
  advice.resident_bytes += more.advice.resident_bytes;
}

}  // namespace millrace
