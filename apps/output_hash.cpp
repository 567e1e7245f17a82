#include "apps/output_hash.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <set>

#include "io/file_descriptor.h"
#include "pipeline/core/error.h"

namespace millrace::apps {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    check(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void add(const void* data, std::size_t bytes) { check(EVP_DigestUpdate(context_.get(), data, bytes) == 1); }
  std::string finish() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned length = 0;
    check(EVP_DigestFinal_ex(context_.get(), digest.data(), &length) == 1);
    std::string text;
    for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest.at(i));
    return text;
  }

 private:
  static void check(bool success) {
    if (!success) throw Error("OpenSSL cannot compute SHA-256");
  }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string sha256_of(std::string_view text) {
  Sha256 hash;
  hash.add(text.data(), text.size());
  return hash.finish();
}

std::string sha256_of_file(const std::filesystem::path& path) {
  constexpr std::size_t kBlockBytes = 1U << 20;
  const io::FileDescriptor file = io::open_input(path);
  std::vector<std::byte> block(kBlockBytes);
  Sha256 hash;
  for (;;) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error("cannot read the file to hash it", errno).at_path(path);
    if (got == 0) return hash.finish();
    hash.add(block.data(), static_cast<std::size_t>(got));
  }
}

void sync_file_systems_of(const std::vector<std::filesystem::path>& files) {
  std::set<dev_t> done;
  for (const auto& path : files) {
    const io::FileDescriptor file = io::open_input(path);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) throw system_error("cannot look at the output", errno).at_path(path);
    if (!done.insert(status.st_dev).second) continue;
    if (::syncfs(file.get()) != 0) throw system_error("cannot force the output to the device", errno).at_path(path);
  }
}

}  // namespace millrace::apps
