#include "io/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "io/file_descriptor.h"
#include "io/timed.h"
#include "pipeline/core/call_context.h"
#include "pipeline/core/clock.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSmallBytes = 64 << 10;      // pieces below this are gathered
constexpr std::size_t kGatheredBytes = 256 << 10;  // into writes of this

/// Targets that an OutputFile of this process has: two of them would silently replace each other's file.
struct ClaimedTargets {
  std::mutex mutex;
  std::set<fs::path> paths;
};

ClaimedTargets& claimed_targets() {
  static auto* const targets = new ClaimedTargets;  // outlives every OutputFile
  return *targets;
}

void claim(const fs::path& target) {
  auto& targets = claimed_targets();
  const std::lock_guard lock(targets.mutex);
  if (!targets.paths.insert(target).second) throw Error("another stage writes this file already").at_path(target);
}

void release_claim(const fs::path& target) noexcept {
  auto& targets = claimed_targets();
  const std::lock_guard lock(targets.mutex);
  targets.paths.erase(target);
}

/// The place that `target` really means: absolute, links followed.
fs::path resolved(const fs::path& target) {
  std::error_code failure;
  fs::path result = fs::weakly_canonical(fs::absolute(target), failure);
  if (failure) throw system_error("cannot be resolved", failure.value()).at_path(target);
  return result;
}

void check_target(const fs::path& target) {
  std::error_code failure;
  const fs::file_status status = fs::status(target, failure);
  if (status.type() == fs::file_type::none) throw system_error("cannot be looked at", failure.value()).at_path(target);
  if (fs::is_directory(status) || !target.has_filename()) {
    throw Error("is a directory, not a place for a file").at_path(target);
  }
  // Also what keeps root from replacing /dev/null by a file.
  if (fs::exists(status) && !fs::is_regular_file(status)) throw Error("exists and is no regular file").at_path(target);
  const fs::path directory = target.parent_path();
  if (!fs::is_directory(directory, failure)) throw Error("there is no directory " + directory.string()).at_path(target);
  if (::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    throw system_error("cannot create files in " + directory.string(), errno).at_path(target);
  }
}

}  // namespace

OutputFile::OutputFile(fs::path target, WriteVia via) : target_(resolved(target)), via_(std::move(via)) {
  check_target(target_);
  settle(via_, target_.parent_path());
  claim(target_);
}

OutputFile::~OutputFile() {
  discard();
  release_claim(target_);
}

/// Errors name the file that the user asked for, not its temporary.
template <typename Call>
void OutputFile::naming_target(Call&& call) const {
  try {
    call();
  } catch (const Error& error) {
    Error named(error.message(), error.kind());
    named.at_path(target_);
    if (error.offset()) named.at_offset(*error.offset());
    throw named;
  }
}

template <typename Write>
void OutputFile::write_out(std::uint64_t bytes, Write&& write) {
  Writer& out = writer();
  naming_target([&] { write(out); });
  unsynced_bytes_ += bytes;
  if (via_.fsync == Fsync::interval && unsynced_bytes_ >= via_.fsync_bytes) {
    naming_target([&] { out.sync(); });
    unsynced_bytes_ = 0;
  }
}

void OutputFile::append(std::span<const std::byte> bytes) {
  check_open();
  if (bytes.size() < kSmallBytes) {
    gather(bytes);
  } else {
    flush();
    write_out(bytes.size(), [&](Writer& out) { out.write(size_, bytes); });
  }
  size_ += bytes.size();
}

void OutputFile::append(const Buffer& buffer) {
  check_open();
  if (buffer.size() < kSmallBytes) {
    gather(buffer.bytes());
  } else {
    flush();
    write_out(buffer.size(), [&](Writer& out) { out.submit(size_, buffer); });
  }
  size_ += buffer.size();
}

void OutputFile::gather(std::span<const std::byte> bytes) {
  if (gathered_.size() + bytes.size() > kGatheredBytes) flush();
  gathered_.reserve(kGatheredBytes);
  gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
  call_context().tally.copied_bytes += bytes.size();
}

void OutputFile::overwrite(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (offset > size_ || bytes.size() > size_ - offset) {
    throw Error("only what was appended can be overwritten: " + std::to_string(bytes.size()) + " bytes here, " +
                std::to_string(size_) + " in the file")
        .at_path(target_)
        .at_offset(offset);
  }
  flush();
  write_out(bytes.size(), [&](Writer& out) { out.write(offset, bytes); });
}

void OutputFile::publish() { finish_as(target_); }

void OutputFile::keep_as_partial() {
  fs::path partial = target_;
  partial += ".partial";
  finish_as(partial);
}

void OutputFile::finish(Sink::End end) {
  if (end == Sink::End::complete) {
    publish();
  } else {
    keep_as_partial();
  }
}

void OutputFile::discard() noexcept {
  if (state_ == State::finished) return;
  if (writer_ != nullptr) {
    closed_stats_ = stats();
    writer_.reset();
  }
  file_.reset();
  state_ = State::discarded;
}

IoStats OutputFile::stats() const {
  if (writer_ != nullptr) return writer_->stats();
  IoStats stats = closed_stats_;
  stats.transport_requested = via_.transport_requested;
  stats.transport_used = via_.transport;
  return stats;
}

std::vector<Sink::Output> OutputFile::outputs() const {
  if (state_ != State::finished) return {};
  return {{final_path_, size_}};
}

std::vector<std::string> OutputFile::plan_notes() const {
  std::vector<std::string> notes = via_.warnings;
  if (!via_.note.empty()) notes.push_back(via_.note);
  return notes;
}

std::uint64_t OutputFile::state_bytes() const { return kGatheredBytes + io::state_bytes(via_); }

void OutputFile::check_open() const {
  if (state_ == State::finished || state_ == State::discarded) {
    throw Error("the output is closed already").at_path(target_);
  }
}

Writer& OutputFile::writer() {
  check_open();
  if (writer_ == nullptr) {
    naming_target([this] {
      file_.emplace(target_);
      writer_ = open_writer(file_->descriptor(), target_, via_);
    });
    state_ = State::open;
  }
  return *writer_;
}

void OutputFile::flush() {
  if (gathered_.empty()) return;
  const std::uint64_t offset = size_ - gathered_.size();
  write_out(gathered_.size(), [&](Writer& out) { out.write(offset, gathered_); });
  gathered_.clear();
}

void OutputFile::finish_as(const fs::path& final_path) {
  Writer& out = writer();
  flush();
  naming_target([&] { via_.fsync == Fsync::never ? out.flush() : out.sync(); });
  closed_stats_ = out.stats();
  const IoWait wait(monotonic_clock(), 0);
  file_->publish(final_path);
  writer_.reset();
  final_path_ = final_path;
  state_ = State::finished;
  if (via_.fsync != Fsync::never) {
    const std::int64_t before_ns = wait.wall_ns();
    file_->sync_name();
    closed_stats_.fsync_ns += wait.wall_ns() - before_ns;
    ++closed_stats_.fsync_calls;
  }
  file_.reset();
}

}  // namespace millrace::io
