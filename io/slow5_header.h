#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::io {

/// How every record of a BLOW5 file is compressed as a whole. The numbers are those of the file.
enum class Slow5Packing : std::uint8_t { none = 0, zlib = 1, zstd = 2 };
/// How the signal inside a record is coded before that: as it is, or as StreamVByte of zig-zagged differences.
enum class Slow5SignalCoding : std::uint8_t { none = 0, svb_zd = 1 };

/// How the records of a file are written: one line of text each, or binary.
struct Slow5Coding {
  bool text = false;  ///< SLOW5; the other two are `none` then
  Slow5Packing packing = Slow5Packing::none;
  Slow5SignalCoding signal = Slow5SignalCoding::none;
  bool operator==(const Slow5Coding&) const = default;
};

/// "slow5" for text, else "blow5:PACKING,SIGNAL" ("blow5:zstd,svb-zd"): what the attribute "coding" of a chunk says.
std::string text_of(const Slow5Coding& coding);
/// Whether an attribute "coding" is one of those above.
bool is_slow5_coding(std::string_view text);
/// The reverse of text_of. Error when it is none of these.
Slow5Coding parse_slow5_coding(std::string_view text);

/// A field that records have beside the eight that all have.
struct Slow5Field {
  enum class Kind : std::uint8_t { i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, character, enumeration };
  std::string name;
  Kind kind = Kind::i32;
  bool array = false;
  std::vector<std::string> labels;  ///< of an enumeration, by value
  bool operator==(const Slow5Field&) const = default;
};

/// Bytes of one element in a binary record.
std::size_t size_of(Slow5Field::Kind kind);

/// What is known of a run: one value per read group, "." = none.
struct Slow5Attribute {
  std::string name;
  std::vector<std::string> values;
  bool operator==(const Slow5Attribute&) const = default;
};

/// An attribute that says nothing: slow5_writer fills up with it the room for runs that may still come. Sorts behind
/// what instruments write.
inline constexpr std::string_view kSlow5Padding = "zz_reserved";

/// The header of a SLOW5 or BLOW5 file, versions 0.1.0 to 1.1.0. Source: hasindu2008/slow5specs.
struct Slow5Header {
  std::array<std::uint8_t, 3> version{1, 0, 0};
  std::uint32_t groups = 1;
  std::vector<Slow5Attribute> attributes;
  std::vector<Slow5Field> fields;

  /// Value of an attribute for one group; empty when there is none.
  std::string_view value(std::string_view name, std::uint32_t group) const;
  bool operator==(const Slow5Header&) const = default;
};

/// The header as the text that a SLOW5 file begins with: "#slow5_version", "#num_read_groups", one line "@NAME" per
/// attribute, the types and the names of the fields.
std::string text_of(const Slow5Header& header);
/// The last part of it, from the first attribute on, as BLOW5 files have it.
std::string body_text_of(const Slow5Header& header);

/// Reads the text of a SLOW5 file's header, whole. Error with an offset in `text`.
Slow5Header parse_slow5_header(std::string_view text);
/// Reads the text of a BLOW5 file's header into a header whose version and groups are known. Error as above.
void parse_slow5_body(std::string_view text, Slow5Header& header);

/// Where the records of a BLOW5 file begin, and what was said before them.
struct Blow5Start {
  Slow5Header header;
  Slow5Coding coding;
  std::uint32_t text_bytes = 0;  ///< of the text that follows the 68 bytes
};
inline constexpr std::size_t kBlow5StartBytes = 68;
inline constexpr std::string_view kBlow5EndMark = "5WOLB";

/// Reads the first 68 bytes of a BLOW5 file; the text is still to be parsed. Error with an offset: no BLOW5 file, a
/// version, a compression or a number of groups that is not supported.
Blow5Start parse_blow5_start(std::string_view bytes);
/// The reverse.
std::string blow5_start_of(const Slow5Header& header, const Slow5Coding& coding, std::uint32_t text_bytes);

}  // namespace millrace::io
