#include "io/slow5_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

using Kind = Slow5Field::Kind;

constexpr std::string_view kTextCoding = "slow5";
constexpr std::string_view kBinaryCoding = "blow5:";
constexpr std::string_view kVersionLine = "#slow5_version\t";
constexpr std::string_view kGroupsLine = "#num_read_groups\t";
constexpr std::string_view kMagic{"BLOW5\1", 6};
constexpr std::string_view kTypes = "#char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\tint16_t*";
constexpr std::string_view kNames =
    "#read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\tlen_raw_signal\traw_signal";
constexpr std::array<std::string_view, 3> kPackings{"none", "zlib", "zstd"};
constexpr std::array<std::string_view, 2> kSignalCodings{"none", "svb-zd"};
constexpr std::string_view kEnumeration = "enum{";
constexpr std::size_t kMaxLabels = 255;  // 255 itself says that there is no value

struct NamedKind {
  std::string_view name;
  Kind kind;
  std::size_t bytes;
};

constexpr std::array<NamedKind, 11> kKinds{{{"int8_t", Kind::i8, 1},
                                            {"int16_t", Kind::i16, 2},
                                            {"int32_t", Kind::i32, 4},
                                            {"int64_t", Kind::i64, 8},
                                            {"uint8_t", Kind::u8, 1},
                                            {"uint16_t", Kind::u16, 2},
                                            {"uint32_t", Kind::u32, 4},
                                            {"uint64_t", Kind::u64, 8},
                                            {"float", Kind::f32, 4},
                                            {"double", Kind::f64, 8},
                                            {"char", Kind::character, 1}}};

/// The lines of a text, with their places in it.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  std::uint64_t offset() const { return at_; }
  bool empty() const { return at_ == text_.size(); }
  std::string_view peek() const {
    const auto rest = text_.substr(at_);
    return rest.substr(0, rest.find('\n'));
  }
  /// The line at hand, which has an end.
  std::string_view whole() const {
    const std::string_view line = peek();
    if (at_ + line.size() == text_.size()) throw wrong("ends in the middle of a line");
    return line;
  }
  std::string_view take() {
    const std::string_view line = whole();
    at_ += line.size() + 1;
    return line;
  }
  Error wrong(const std::string& what) const { return Error("the header " + what).at_offset(at_); }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// What goes into reports and onto terminals, shortened.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 40;
  std::string result(text.substr(0, kMost));
  std::replace_if(
      result.begin(), result.end(), [](unsigned char c) { return c < 0x20 || c > 0x7E; }, '?');
  return text.size() > kMost ? result + "..." : result;
}

template <typename T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::array<std::uint8_t, 3> version_of(std::string_view text, const Lines& lines) {
  const auto parts = split(text, '.');
  std::array<std::uint8_t, 3> version{};
  if (parts.size() != version.size()) throw lines.wrong("has no version: '" + shown(text) + "'");
  for (std::size_t i = 0; i < version.size(); ++i) {
    const auto part = number<std::uint8_t>(parts[i]);
    if (!part) throw lines.wrong("has no version: '" + shown(text) + "'");
    version[i] = *part;
  }
  return version;
}

bool is_known(const std::array<std::uint8_t, 3>& version) {
  return version[0] == 0 ? version[1] >= 1 && version[1] <= 2 : version[0] == 1 && version[1] <= 1;
}

Error unknown_version(const std::array<std::uint8_t, 3>& version) {
  return Error(fmt::format("version {} is not supported; 0.1.0 to 1.1.0 are", fmt::join(version, ".")));
}

Slow5Attribute attribute_of(std::string_view line, std::uint32_t groups, const Lines& lines) {
  const auto parts = split(line.substr(1), '\t');
  if (parts.front().empty()) throw lines.wrong("has an attribute without a name");
  if (parts.size() - 1 != groups) {
    throw lines.wrong(
        fmt::format("has {} values of '{}' for {} read groups", parts.size() - 1, shown(parts.front()), groups));
  }
  return {std::string(parts.front()), {parts.begin() + 1, parts.end()}};
}

std::vector<std::string> labels_of(std::string_view text, const Lines& lines) {
  std::vector<std::string> labels;
  for (const auto label : split(text, ',')) labels.emplace_back(label);
  if (labels.size() > kMaxLabels) throw lines.wrong(fmt::format("has an enumeration of {} values", labels.size()));
  return labels;
}

