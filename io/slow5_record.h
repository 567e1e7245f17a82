#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "io/slow5_header.h"
#include "io/slow5_unpack.h"
#include "pipeline/core/attributes.h"

namespace millrace::io {

/// One record, taken apart. Views into the record or into the memory of who opened it.
struct Slow5Record {
  std::string_view id;
  std::uint32_t group = 0;
  double digitisation = 0;
  double offset = 0;
  double range = 0;
  double sampling_rate = 0;  ///< Hz
  std::uint64_t samples = 0;
  std::span<const std::byte> signal;     ///< still coded; of a text record: numbers joined by commas
  std::span<const std::byte> auxiliary;  ///< the other fields, in the order of the header
};

/// Takes the front of an unpacked binary record apart as far as its bytes go: false when there are too few. `record`
/// then has the id, the group, the four numbers and `samples`; its spans are empty. Error: a field that cannot be.
bool parse_front(std::span<const std::byte> front, Slow5SignalCoding coding, Slow5Record& record);
/// Bytes that parse_front may need at most, and how many do for an id of usual length.
inline constexpr std::uint64_t kMaxFrontBytes = 2 + 65535 + 4 + 4 * 8 + 8 + 4;
inline constexpr std::uint64_t kUsualFrontBytes = 256;

/// The same of a line of text, of which the first seven columns are needed.
Slow5Record parse_line_front(std::string_view head);

/// Most samples that `bytes` bytes of an unpacked binary record can stand for.
std::uint64_t max_slow5_samples(std::uint64_t bytes, Slow5SignalCoding coding);

/// Decodes records of one file after the other. Keeps its memory from call to call. One thread at a time.
class Slow5RecordDecoder {
 public:
  /// Most bytes beside the samples that a record may hold: names, numbers and auxiliary fields.
  static constexpr std::uint64_t kMaxOtherBytes = 1 << 20;

  /// Unpacks and takes apart one record as it stands in the file: with the 8 bytes of its length, or a line with its
  /// end. Valid until the next call, and while `stored` is. Error: damaged, an id that cannot be printed, a group that
  /// the header does not have, more than `max_samples` samples (nothing is allocated for them then).
  Slow5Record open(std::span<const std::byte> stored, const Slow5Coding& coding, const Slow5Header& header,
                   std::uint64_t max_samples);

  /// The samples of a record that was opened last; `samples` has record.samples elements. Error: damaged.
  void decode(const Slow5Record& record, const Slow5Coding& coding, std::span<std::int16_t> samples);

  /// What the record says beside its samples, added to `attributes`: read_id, samples, digitisation, offset, range,
  /// sampling_rate, read_group; then the auxiliary fields under their own names: integers, numbers, texts (of arrays:
  /// joined by commas; of enumerations: the label). Fields without a value, and those whose name is taken, are left
  /// out. Error: damaged.
  static void add_attributes(const Slow5Record& record, const Slow5Coding& coding, const Slow5Header& header,
                             Attributes& attributes);

  std::uint64_t scratch_bytes() const { return scratch_.capacity(); }

 private:
  Slow5Unpacker unpacker_;
  std::vector<std::byte> scratch_;  // a stream with readable bytes behind it
};

}  // namespace millrace::io
