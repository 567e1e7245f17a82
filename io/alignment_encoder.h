#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace millrace::io {

enum class AlignmentFormat { sam, bam, cram };

/// An optional field of a record: two characters, a type and the value that belongs to it.
struct SamTag {
  enum class Type { integer, number, text };
  std::array<char, 2> name{};
  Type type = Type::integer;
  std::int64_t integer = 0;  ///< -2^31 to 2^32 - 1
  float number = 0;
  std::string text;  ///< printable ASCII
};

/// A read that is aligned to nothing. Bases are letters, qualities numbers, both equally many.
struct UnalignedRead {
  std::string_view name;  ///< 1 to 254 printable characters without blanks
  std::string_view bases;
  std::span<const std::uint8_t> qualities;
  std::span<const SamTag> tags;
};

/// Makes the records of SAM, BAM and CRAM files with htslib, which gets no file to write to: its bytes come back to the
/// caller, who owns the file. htslib's own messages are switched off for the whole process; what fails is an Error. One
/// thread at a time.
class AlignmentEncoder {
 public:
  /// `header`: the text that the file begins with. SAM and BAM records do not depend on it, so it may change later;
  /// CRAM's do. Error when htslib cannot read it. `level`: of CRAM's compression, 0 to 9.
  AlignmentEncoder(AlignmentFormat format, const std::string& header, int level);
  AlignmentEncoder(const AlignmentEncoder&) = delete;
  AlignmentEncoder& operator=(const AlignmentEncoder&) = delete;
  ~AlignmentEncoder();

  /// The bytes that the read adds to the file: a line of SAM, a BAM record as it is under BGZF, or the containers of a
  /// CRAM file that are ready (often nothing; the first bytes are the file's start with the header). Valid until the
  /// next call.
  std::span<const std::byte> encode(const UnalignedRead& read);
  /// What is left at the end: nothing but for CRAM. Once.
  std::span<const std::byte> finish();

  /// Memory of one encoder for reads of up to `max_bases` bases.
  static std::uint64_t memory_bytes(AlignmentFormat format, std::uint64_t max_bases);

 private:
  class Record;
  class CramStream;

  AlignmentFormat format_;
  std::unique_ptr<Record> record_;
  std::unique_ptr<CramStream> cram_;
};

/// The start of a BAM file under BGZF: magic, the header's text, no references. Error when the text is too long.
std::string bam_start_of(std::string_view header);

}  // namespace millrace::io
