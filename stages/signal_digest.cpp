#include "stages/signal_digest.h"

#include <openssl/evp.h>

#include "pipeline/core/error.h"

namespace millrace {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

std::optional<unsigned char> digit_of(char c) {
  const auto at = kDigits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<unsigned char>(at);
}

}  // namespace

std::string hex_of(const SignalDigest& digest) {
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += kDigits[byte >> 4U];
    hex += kDigits[byte & 15U];
  }
  return hex;
}

std::optional<SignalDigest> digest_of(std::string_view hex) {
  SignalDigest digest{};
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const auto high = digit_of(hex[2 * i]);
    const auto low = digit_of(hex[2 * i + 1]);
    if (!high || !low) return std::nullopt;
    digest[i] = static_cast<unsigned char>(*high << 4U | *low);
  }
  return digest;
}

struct SignalHasher::Context {
  struct Free {
    void operator()(EVP_MD* algorithm) const { EVP_MD_free(algorithm); }
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };

  std::unique_ptr<EVP_MD, Free> algorithm{EVP_MD_fetch(nullptr, "SHA256", nullptr)};
  std::unique_ptr<EVP_MD_CTX, Free> state{EVP_MD_CTX_new()};
};

SignalHasher::SignalHasher() : context_(std::make_unique<Context>()) {
  if (!context_->algorithm || !context_->state) throw Error("OpenSSL offers no SHA-256");
}

SignalHasher::~SignalHasher() = default;

SignalDigest SignalHasher::of(std::span<const std::byte> samples) {
  SignalDigest digest{};
  EVP_MD_CTX* const state = context_->state.get();
  if (EVP_DigestInit_ex2(state, context_->algorithm.get(), nullptr) != 1 ||
      EVP_DigestUpdate(state, samples.data(), samples.size()) != 1 ||
      EVP_DigestFinal_ex(state, digest.data(), nullptr) != 1) {
    throw Error("OpenSSL could not make a SHA-256");
  }
  return digest;
}

}  // namespace millrace
