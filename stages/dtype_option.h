#pragma once

#include <string>

#include "pipeline/core/dtype.h"
#include "pipeline/core/options.h"

namespace millrace {

/// The option `dtype` ("i16", "f32", ...); Error (kind config) that lists the names when it is none.
DType dtype_option(const Options& options, const std::string& help);

}  // namespace millrace
