// slowfs: shows a directory again through FUSE, as slow and as faulty as one wants it. See README.md beside this file.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/slowfs/control.h"
#include "tests/support/slowfs/passthrough.h"

namespace millrace::slowfs {
namespace {

constexpr const char* kUsage = R"(usage:
  slowfs mount SOURCE MOUNTPOINT [--control FILE] [--foreground] [KEY=VALUE]...
  slowfs set CONTROL KEY=VALUE...     changes a mount that was made with --control
  slowfs show CONTROL                 prints its settings and what it saw
  slowfs reset CONTROL                forgets what it saw

keys of mount alone (0 = the kernel's own):
  max_readahead=BYTES  max_background=REQUESTS  writeback=0|1
keys of mount and set:
  latency_us  bytes_per_second  read_error_begin  read_error_end  short_read_bytes
  space_bytes  write_errors  fsync_errors  stall  stall_from
)";

struct Usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Number = std::atomic<std::uint64_t> Control::*;
const std::vector<std::pair<std::string, Number>>& settings() {
  static const std::vector<std::pair<std::string, Number>> kAll = {
      {"latency_us", &Control::latency_us},
      {"bytes_per_second", &Control::bytes_per_second},
      {"read_error_begin", &Control::read_error_begin},
      {"read_error_end", &Control::read_error_end},
      {"short_read_bytes", &Control::short_read_bytes},
      {"space_bytes", &Control::space_bytes},
      {"write_errors", &Control::write_errors},
      {"fsync_errors", &Control::fsync_errors},
      {"stall_from", &Control::stall_from},
  };
  return kAll;
}

/// "latency_us=1000" in two.
std::pair<std::string, std::uint64_t> parse(const std::string& text) {
  const auto equals = text.find('=');
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  if (equals == std::string::npos) throw Usage("'" + text + "' is not KEY=VALUE");
  const auto [stop, error] = std::from_chars(text.data() + equals + 1, end, value);
  if (error != std::errc{} || stop != end) throw Usage("the value in '" + text + "' must be a whole number");
  return {text.substr(0, equals), value};
}

void set(Control& control, const std::string& key, std::uint64_t value) {
  if (key == "stall") return set_stall(control, value != 0);
  const auto found =
      std::find_if(settings().begin(), settings().end(), [&key](const auto& setting) { return setting.first == key; });
  if (found == settings().end()) throw Usage("there is no key '" + key + "'");
  control.*found->second = value;
}

int mount(const std::vector<std::string>& arguments) {
  Mount mount;
  std::string control_path;
  std::vector<std::string> places;
  std::vector<std::pair<std::string, std::uint64_t>> values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--foreground") {
      mount.foreground = true;
    } else if (arguments[i] == "--control" && i + 1 < arguments.size()) {
      control_path = arguments[++i];
    } else if (places.size() < 2) {
      // The server leaves the directory that it was started in.
      places.push_back(std::filesystem::absolute(arguments[i]).string());
    } else {
      values.push_back(parse(arguments[i]));
    }
  }
  if (places.size() != 2) throw Usage("mount takes a directory and the place to show it at");
  mount.source = places[0];
  mount.mountpoint = places[1];
  const auto control = ControlFile::make(control_path);
  for (const auto& [key, value] : values) {
    if (key == "max_readahead") {
      mount.max_readahead = value;
    } else if (key == "max_background") {
      mount.max_background = value;
    } else if (key == "writeback") {
      mount.writeback = value != 0;
    } else {
      set(*control, key, value);
    }
  }
  return serve(mount, *control);
}

void print(const std::string& name, const Counters& counters) {
  std::cout << name << ": " << counters.requests << " requests, " << counters.bytes << " bytes, largest "
            << counters.largest_bytes << "\n";
}

void show(const Control& control) {
  for (const auto& [key, value] : settings()) {
    const std::uint64_t number = control.*value;
    std::cout << key << "=" << (number == Control::kEndless ? "endless" : std::to_string(number)) << "\n";
  }
  std::cout << "stall=" << control.stall << "\n\n";
  print("reads", control.reads);
  print("writes", control.writes);
  print("fsyncs", control.fsyncs);
  std::cout << "most in flight: " << control.most_in_flight << "\n";
  std::map<std::uint64_t, std::uint64_t> reads_of_size;
  const std::uint64_t traced = control.traced;
  for (std::uint64_t i = 0; i < std::min(traced, Control::kTraceLength); ++i) {
    if (control.trace[i].kind == Kind::read) ++reads_of_size[control.trace[i].bytes];
  }
  if (traced > Control::kTraceLength) std::cout << "of the last " << Control::kTraceLength << " requests:\n";
  for (const auto& [bytes, reads] : reads_of_size) std::cout << "reads of " << bytes << " bytes: " << reads << "\n";
}

int run(std::vector<std::string> arguments) {
  if (arguments.size() < 2) throw Usage("");
  const std::string command = arguments[0];
  arguments.erase(arguments.begin());
  if (command == "mount") return mount(arguments);
  const auto control = ControlFile::open(arguments[0]);
  if (command == "set" && arguments.size() > 1) {
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      const auto [key, value] = parse(arguments[i]);
      set(*control, key, value);
    }
  } else if (command == "show" && arguments.size() == 1) {
    show(*control);
  } else if (command == "reset" && arguments.size() == 1) {
    forget_requests(*control);
  } else {
    throw Usage("");
  }
  return 0;
}

}  // namespace
}  // namespace millrace::slowfs

int main(int count, char** values) {
  try {
    return millrace::slowfs::run({values + 1, values + count});
  } catch (const millrace::slowfs::Usage& error) {
    if (error.what()[0] != '\0') std::cerr << "slowfs: " << error.what() << "\n";
    std::cerr << millrace::slowfs::kUsage;
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "slowfs: " << error.what() << "\n";
    return 1;
  }
}
