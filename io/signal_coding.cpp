#include "io/signal_coding.h"

#include <fmt/format.h>
#include <libdeflate.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

constexpr std::string_view kVbzPrefix = "vbz:";
constexpr std::string_view kPod5Vbz = "pod5-vbz";
constexpr std::size_t kChecksumBytes = 4;
// Deflate stores at best 258 bytes in 2 bits; zstd at best a block of 128 KiB in 4 bytes, of which VBZ makes up to 3.2
// times as much.
constexpr std::uint64_t kMaxDeflateRatio = 1032;
constexpr std::uint64_t kMaxVbzRatio = 1 << 17;
constexpr std::uint64_t kMaxPod5VbzRatio = 1 << 16;  // more than a byte per sample in the same blocks

std::string text_of(const SignalFilter& filter) {
  switch (filter.kind) {
    case SignalFilter::Kind::deflate:
      return "deflate";
    case SignalFilter::Kind::shuffle:
      return "shuffle";
    case SignalFilter::Kind::fletcher32:
      return "fletcher32";
    case SignalFilter::Kind::vbz:
      return fmt::format("{}{}", kVbzPrefix, fmt::join(filter.vbz.filter_values(), ","));
    case SignalFilter::Kind::pod5_vbz:
      return std::string(kPod5Vbz);
  }
  return {};
}

Error unknown_coding(std::string_view text) { return Error(fmt::format("'{}' is no coding of signal", text)); }

Vbz parse_vbz(std::string_view text) {
  std::vector<std::uint32_t> values;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::uint32_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || (next != end && (*next != ',' || next + 1 == end))) throw unknown_coding(text);
    values.push_back(value);
    at = next == end ? end : next + 1;
  }
  return Vbz::from_filter_values(values);
}

SignalFilter parse_filter(std::string_view text) {
  using Kind = SignalFilter::Kind;
  if (text == "deflate") return {Kind::deflate, {}};
  if (text == "shuffle") return {Kind::shuffle, {}};
  if (text == "fletcher32") return {Kind::fletcher32, {}};
  if (text == kPod5Vbz) return {Kind::pod5_vbz, {}};
  if (text.starts_with(kVbzPrefix)) return {Kind::vbz, parse_vbz(text.substr(kVbzPrefix.size()))};
  throw unknown_coding(text);
}

/// HDF5's checksum: Fletcher over 16-bit words read high byte first, an odd last byte in the high half.
std::uint32_t fletcher32(std::span<const std::byte> bytes) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool all_zero = true;
  constexpr std::size_t kWordsPerFold = 1 << 14;  // low stays below 2^31 and high below 2^46 until the next fold
  const std::size_t words = bytes.size() / 2;
  for (std::size_t word = 0; word < words;) {
    const std::size_t end = std::min(words, word + kWordsPerFold);
    for (; word < end; ++word) {
      low +=
          (std::to_integer<std::uint32_t>(bytes[2 * word]) << 8) | std::to_integer<std::uint32_t>(bytes[2 * word + 1]);
      high += low;
    }
    all_zero = all_zero && low == 0;
    low %= 65535;
    high %= 65535;
  }
  if (bytes.size() % 2 != 0) {
    all_zero = all_zero && bytes.back() == std::byte{0};
    low = (low + (std::to_integer<std::uint32_t>(bytes.back()) << 8)) % 65535;
    high = (high + low) % 65535;
  }
  // The library folds end-around carries, for which a sum that is a multiple of 65535 is 65535 unless all was zero.
  if (low == 0 && !all_zero) low = 65535;
  if (high == 0 && !all_zero) high = 65535;
  return static_cast<std::uint32_t>((high << 16) | low);
}

/// Files written by HDF5 before 1.6.3 on little-endian machines have the bytes of each half swapped.
std::uint32_t swapped_halves(std::uint32_t sum) { return ((sum & 0x00ff00ffU) << 8) | ((sum >> 8) & 0x00ff00ffU); }

std::span<const std::byte> checked(std::span<const std::byte> input) {
  if (input.size() < kChecksumBytes) throw Error("a piece of signal is too short for its checksum");
  const auto data = input.first(input.size() - kChecksumBytes);
  std::uint32_t stored;
  std::memcpy(&stored, input.data() + data.size(), sizeof stored);
  const std::uint32_t sum = fletcher32(data);
  if (stored != sum && stored != swapped_halves(sum)) {
    throw Error(fmt::format("a piece of signal is damaged: its checksum is {:08x}, not {:08x}", sum, stored));
  }
  return data;
}

/// All low bytes, then all high bytes -> samples; an odd byte at the end stays where it is.
void unshuffle(std::span<const std::byte> input, std::byte* output) {
  const std::size_t count = input.size() / 2;
  const std::byte* const low = input.data();
  const std::byte* const high = low + count;
  for (std::size_t i = 0; i < count; ++i) {
    output[2 * i] = low[i];
    output[2 * i + 1] = high[i];
  }
  if (input.size() % 2 != 0) output[input.size() - 1] = input.back();
}

}  // namespace

std::string text_of(const SignalCoding& coding) {
  std::string text;
  for (const auto& filter : coding) text += (text.empty() ? "" : "+") + text_of(filter);
  return text.empty() ? "none" : text;
}

