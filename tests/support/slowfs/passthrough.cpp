#include "tests/support/slowfs/passthrough.h"

#define FUSE_USE_VERSION 312
#include <dirent.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <mutex>

namespace millrace::slowfs {
namespace {

using std::chrono::steady_clock;

// libfuse's callbacks and signal handlers know only globals; there is one mount in a process.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
struct Server {
  Mount mount;
  Control* control = nullptr;
  fuse* handle = nullptr;
  int source = -1;
};
Server server;
std::atomic<std::uint32_t> stopping{0};  // a futex
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

// ------------------------------------------------------------------------------------------- slowness and accounting

void raise_to(std::atomic<std::uint64_t>& most, std::uint64_t value) {
  std::uint64_t seen = most.load();
  while (seen < value && !most.compare_exchange_weak(seen, value)) {
  }
}

/// Takes one from `count` unless there is none.
bool take_one(std::atomic<std::uint64_t>& count) {
  std::uint64_t seen = count.load();
  while (seen > 0) {
    if (count.compare_exchange_weak(seen, seen - 1)) return true;
  }
  return false;
}

/// The device moves one request's bytes after the other's; gives when it is through with these.
steady_clock::time_point moved_at(std::uint64_t bytes, std::uint64_t bytes_per_second) {
  static std::mutex mutex;
  static steady_clock::time_point free_at;
  if (bytes_per_second == 0) return {};
  const std::chrono::duration<double> duration(static_cast<double>(bytes) / static_cast<double>(bytes_per_second));
  const std::lock_guard lock(mutex);
  free_at = std::max(free_at, steady_clock::now()) + std::chrono::duration_cast<steady_clock::duration>(duration);
  return free_at;
}

/// One request that is slowed and counted: from its arrival until its answer is ready.
class Request {
 public:
  Request(Kind kind, off_t offset, std::uint64_t bytes) : started_(steady_clock::now()) {
    Control& control = *server.control;
    Counters& counters = kind == Kind::read ? control.reads : kind == Kind::write ? control.writes : control.fsyncs;
    ++counters.requests;
    counters.bytes += bytes;
    raise_to(counters.largest_bytes, bytes);
    raise_to(control.most_in_flight, ++control.in_flight);
    TraceEntry& entry = control.trace[control.traced++ % Control::kTraceLength];
    entry.kind = kind;
    entry.offset = static_cast<std::uint64_t>(offset);
    entry.bytes = bytes;
    if (kind == Kind::fsync || static_cast<std::uint64_t>(offset) + bytes > control.stall_from.load()) wait_out_stall();
    const auto slow_until = started_ + std::chrono::microseconds(control.latency_us.load());
    const auto through = std::max(slow_until, moved_at(bytes, control.bytes_per_second.load()));
    while (stopping.load() == 0 && steady_clock::now() < through) wait_while(stopping, 0, through);
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request() { --server.control->in_flight; }

 private:
  static void wait_out_stall() {
    Control& control = *server.control;
    if (control.stall.load() == 0) return;
    ++control.stalled;
    wake(control.stalled);
    while (control.stall.load() != 0 && stopping.load() == 0) {
      wait_while(control.stall, control.stall.load(), steady_clock::now() + std::chrono::hours(1));
    }
    --control.stalled;
    wake(control.stalled);
  }

  steady_clock::time_point started_;
};

// ------------------------------------------------------------------------------------------------------- passthrough

int result_of(int status) { return status < 0 ? -errno : 0; }
int file_of(const fuse_file_info* info) { return static_cast<int>(info->fh); }
/// "/a/b" -> "a/b" and "/" -> ".", beneath the source.
const char* beneath(const char* path) { return path[1] == '\0' ? "." : path + 1; }

void* fs_init(fuse_conn_info* connection, fuse_config* config) {
  config->nullpath_ok = 1;
  config->use_ino = 1;
  if (server.mount.max_readahead != 0) {
    connection->max_readahead =
        static_cast<unsigned>(std::min<std::uint64_t>(connection->max_readahead, server.mount.max_readahead));
  }
  if (server.mount.max_background != 0) connection->max_background = static_cast<unsigned>(server.mount.max_background);
  if (server.mount.writeback) connection->want |= connection->capable & FUSE_CAP_WRITEBACK_CACHE;
  if (server.mount.foreground) static_cast<void>(std::fputs("slowfs: serving\n", stderr));
  return nullptr;
}

int fs_getattr(const char* path, struct stat* status, fuse_file_info* info) {
  return result_of(info != nullptr ? ::fstat(file_of(info), status)
                                   : ::fstatat(server.source, beneath(path), status, AT_SYMLINK_NOFOLLOW));
}

int fs_readdir(const char* path, void* buffer, fuse_fill_dir_t fill, off_t /*offset*/, fuse_file_info* /*info*/,
               fuse_readdir_flags /*flags*/) {
  const int directory = ::openat(server.source, beneath(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const stream = directory < 0 ? nullptr : ::fdopendir(directory);
  if (stream == nullptr) return -errno;
  while (const dirent* const entry = ::readdir(stream)) fill(buffer, entry->d_name, nullptr, 0, fuse_fill_dir_flags{});
  ::closedir(stream);
  return 0;
}

int open_beneath(const char* path, mode_t mode, fuse_file_info* info) {
  int flags = (info->flags & ~O_DIRECT) | O_CLOEXEC;
  if (server.mount.writeback) {
    // The kernel reads what lies around a piece that it writes, and knows the end of the file better than we do.
    if ((flags & O_ACCMODE) == O_WRONLY) flags = (flags & ~O_ACCMODE) | O_RDWR;
    flags &= ~O_APPEND;
  }
  const int file = ::openat(server.source, beneath(path), flags, mode);
  if (file < 0) return -errno;
  info->fh = static_cast<std::uint64_t>(file);
  return 0;
}
int fs_open(const char* path, fuse_file_info* info) { return open_beneath(path, 0, info); }
int fs_create(const char* path, mode_t mode, fuse_file_info* info) { return open_beneath(path, mode, info); }
int fs_release(const char* /*path*/, fuse_file_info* info) { return result_of(::close(file_of(info))); }

int fs_read(const char* /*path*/, char* buffer, size_t bytes, off_t offset, fuse_file_info* info) {
  const Control& control = *server.control;
  const Request request(Kind::read, offset, bytes);
  const auto begin = static_cast<std::uint64_t>(offset);
  if (begin < control.read_error_end.load() && begin + bytes > control.read_error_begin.load()) return -EIO;
  const ssize_t got = ::pread(file_of(info), buffer, bytes, offset);
  if (got < 0) return -errno;
  return static_cast<int>(got - std::min<ssize_t>(got, static_cast<ssize_t>(control.short_read_bytes.load())));
}

int fs_write(const char* /*path*/, const char* bytes_of, size_t bytes, off_t offset, fuse_file_info* info) {
  Control& control = *server.control;
  const Request request(Kind::write, offset, bytes);
  if (take_one(control.write_errors)) return -EIO;
  if (static_cast<std::uint64_t>(offset) + bytes > control.space_bytes.load()) return -ENOSPC;
  const ssize_t done = ::pwrite(file_of(info), bytes_of, bytes, offset);
  return done < 0 ? -errno : static_cast<int>(done);
}

int fs_fsync(const char* /*path*/, int data_only, fuse_file_info* info) {
  const Request request(Kind::fsync, 0, 0);
  if (take_one(server.control->fsync_errors)) return -EIO;
  return result_of(data_only != 0 ? ::fdatasync(file_of(info)) : ::fsync(file_of(info)));
}

int fs_fallocate(const char* /*path*/, int mode, off_t offset, off_t bytes, fuse_file_info* info) {
  if (static_cast<std::uint64_t>(offset) + static_cast<std::uint64_t>(bytes) > server.control->space_bytes.load()) {
    return -ENOSPC;
  }
  return result_of(::fallocate(file_of(info), mode, offset, bytes));
}

int fs_truncate(const char* path, off_t bytes, fuse_file_info* info) {
  if (info != nullptr) return result_of(::ftruncate(file_of(info), bytes));
  const int file = ::openat(server.source, beneath(path), O_WRONLY | O_CLOEXEC);
  if (file < 0) return -errno;
  const int result = result_of(::ftruncate(file, bytes));
  ::close(file);
  return result;
}

int fs_statfs(const char* /*path*/, struct statvfs* status) { return result_of(::fstatvfs(server.source, status)); }
int fs_mkdir(const char* path, mode_t mode) { return result_of(::mkdirat(server.source, beneath(path), mode)); }
int fs_unlink(const char* path) { return result_of(::unlinkat(server.source, beneath(path), 0)); }
int fs_rmdir(const char* path) { return result_of(::unlinkat(server.source, beneath(path), AT_REMOVEDIR)); }
int fs_rename(const char* from, const char* to, unsigned flags) {
  return result_of(::renameat2(server.source, beneath(from), server.source, beneath(to), flags));
}
int fs_chmod(const char* path, mode_t mode, fuse_file_info* info) {
  return result_of(info != nullptr ? ::fchmod(file_of(info), mode) : ::fchmodat(server.source, beneath(path), mode, 0));
}
int fs_chown(const char* path, uid_t user, gid_t group, fuse_file_info* info) {
  return result_of(info != nullptr ? ::fchown(file_of(info), user, group)
                                   : ::fchownat(server.source, beneath(path), user, group, AT_SYMLINK_NOFOLLOW));
}
int fs_utimens(const char* path, const timespec* times, fuse_file_info* info) {
  return result_of(info != nullptr ? ::futimens(file_of(info), times)
                                   : ::utimensat(server.source, beneath(path), times, AT_SYMLINK_NOFOLLOW));
}

fuse_operations operations() {
  fuse_operations all{};
  all.init = fs_init;
  all.getattr = fs_getattr;
  all.readdir = fs_readdir;
  all.open = fs_open;
  all.create = fs_create;
  all.release = fs_release;
  all.read = fs_read;
  all.write = fs_write;
  all.fsync = fs_fsync;
  all.fallocate = fs_fallocate;
  all.truncate = fs_truncate;
  all.statfs = fs_statfs;
  all.mkdir = fs_mkdir;
  all.unlink = fs_unlink;
  all.rmdir = fs_rmdir;
  all.rename = fs_rename;
  all.chmod = fs_chmod;
  all.chown = fs_chown;
  all.utimens = fs_utimens;
  return all;
}

// ----------------------------------------------------------------------------------------------------------- serving

void stop(int /*signal*/) {
  stopping.store(1);
  wake(stopping);
  set_stall(*server.control, false);
  fuse_exit(server.handle);
}

void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = stop;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaction(signal, &action, nullptr);
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
}

/// As many threads as requests can be in flight, kept: a request must not wait for another one's latency.
int answer_until_the_end(fuse* fuse) {
  constexpr unsigned kThreads = 64;
  const std::unique_ptr<fuse_loop_config, decltype(&fuse_loop_cfg_destroy)> loop(fuse_loop_cfg_create(),
                                                                                 fuse_loop_cfg_destroy);
  fuse_loop_cfg_set_max_threads(loop.get(), kThreads);
  fuse_loop_cfg_set_idle_threads(loop.get(), kThreads);
  return fuse_loop_mt(fuse, loop.get());
}

}  // namespace

int serve(const Mount& mount, Control& control) {
  server.mount = mount;
  server.control = &control;
  server.source = ::open(mount.source.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (server.source < 0) {
    std::perror(("slowfs: " + mount.source).c_str());
    return 1;
  }
  ::umask(0);
  ::prctl(PR_SET_TIMERSLACK, 1000);
  if (mount.foreground) ::prctl(PR_SET_PDEATHSIG, SIGTERM);

  fuse_args arguments = FUSE_ARGS_INIT(0, nullptr);
  fuse_opt_add_arg(&arguments, "slowfs");
  fuse_opt_add_arg(&arguments, "-ofsname=slowfs,subtype=slowfs,default_permissions");
  if (::geteuid() == 0) fuse_opt_add_arg(&arguments, "-oallow_other");
  const fuse_operations all = operations();
  fuse* const fuse = fuse_new(&arguments, &all, sizeof all, nullptr);
  fuse_opt_free_args(&arguments);
  if (fuse == nullptr) return 1;
  int status = 1;
  if (fuse_mount(fuse, mount.mountpoint.c_str()) == 0) {
    server.handle = fuse;
    if (fuse_daemonize(mount.foreground ? 1 : 0) == 0) {
      stop_on_signals();
      status = answer_until_the_end(fuse) < 0 ? 1 : 0;
    }
    fuse_unmount(fuse);
  }
  fuse_destroy(fuse);
  return status;
}

}  // namespace millrace::slowfs
