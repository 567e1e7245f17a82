#pragma once

#include <string>

namespace millrace::apps {

/// "0.1.0"
std::string version();

/// What `millrace --version` prints: version, compiler, kind of build, plugin ABI.
std::string version_text();

}  // namespace millrace::apps