Slow5Field field_of(std::string_view type, std::string_view name, const Lines& lines) {
  Slow5Field field;
  field.name = name;
  std::string_view element = type;
  if (element.ends_with('*')) {
    field.array = true;
    element.remove_suffix(1);
  }
  if (element.starts_with(kEnumeration) && element.ends_with('}')) {
    field.kind = Kind::enumeration;
    element.remove_suffix(1);
    field.labels = labels_of(element.substr(kEnumeration.size()), lines);
    return field;
  }
  const auto* const known =
      std::find_if(kKinds.begin(), kKinds.end(), [element](const NamedKind& one) { return one.name == element; });
  if (known == kKinds.end()) {
    throw lines.wrong(fmt::format("has a field '{}' of type '{}', which is not known", shown(name), shown(type)));
  }
  field.kind = known->kind;
  return field;
}

std::string type_text(const Slow5Field& field) {
  const std::string_view star = field.array ? "*" : "";
  if (field.kind == Kind::enumeration) return fmt::format("enum{{{}}}{}", fmt::join(field.labels, ","), star);
  const auto* const known =
      std::find_if(kKinds.begin(), kKinds.end(), [&field](const NamedKind& one) { return one.kind == field.kind; });
  return fmt::format("{}{}", known->name, star);
}

/// The two lines after the attributes.
std::vector<Slow5Field> fields_of(Lines& lines) {
  const auto rest_of = [&lines](std::string_view primary) {
    const std::string_view line = lines.peek();
    if (!line.starts_with(primary) || (line.size() > primary.size() && line[primary.size()] != '\t')) {
      throw lines.wrong("has no line that begins with '" + shown(primary) + "'");
    }
    lines.take();
    return line.size() == primary.size() ? std::vector<std::string_view>{}
                                         : split(line.substr(primary.size() + 1), '\t');
  };
  const auto types = rest_of(kTypes);
  const auto names = rest_of(kNames);
  if (types.size() != names.size()) {
    throw lines.wrong(fmt::format("has {} types of auxiliary fields and {} names", types.size(), names.size()));
  }
  std::set<std::string_view> seen;
  for (const auto primary : split(kNames.substr(1), '\t')) seen.insert(primary);
  std::vector<Slow5Field> fields;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (names[i].empty() || !seen.insert(names[i]).second) {
      throw lines.wrong("has two fields '" + shown(names[i]) + "', or one without a name");
    }
    fields.push_back(field_of(types[i], names[i], lines));
  }
  return fields;
}

void parse_body(Lines& lines, Slow5Header& header) {
  while (lines.peek().starts_with('@')) {
    Slow5Attribute attribute = attribute_of(lines.whole(), header.groups, lines);
    lines.take();
    header.attributes.push_back(std::move(attribute));
  }
  header.fields = fields_of(lines);
}

}  // namespace

std::string text_of(const Slow5Coding& coding) {
  if (coding.text) return std::string(kTextCoding);
  return fmt::format("{}{},{}", kBinaryCoding, kPackings[static_cast<std::size_t>(coding.packing)],
                     kSignalCodings[static_cast<std::size_t>(coding.signal)]);
}

bool is_slow5_coding(std::string_view text) { return text == kTextCoding || text.starts_with(kBinaryCoding); }

Slow5Coding parse_slow5_coding(std::string_view text) {
  if (text == kTextCoding) return {true, Slow5Packing::none, Slow5SignalCoding::none};
  for (const auto packing : {Slow5Packing::none, Slow5Packing::zlib, Slow5Packing::zstd}) {
    for (const auto signal : {Slow5SignalCoding::none, Slow5SignalCoding::svb_zd}) {
      const Slow5Coding coding{false, packing, signal};
      if (text == text_of(coding)) return coding;
    }
  }
  throw Error("'" + shown(text) + "' is no coding of SLOW5 records");
}

std::size_t size_of(Slow5Field::Kind kind) {
  if (kind == Kind::enumeration) return 1;
  return std::find_if(kKinds.begin(), kKinds.end(), [kind](const NamedKind& one) { return one.kind == kind; })->bytes;
}

