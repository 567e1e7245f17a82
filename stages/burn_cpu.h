#pragma once

#include <stop_token>

#include "pipeline/core/units.h"

namespace millrace {

/// Computes on the calling thread until it has used `amount` of CPU time (the thread's own, so that a busy machine does
/// not shorten the work), or until a stop is requested. Amounts below 50 us are taken from the wall clock, which costs
/// a tenth.
///
/// For calibration stages only: a stage knows no clock, but one whose very purpose is to last a known time must.
void burn_cpu(Duration amount, const std::stop_token& stop);

}  // namespace millrace