SignalCoding parse_signal_coding(std::string_view text) {
  SignalCoding coding;
  if (text == "none") return coding;
  for (;;) {
    const auto end = text.find('+');
    coding.push_back(parse_filter(text.substr(0, end)));
    if (end == std::string_view::npos) return coding;
    text.remove_prefix(end + 1);
  }
}

std::uint64_t max_samples(const SignalCoding& coding, std::uint64_t encoded_bytes) {
  std::uint64_t bytes = encoded_bytes;
  for (const auto& filter : coding) {
    std::uint64_t ratio = 1;
    if (filter.kind == SignalFilter::Kind::deflate) ratio = kMaxDeflateRatio;
    if (filter.kind == SignalFilter::Kind::vbz) ratio = kMaxVbzRatio;
    if (filter.kind == SignalFilter::Kind::pod5_vbz) ratio = kMaxPod5VbzRatio;
    if (bytes > std::numeric_limits<std::uint64_t>::max() / ratio) return std::numeric_limits<std::uint64_t>::max();
    bytes *= ratio;
  }
  return bytes / sizeof(std::int16_t);
}

struct SignalDecoder::Inflater {
  struct Free {
    void operator()(libdeflate_decompressor* decompressor) const { libdeflate_free_decompressor(decompressor); }
  };
  std::unique_ptr<libdeflate_decompressor, Free> decompressor{libdeflate_alloc_decompressor()};
};

SignalDecoder::SignalDecoder() : inflater_(std::make_unique<Inflater>()) {
  if (!inflater_->decompressor) throw Error("no memory for a deflate decoder");
}

SignalDecoder::~SignalDecoder() = default;

std::uint64_t SignalDecoder::scratch_bytes() const {
  return vbz_.scratch_bytes() + pod5_vbz_.scratch_bytes() + scratch_[0].capacity() + scratch_[1].capacity();
}

/// Undoes one step into `output`; returns the bytes that came out, which may be a part of `input`.
std::span<const std::byte> SignalDecoder::undo(const SignalFilter& filter, std::span<const std::byte> input,
                                               std::span<std::byte> output) {
  switch (filter.kind) {
    case SignalFilter::Kind::fletcher32:
      return checked(input);
    case SignalFilter::Kind::shuffle:
      if (input.size() > output.size()) throw Error(fmt::format("a piece of signal has {} bytes", input.size()));
      unshuffle(input, output.data());
      return output.first(input.size());
    case SignalFilter::Kind::deflate: {
      std::size_t used = 0;
      std::size_t got = 0;
      const auto result = libdeflate_zlib_decompress_ex(inflater_->decompressor.get(), input.data(), input.size(),
                                                        output.data(), output.size(), &used, &got);
      if (result == LIBDEFLATE_INSUFFICIENT_SPACE) {
        throw Error(fmt::format("a piece of signal holds more than the {} bytes expected", output.size()));
      }
      if (result != LIBDEFLATE_SUCCESS || used != input.size())
        throw Error("a piece of signal is damaged: bad deflate data");
      return output.first(got);
    }
    case SignalFilter::Kind::vbz:
    case SignalFilter::Kind::pod5_vbz:
      throw Error("VBZ must be the first step of a coding");
  }
  return {};
}

void SignalDecoder::decode(std::span<const std::byte> piece, const SignalCoding& coding, std::uint32_t filter_mask,
                           std::span<std::int16_t> samples) {
  if (samples.size() > max_samples(coding, piece.size())) {
    throw Error(fmt::format("{} samples cannot be in {} bytes of signal", samples.size(), piece.size()));
  }
  const std::uint64_t got = decode_up_to(piece, coding, filter_mask, samples);
  if (got != samples.size()) {
    throw Error(fmt::format("a piece of signal holds {} samples; {} expected", got, samples.size()));
  }
}

std::uint64_t SignalDecoder::decode_up_to(std::span<const std::byte> piece, const SignalCoding& coding,
                                          std::uint32_t filter_mask, std::span<std::int16_t> samples) {
  const auto output = std::as_writable_bytes(samples);
  std::span<const std::byte> data = piece;
  std::size_t turn = 0;
  for (std::size_t step = coding.size(); step-- > 0;) {
    if (step < 32 && ((filter_mask >> step) & 1U) != 0) continue;
    if (step == 0 && coding[step].kind == SignalFilter::Kind::vbz) {
      const std::uint64_t count = std::min<std::uint64_t>(VbzDecoder::samples_in(data), samples.size());
      vbz_.decode(data, coding[step].vbz, samples.first(count));
      return count;
    }
    if (step == 0 && coding[step].kind == SignalFilter::Kind::pod5_vbz) {
      pod5_vbz_.decode(data, samples);  // does not say how many it holds: exactly those or an error
      return samples.size();
    }
    if (step == 0) {
      data = undo(coding[step], data, output);
      continue;
    }
    // Steps that come before add at most a checksum each to what the samples take.
    const std::size_t room = output.size() + kChecksumBytes * step;
    auto& scratch = scratch_[turn];
    turn ^= 1U;
    if (scratch.size() < room) scratch.resize(room);
    data = undo(coding[step], data, std::span(scratch).first(room));
  }
  if (data.size() > output.size() || data.size() % sizeof(std::int16_t) != 0) {
    throw Error(fmt::format("a piece of signal holds {} bytes; {} expected", data.size(), output.size()));
  }
  if (!data.empty() && data.data() != output.data()) std::memcpy(output.data(), data.data(), data.size());
  return data.size() / sizeof(std::int16_t);
}

}  // namespace millrace::io
