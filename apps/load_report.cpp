#include "apps/load_report.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "pipeline/core/error.h"
#include "pipeline/report_json.h"

namespace millrace::apps {
namespace {

std::string whole_file(const std::filesystem::path& path) {
  const auto failure = [&path](const char* what) {
    return system_error(what, errno).at_path(path).of_kind(ErrorKind::config);
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw failure("cannot open the report");
  std::string text;
  std::array<char, 65536> block{};
  ssize_t got = 0;
  while ((got = ::read(descriptor, block.data(), block.size())) != 0) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  if (got < 0) {
    const Error error = failure("cannot read the report");
    ::close(descriptor);
    throw Error(error);
  }
  ::close(descriptor);
  return text;
}

}  // namespace

RunReport load_report(const std::filesystem::path& path) {
  try {
    return report_from_json(whole_file(path));
  } catch (Error& error) {
    error.at_path(path);
    throw;
  }
}

}  // namespace millrace::apps
