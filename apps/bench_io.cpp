#include "apps/bench_io.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <system_error>
#include <utility>

#include "apps/bench_io_result.h"
#include "apps/exit_code.h"
#include "apps/generate_raw.h"
#include "apps/link_pool.h"
#include "apps/signals.h"
#include "apps/terminal.h"
#include "io/output_file.h"
#include "io/page_cache.h"
#include "io/transports.h"
#include "pipeline/complete_report.h"
#include "pipeline/config.h"
#include "pipeline/core/error.h"
#include "pipeline/core/registry.h"
#include "pipeline/plan.h"
#include "pipeline/run.h"
#include "stages/builtin.h"
#include "stages/counter_random.h"

namespace millrace::apps {
namespace {

namespace fs = std::filesystem;

/// Gives full buffers without making anything: each buffer of the pool is filled with noise the first time it is seen,
/// so that a write benchmark measures the writing.
class FullBuffers final : public Source {
 public:
  explicit FullBuffers(const Options& options)
      : bytes_(options.require<Bytes>("bytes", "bytes in all").count),
        block_(options.require<Bytes>("block", "bytes of a chunk").count) {}

  ChunkType prepare() override {
    noise_.resize(block_ / sizeof(std::uint64_t) + 1);
    for (std::uint64_t i = 0; i < noise_.size(); ++i) noise_[i] = counter_random(1, 0, i);
    return {DType::u8, "bytes", block_};
  }
  std::optional<Chunk> produce(std::uint64_t index) override {
    if (index * block_ >= bytes_) return std::nullopt;
    Buffer buffer = loan(std::min(block_, bytes_ - index * block_));
    if (seen_.insert(buffer.data()).second) std::memcpy(buffer.writable().data(), noise_.data(), buffer.size());
    return Chunk(std::move(buffer), DType::u8);
  }