std::string_view Slow5Header::value(std::string_view name, std::uint32_t group) const {
  const auto found =
      std::find_if(attributes.begin(), attributes.end(), [name](const auto& one) { return one.name == name; });
  if (found == attributes.end() || group >= found->values.size() || found->values[group] == ".") return {};
  return found->values[group];
}

std::string body_text_of(const Slow5Header& header) {
  std::string text;
  for (const auto& attribute : header.attributes) {
    text += fmt::format("@{}\t{}\n", attribute.name, fmt::join(attribute.values, "\t"));
  }
  text += kTypes;
  for (const auto& field : header.fields) text += "\t" + type_text(field);
  text += '\n';
  text += kNames;
  for (const auto& field : header.fields) text += "\t" + field.name;
  text += '\n';
  return text;
}

std::string text_of(const Slow5Header& header) {
  return fmt::format("{}{}\n{}{}\n{}", kVersionLine, fmt::join(header.version, "."), kGroupsLine, header.groups,
                     body_text_of(header));
}

Slow5Header parse_slow5_header(std::string_view text) {
  Lines lines(text);
  Slow5Header header;
  if (!lines.peek().starts_with(kVersionLine)) throw lines.wrong("does not begin with '#slow5_version'");
  header.version = version_of(lines.peek().substr(kVersionLine.size()), lines);
  if (!is_known(header.version)) throw unknown_version(header.version).at_offset(kVersionLine.size());
  lines.take();
  if (!lines.peek().starts_with(kGroupsLine)) throw lines.wrong("has no second line '#num_read_groups'");
  const auto groups = number<std::uint32_t>(lines.peek().substr(kGroupsLine.size()));
  if (!groups || *groups == 0) throw lines.wrong("has no number of read groups");
  header.groups = *groups;
  lines.take();
  parse_body(lines, header);
  if (!lines.empty()) throw lines.wrong("goes on after the names of the fields");
  return header;
}

void parse_slow5_body(std::string_view text, Slow5Header& header) {
  Lines lines(text);
  parse_body(lines, header);
  if (!lines.empty()) throw lines.wrong("goes on after the names of the fields");
}

Blow5Start parse_blow5_start(std::string_view bytes) {
  if (bytes.size() < kBlow5StartBytes || !bytes.starts_with(kMagic)) {
    throw Error("is not a BLOW5 file").at_offset(0);
  }
  const auto byte = [bytes](std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); };
  Blow5Start start;
  start.header.version = {byte(6), byte(7), byte(8)};
  if (!is_known(start.header.version)) throw unknown_version(start.header.version).at_offset(6);
  if (byte(9) >= kPackings.size()) {
    throw Error(fmt::format("record compression {} is not known; 0 none, 1 zlib, 2 zstd are", byte(9))).at_offset(9);
  }
  start.coding.packing = static_cast<Slow5Packing>(byte(9));
  std::memcpy(&start.header.groups, bytes.data() + 10, sizeof start.header.groups);
  if (start.header.groups == 0) throw Error("has no read group").at_offset(10);
  const bool has_signal_coding = start.header.version[0] > 0 || start.header.version[1] > 1;  // from 0.2.0 on
  if (has_signal_coding && byte(14) == 2) throw Error("signal compression ex-zd is not supported").at_offset(14);
  if (has_signal_coding && byte(14) >= kSignalCodings.size()) {
    throw Error(fmt::format("signal compression {} is not known; 0 none, 1 svb-zd are", byte(14))).at_offset(14);
  }
  if (has_signal_coding) start.coding.signal = static_cast<Slow5SignalCoding>(byte(14));
  std::memcpy(&start.text_bytes, bytes.data() + 64, sizeof start.text_bytes);
  return start;
}

std::string blow5_start_of(const Slow5Header& header, const Slow5Coding& coding, std::uint32_t text_bytes) {
  std::string bytes(kBlow5StartBytes, '\0');
  std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
  for (std::size_t i = 0; i < header.version.size(); ++i) bytes[6 + i] = static_cast<char>(header.version[i]);
  bytes[9] = static_cast<char>(coding.packing);
  std::memcpy(bytes.data() + 10, &header.groups, sizeof header.groups);
  bytes[14] = static_cast<char>(coding.signal);
  std::memcpy(bytes.data() + 64, &text_bytes, sizeof text_bytes);
  return bytes;
}

}  // namespace millrace::io
