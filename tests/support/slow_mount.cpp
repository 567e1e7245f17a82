#include "tests/support/slow_mount.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGTERM for kill
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <stdexcept>

#include "tests/support/places.h"
#include "tests/support/private_mounts.h"

namespace millrace::test {
namespace {

std::string why_not(const std::filesystem::path& program) {
  if (!std::filesystem::exists(program)) return "slowfs was not built: libfuse3 is missing";
  if (::access("/dev/fuse", R_OK | W_OK) != 0) return "/dev/fuse is missing or may not be opened";
  return {};
}

}  // namespace

SlowMount::SlowMount(const std::vector<std::string>& keys) : directory_(home_ / "mount") {
  const std::filesystem::path program = build_dir() / "tests/slowfs";
  reason_ = why_not(program);
  if (!reason_.empty()) return;
  keep_mounts_private();
  std::filesystem::create_directory(directory_);
  const std::string control = (home_ / "control").string();
  std::vector<std::string> arguments{"mount", source_.path().string(), directory_.string(), "--control",
                                     control, "--foreground"};
  arguments.insert(arguments.end(), keys.begin(), keys.end());
  Command::Settings settings;
  settings.program = program;
  settings.limit = std::chrono::hours(1);  // of its whole life; what waits for it has limits of its own
  server_.emplace(arguments, settings);
  if (server_->wait_for_error_text("serving\n")) {
    control_.emplace(slowfs::ControlFile::open(control));
  } else {
    reason_ = "slowfs cannot mount: " + server_->wait().err;
    server_.reset();
  }
}

SlowMount::~SlowMount() {
  if (!server_) return;
  if (::umount2(directory_.c_str(), MNT_DETACH) != 0) {
    Command::Settings settings;
    settings.program = "/bin/sh";
    Command({"-c", "fusermount3 -u -z \"$0\"", directory_.string()}, settings).wait();
  }
  server_.reset();  // kills it, which ends every request with an error
}

CommandResult SlowMount::end_server() {
  server_->send(SIGTERM);
  return server_->wait();
}

bool SlowMount::wait_for_stalled(std::uint32_t requests) const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (;;) {
    const std::uint32_t stalled = control().stalled.load();
    if (stalled >= requests) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    slowfs::wait_while(control().stalled, stalled, deadline);
  }
}

std::vector<SlowMount::Request> SlowMount::requests() const {
  const std::uint64_t count = control().traced.load();
  if (count > slowfs::Control::kTraceLength) throw std::runtime_error("more requests than the trace of slowfs holds");
  std::vector<Request> result;
  for (std::uint64_t i = 0; i < count; ++i) {
    const slowfs::TraceEntry& entry = control().trace.at(i);
    result.push_back({entry.kind.load(), entry.offset.load(), entry.bytes.load()});
  }
  return result;
}

std::map<std::uint64_t, std::uint64_t> SlowMount::reads_by_length() const {
  std::map<std::uint64_t, std::uint64_t> reads;
  for (const Request& request : requests()) {
    if (request.kind == slowfs::Kind::read) ++reads[request.bytes];
  }
  return reads;
}

std::uint64_t SlowMount::read_ahead_kib() const {
  struct stat status {};
  if (::stat(directory_.c_str(), &status) != 0) return 0;
  const std::string device = std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev));
  std::ifstream file("/sys/class/bdi/" + device + "/read_ahead_kb");
  std::uint64_t kib = 0;
  file >> kib;
  return kib;
}

std::string SlowMount::seen() const {
  std::string text;
  for (const auto& [bytes, count] : reads_by_length()) {
    text += std::to_string(count) + " x " + std::to_string(bytes) + ", ";
  }
  return text + "most in flight " + std::to_string(control().most_in_flight.load());
}

}  // namespace millrace::test
