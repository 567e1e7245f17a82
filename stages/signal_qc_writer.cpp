#include "stages/signal_qc_writer.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <iterator>
#include <span>

namespace millrace {
namespace {

constexpr std::string_view kHeader = "read_id\tsamples\tsum\tmin\tmax\tsha256_i16le\n";

struct Summary {
  std::int64_t sum = 0;
  std::int16_t min = 0;
  std::int16_t max = 0;
};

Summary summary_of(std::span<const std::int16_t> samples) {
  Summary summary;
  if (samples.empty()) return summary;
  summary.min = samples.front();
  summary.max = samples.front();
  for (const std::int16_t sample : samples) {
    summary.sum += sample;
    summary.min = std::min(summary.min, sample);
    summary.max = std::max(summary.max, sample);
  }
  return summary;
}

}  // namespace

/// SHA-256 by OpenSSL, fetched once: looking the algorithm up costs more than hashing a short read.
struct SignalQcWriter::Hash {
  struct Free {
    void operator()(EVP_MD* algorithm) const { EVP_MD_free(algorithm); }
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  static constexpr std::size_t kBytes = 32;

  std::unique_ptr<EVP_MD, Free> algorithm{EVP_MD_fetch(nullptr, "SHA256", nullptr)};
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};

  Hash() {
    if (!algorithm || !context) throw Error("OpenSSL offers no SHA-256");
  }

  std::array<unsigned char, kBytes> of(std::span<const std::byte> bytes) {
    std::array<unsigned char, kBytes> result{};
    if (EVP_DigestInit_ex2(context.get(), algorithm.get(), nullptr) != 1 ||
        EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) != 1 ||
        EVP_DigestFinal_ex(context.get(), result.data(), nullptr) != 1) {
      throw Error("OpenSSL could not make a SHA-256");
    }
    return result;
  }
};

SignalQcWriter::SignalQcWriter(const Options& options)
    : FileSink(options, "TSV file to write; appears when it is complete") {}

SignalQcWriter::~SignalQcWriter() = default;

void SignalQcWriter::prepare(const ChunkType& input) {
  input.require(DType::i16).require("signal");
  hash_ = std::make_unique<Hash>();
  open();
  output().append(kHeader);
}

void SignalQcWriter::consume(Chunk chunk) {
  const auto id = chunk.attributes().text("read_id");
  if (!id) throw Error("needs the attribute 'read_id', which its input does not have");
  const auto samples = chunk.view<std::int16_t>();
  const Summary summary = summary_of(samples);
  row_.clear();
  fmt::format_to(std::back_inserter(row_), "{}\t{}\t{}\t{}\t{}\t", *id, samples.size(), summary.sum, summary.min,
                 summary.max);
  for (const unsigned char byte : hash_->of(chunk.bytes())) fmt::format_to(std::back_inserter(row_), "{:02x}", byte);
  row_ += '\n';
  output().append(row_);
}

}  // namespace millrace
