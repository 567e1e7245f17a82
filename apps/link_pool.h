#pragma once

#include <memory>

#include "pipeline/run.h"

namespace millrace::apps {

/// The buffer pool of the io layer as what a run asks for.
std::unique_ptr<Pool> make_link_pool(const PoolSpec& spec);

}  // namespace millrace::apps
