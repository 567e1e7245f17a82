#include "tests/support/file_systems.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/support/command.h"
#include "tests/support/private_mounts.h"
#include "tests/support/slow_mount.h"
#include "tests/support/temp_directory.h"

namespace millrace::test {
namespace {

/// Why a file system cannot be made here; for Place::missing.
struct Missing : std::runtime_error {
  using std::runtime_error::runtime_error;
};
[[noreturn]] void missing(const std::string& what) { throw Missing(what + ": " + std::strerror(errno)); }

/// A directory, and what is mounted there until it goes.
class Mounted {
 public:
  Mounted(const Mounted&) = delete;
  Mounted& operator=(const Mounted&) = delete;
  virtual ~Mounted() { unmount(); }
  const std::filesystem::path& directory() const { return directory_; }

 protected:
  Mounted() : directory_(home_ / "mount") { std::filesystem::create_directory(directory_); }
  void mount(const std::string& source, const std::string& type, const std::string& options = {}) {
    if (::geteuid() != 0) throw Missing("only root may mount " + type);
    keep_mounts_private();
    if (::mount(source.c_str(), directory_.c_str(), type.c_str(), 0, options.c_str()) != 0) {
      missing(type + " cannot be mounted");
    }
    mounted_ = true;
  }
  void unmount() {
    if (std::exchange(mounted_, false)) ::umount2(directory_.c_str(), MNT_DETACH);
  }

  TempDirectory home_;
  std::filesystem::path directory_;

 private:
  bool mounted_ = false;
};

class Local final : public Mounted {};

class Tmpfs final : public Mounted {
 public:
  Tmpfs() { mount("millrace_test", "tmpfs", "size=200m"); }
};

/// An image file as a block device, which goes when nobody has it open or mounted.
class LoopDevice {
 public:
  LoopDevice(const std::filesystem::path& image, std::uint32_t sector_bytes) {
    const int control = ::open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    const int file = ::open(image.c_str(), O_RDWR | O_CLOEXEC);
    loop_config config{};
    config.fd = static_cast<std::uint32_t>(file);
    config.block_size = sector_bytes;
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
    // Another process may take the free device first; then there is another one.
    for (int tries = 0; control >= 0 && file >= 0 && tries < 100 && device_ < 0; ++tries) {
      path_ = "/dev/loop" + std::to_string(::ioctl(control, LOOP_CTL_GET_FREE));
      device_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
      if (device_ >= 0 && ::ioctl(device_, LOOP_CONFIGURE, &config) != 0) {
        ::close(std::exchange(device_, -1));
        if (errno != EBUSY) break;
      }
    }
    const int reason = errno;
    if (control >= 0) ::close(control);
    if (file >= 0) ::close(file);
    errno = reason;
    if (device_ < 0) missing("no loop device");
  }
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;
  ~LoopDevice() { ::close(device_); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int device_ = -1;
};

/// A file system made by a mkfs program in a sparse file.
class Image final : public Mounted {
 public:
  Image(const std::string& type, std::uint64_t mebibytes, const std::string& mkfs_options,
        std::uint32_t sector_bytes = 512) {
    if (::geteuid() != 0) throw Missing("only root may mount " + type);
    const auto image = home_.write("image", "");
    std::filesystem::resize_file(image, mebibytes << 20);
    const LoopDevice device(image, sector_bytes);
    Command::Settings settings;
    settings.program = "/bin/sh";
    const std::string mkfs = "PATH=$PATH:/usr/sbin:/sbin; mkfs." + type + " -q " + mkfs_options + " " + device.path();
    const CommandResult made = Command({"-c", mkfs}, settings).wait();
    if (made.exit_code != 0) throw Missing("mkfs." + type + " does not work here: " + made.err);
    mount(device.path(), type);
  }
};

/// A directory over an empty one, both on ext4: overlay does not take everything that temporary files may lie on.
class Overlay final : public Mounted {
 public:
  Overlay() : base_("ext4", 256, "") {
    const std::string base = base_.directory().string();
    for (const auto* const part : {"/lower", "/upper", "/work"}) std::filesystem::create_directory(base + part);
    mount("overlay", "overlay", "lowerdir=" + base + "/lower,upperdir=" + base + "/upper,workdir=" + base + "/work");
  }

  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;
  ~Overlay() override { unmount(); }  // before what it lies on

 private:
  Image base_;
};

class Fuse final : public Mounted {
 public:
  Fuse() {
    if (!slow_.mounted()) throw Missing(slow_.reason());
    directory_ = slow_.directory();
  }

 private:
  SlowMount slow_;
};

std::unique_ptr<Mounted> make(FileSystem kind) {
  switch (kind) {
    case FileSystem::local:
      return std::make_unique<Local>();
    case FileSystem::ext4:
      return std::make_unique<Image>("ext4", 256, "");
    case FileSystem::ext4_4k:
      return std::make_unique<Image>("ext4", 256, "", 4096);
    case FileSystem::xfs:
      return std::make_unique<Image>("xfs", 400, "");
    case FileSystem::btrfs:
      return std::make_unique<Image>("btrfs", 256, "");
    case FileSystem::tmpfs:
      return std::make_unique<Tmpfs>();
    case FileSystem::overlay:
      return std::make_unique<Overlay>();
    case FileSystem::fuse:
      return std::make_unique<Fuse>();
  }
  return nullptr;
}

}  // namespace

std::string name_of(FileSystem kind) {
  static const std::map<FileSystem, std::string> kNames = {
      {FileSystem::local, "local"},     {FileSystem::ext4, "ext4"},   {FileSystem::ext4_4k, "ext4_4k"},
      {FileSystem::xfs, "xfs"},         {FileSystem::btrfs, "btrfs"}, {FileSystem::tmpfs, "tmpfs"},
      {FileSystem::overlay, "overlay"}, {FileSystem::fuse, "fuse"}};
  return kNames.at(kind);
}

const Place& place_on(FileSystem kind) {
  struct Made {
    std::unique_ptr<Mounted> mounted;
    Place place;
  };
  static std::map<FileSystem, Made> all;
  if (const auto found = all.find(kind); found != all.end()) return found->second.place;
  Made& made = all[kind];
  try {
    made.mounted = make(kind);
    made.place.directory = made.mounted->directory() / "files";
    std::filesystem::create_directory(made.place.directory);
  } catch (const Missing& reason) {
    made.place.missing = reason.what();
  }
  return made.place;
}

}  // namespace millrace::test