 private:
  std::uint64_t bytes_;
  std::uint64_t block_;
  std::vector<std::uint64_t> noise_;
  std::set<const std::byte*> seen_;
};

/// Text as TOML writes it; its basic strings are JSON's.
std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

std::int64_t process_cpu_ns() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& time) { return time.tv_sec * 1'000'000'000LL + time.tv_usec * 1000LL; };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

/// Removes a file at the end of its life, if it is there.
class ScratchFile {
 public:
  explicit ScratchFile(fs::path path) : path_(std::move(path)) {}
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

class Bench {
 public:
  explicit Bench(const BenchIoArguments& arguments) : arguments_(arguments), random_(arguments.seed) {
    check_arguments();
    std::error_code failure;
    const bool is_directory = fs::is_directory(arguments_.path, failure);
    if (!is_directory && !fs::is_regular_file(arguments_.path, failure)) {
      throw config_error("is neither a directory nor a file").at_path(arguments_.path);
    }
    result_.directory = is_directory ? arguments_.path : fs::absolute(arguments_.path).parent_path();
    if (!is_directory) {
      input_ = arguments_.path;
      arguments_.bytes = fs::file_size(input_);
      if (arguments_.bytes == 0) throw config_error("is empty: there is nothing to measure").at_path(input_);
    }
    result_.bytes = arguments_.bytes;
    result_.block_bytes = arguments_.block_bytes;
    result_.depth = arguments_.depth;
    result_.repeats = arguments_.repeats;
    add_builtin_stages(registry_);
    registry_.add<FullBuffers>("full_buffers");
  }

  int run() {
    const SignalsToRun signals(control_);
    require_room();
    const std::string stem = fmt::format(".millrace-bench-io-{}", ::getpid());
    const ScratchFile made(input_.empty() ? result_.directory / (stem + ".in") : fs::path());
    const ScratchFile output(result_.directory / (stem + ".out"));
    const ScratchFile partial(result_.directory / (stem + ".out.partial"));
    output_ = output.path();
    if (input_.empty()) {
      input_ = made.path();
      progress("writing the file to read");
      generate_raw(input_, arguments_.bytes, arguments_.seed);
    }
    choose_arms();
    if (!measure()) return kInterrupted;
    progress("");
    if (is_terminal(Stream::error)) print_error_stream("\r");
    print(to_text(result_));
    if (!arguments_.json.empty()) {
      io::OutputFile file(arguments_.json, {});
      file.append(to_json(result_) + "\n");
      file.publish();
    }
    return kDone;
  }

 private:
  void check_arguments() const {
    if (arguments_.bytes == 0 || arguments_.block_bytes == 0) throw config_error("--bytes and --block cannot be 0");
    if (arguments_.repeats < 1) throw config_error("--repeats must be at least 1");
    if (arguments_.seconds == 0) throw config_error("--seconds must be at least 1");
    for (const auto& op : arguments_.ops) {
      if (op != "read" && op != "write" && op != "copy")
        throw config_error("--op is read, write or copy, not '" + op + "'");
    }
  }

  bool wanted(const std::string& op) const {
    return arguments_.ops.empty() ||
           std::find(arguments_.ops.begin(), arguments_.ops.end(), op) != arguments_.ops.end();
  }

  /// A full disk in the middle of a benchmark helps nobody.
  void require_room() const {
    struct statvfs room {};
    if (::statvfs(result_.directory.c_str(), &room) != 0)
      throw system_error("cannot ask for room", errno).at_path(result_.directory);
    const std::uint64_t free = static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize;
    const std::uint64_t files = (input_.empty() ? 1 : 0) + (wanted("write") || wanted("copy") ? 1 : 0);
    if (files != 0 && arguments_.bytes > free / 11 * 10 / files) {
      throw config_error(fmt::format("needs {} for its files, {} are free; --bytes makes them smaller",
                                     format_bytes(files * arguments_.bytes), format_bytes(free)))
          .at_path(result_.directory);
    }
  }

  /// What is going on, on a terminal only: one line that is written over.
  static void progress(const std::string& what) {
    if (is_terminal(Stream::error)) print_error_stream(fmt::format("\r{:<78}", "bench io: " + what));
  }

  void choose_arms() {
    std::map<std::string, io::Probe> reading;
    std::map<std::string, io::Probe> writing;
    for (const auto& transport : io::transports()) {
      const std::string name(transport.name);
      reading[name] = transport.probe_read(input_);
      writing[name] = transport.probe_write(result_.directory);
      for (const auto& [probe, verb] : {std::pair{reading[name], "reading"}, std::pair{writing[name], "writing"}}) {
        if (!probe.reason.empty()) {
          result_.remarks.push_back(
              fmt::format("{} {} {}: {}", verb, probe.works ? "with" : "is not possible with", name, probe.reason));
        }
      }
      if (reading[name].works && wanted("read")) {
        result_.rows.push_back({{"read", name, "none"}, {}});
        if (transport.cached) {
          for (const char* const advice : {"sequential", "random", "willneed"})
            result_.rows.push_back({{"read", name, advice}, {}});
        }
        if (name == "mmap") result_.rows.push_back({{"read", name, "populate"}, {}});
      }
      if (writing[name].works && wanted("write")) result_.rows.push_back({{"write", name, "none"}, {}});
    }
    if (!wanted("copy")) return;
    for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{{"buffered", "buffered"},
                                                                                   {"buffered", "mmap"},
                                                                                   {"mmap", "buffered"},
                                                                                   {"mmap", "mmap"},
                                                                                   {"direct", "direct"},
                                                                                   {"uring_direct", "uring_direct"},
                                                                                   {"dontcache", "dontcache"}}) {
      if (reading[from].works && writing[to].works) result_.rows.push_back({{"copy", from + " -> " + to, "none"}, {}});
    }
  }

  /// False when the user ended it.
  bool measure() {
    std::vector<std::size_t> order(result_.rows.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (int repeat = 0; repeat < arguments_.repeats; ++repeat) {
      std::shuffle(order.begin(), order.end(), random_);
      for (std::size_t n = 0; n < order.size(); ++n) {
        IoRow& row = result_.rows[order[n]];
        progress(fmt::format("repeat {} of {}, run {} of {}: {} {}", repeat + 1, arguments_.repeats, n + 1,
                             order.size(), row.arm.op, row.arm.transport));
        if (control_.drain_requested()) return false;
        row.runs.push_back(run_once(row.arm));
        if (control_.drain_requested()) return false;
      }
    }
    return true;
  }

  IoRun run_once(const IoArm& arm) {
    IoRun run;
    if (arm.op != "write") run.cache = make_cold();
    Plan plan = prepare(load_config_text(config_of(arm), "bench io", {}), registry_);
    RunControl control;  // of this run; the user's signals go to control_
    bool out_of_time = false;
    RunSettings settings;
    settings.make_pool = make_link_pool;
    settings.control = &control;
    settings.on_progress = [&](const Progress& now) {
      if (!out_of_time && now.elapsed_ns > static_cast<std::int64_t>(arguments_.seconds) * 1'000'000'000) {
        out_of_time = true;
        control.drain();
      }
      if (control_.drain_requested()) control.stop_now();
    };
    const std::int64_t cpu_before_ns = process_cpu_ns();
    RunOutcome outcome = millrace::run(std::move(plan), settings);
    run.cpu_ns = process_cpu_ns() - cpu_before_ns;
    if (control_.drain_requested()) return run;
    complete_report(outcome.report);
    const bool ended_early = out_of_time && outcome.report.status == "interrupted";
    if (outcome.report.status != "ok" && !ended_early) {
      throw Error(fmt::format("{} with {}: {}", arm.op, arm.transport, outcome.report.error));
    }
    run.bytes = outcome.report.stages.front().bytes_out;
    run.wall_ns = outcome.report.wall_ns;
    run.bytes_copied_per_byte = outcome.report.memory.bytes_copied_per_byte;
    for (const auto& written : outcome.report.outputs) check_and_remove(written.path, run.bytes);
    return run;
  }

  std::string make_cold() const {
    io::evict(input_);
    switch (io::residency_of(input_).state) {
      case io::Residency::State::cold:
        return "cold";
      case io::Residency::State::warm:
      case io::Residency::State::memory:
        return "warm";
      case io::Residency::State::unknown:
        return "unknown";
    }
    return "unknown";
  }

  static void check_and_remove(const fs::path& output, std::uint64_t bytes) {
    if (fs::file_size(output) != bytes) {
      throw Error(fmt::format("has {} bytes of {} after the run", fs::file_size(output), bytes)).at_path(output);
    }
    fs::remove(output);
  }

  /// The pipeline of an arm, as anybody would write it.
  std::string config_of(const IoArm& arm) const {
    const std::size_t arrow = arm.transport.find(" -> ");
    const std::string from = arm.transport.substr(0, arrow);
    const std::string to = arrow == std::string::npos ? arm.transport : arm.transport.substr(arrow + 4);
    std::string text =
        fmt::format("[pipeline]\nname = \"bench io\"\nthreads = 1\nmemory = \"{} B\"\n", std::uint64_t{1} << 62);
    if (arm.op == "write") {
      text += fmt::format("[[stage]]\nname = \"read\"\ntype = \"full_buffers\"\nbytes = \"{} B\"\nblock = \"{} B\"\n",
                          arguments_.bytes, arguments_.block_bytes);
    } else {
      text += fmt::format(
          "[[stage]]\nname = \"read\"\ntype = \"raw_reader\"\npath = {}\nvia = {{ transport = \"{}\", block = \"{} "
          "B\"{}{} }}\n",
          quoted(fs::absolute(input_).string()), from, arguments_.block_bytes,
          arm.advice == "none" ? "" : fmt::format(", advice = \"{}\"", arm.advice),
          io::find_transport(from)->queues_reads ? fmt::format(", depth = {}", arguments_.depth) : "");
    }
    text += "[[stage]]\nname = \"write\"\nlink = { chunks = 4, bytes = \"1 TiB\" }\n";
    if (arm.op == "read") return text + "type = \"null_writer\"\n";
    const bool deep = io::find_transport(to)->write_depth > 1;
    return text + fmt::format("type = \"raw_writer\"\npath = {}\nvia = {{ transport = \"{}\"{} }}\n",
                              quoted(fs::absolute(output_).string()), to,
                              deep ? fmt::format(", depth = {}", arguments_.depth) : "");
  }

  BenchIoArguments arguments_;
  RunControl control_;
  std::mt19937_64 random_;
  Registry registry_;
  fs::path input_;
  fs::path output_;
  IoBench result_;
};

}  // namespace

int bench_io_command(const BenchIoArguments& arguments) { return Bench(arguments).run(); }

}  // namespace millrace::apps
