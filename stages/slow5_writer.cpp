#include "stages/slow5_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "io/run_info.h"
#include "io/stream_vbyte.h"

namespace millrace {
namespace {

constexpr std::uint64_t kOtherBytes = 1 << 20;      // of a record beside its signal, generously
constexpr std::uint64_t kTextBytesPerSample = 7;    // "-32768,"
constexpr std::uint64_t kMinHeaderRoom = 16 << 10;  // for one more read group
constexpr std::uint64_t kMaxReadGroups = 1000;

io::Slow5Coding coding_of(const Options& options) {
  const auto path = options.require<std::filesystem::path>("path");
  const auto packing = options.get<std::string>("compression", "zstd", "of each record: zstd, zlib or none");
  const auto signal = options.get<std::string>("signal", "svb-zd", "coding of the samples: svb-zd or none");
  if (path.extension() == ".slow5") {
    for (const char* const key : {"compression", "signal"}) {
      if (options.has(key))
        throw options.error_at(key, "a .slow5 file is text: '" + std::string(key) + "' is for .blow5");
    }
    return {true, io::Slow5Packing::none, io::Slow5SignalCoding::none};
  }
  try {
    return io::parse_slow5_coding("blow5:" + packing + "," + signal);
  } catch (const Error&) {
    throw options.error_at(options.has("compression") ? "compression" : "signal",
                           "'compression' can be zstd, zlib or none, 'signal' svb-zd or none");
  }
}

/// Versions differ in nothing that is written here but the number.
std::array<std::uint8_t, 3> version_of(const Options& options) {
  const auto version = options.get<std::string>("version", "1.0.0", "1.0.0, or 0.2.0 for tools older than that");
  if (version == "1.0.0") return {1, 0, 0};
  if (version == "0.2.0") return {0, 2, 0};
  throw options.error_at("version", "'version' must be \"1.0.0\" or \"0.2.0\", not \"" + version + "\"");
}

std::string run_name(const Attributes& attributes) {
  return std::string(attributes.text("run_id").value_or(attributes.text("run_info").value_or("")));
}

}  // namespace

Slow5Writer::Slow5Writer(const Options& options)
    : FileSink(options, "file to write, .blow5, or .slow5 for text; appears when it is complete"),
      coding_(coding_of(options)),
      level_(options.get<int>("level", 0, "of the compression; 0 = what slow5tools uses (zstd 1, zlib 6)")),
      room_for_groups_(options.get<std::uint32_t>("read_groups", 1, "runs that the reads may come from")) {
  header_.version = version_of(options);
  if (room_for_groups_ == 0 || room_for_groups_ > kMaxReadGroups) {
    throw options.error_at("read_groups", fmt::format("'read_groups' must be 1 to {}", kMaxReadGroups));
  }
  if (level_ < 0 || level_ > (coding_.packing == io::Slow5Packing::zlib ? 12 : 22)) {
    throw options.error_at("level", "'level' must be 0 to 22, with zlib 0 to 12");
  }
}

void Slow5Writer::prepare(const ChunkType& input) {
  input.require(DType::i16).require("signal");
  max_bytes_ = input.max_bytes;
  open();
}

std::uint64_t Slow5Writer::state_bytes() const {
  const std::uint64_t samples = max_bytes_ / sizeof(std::int16_t);
  const std::uint64_t record =
      kOtherBytes + (coding_.text ? kTextBytesPerSample * samples : io::stream_vbyte_max_bytes(samples));
  return FileSink::state_bytes() + 2 * record;  // as it is, and compressed or as a line
}

void Slow5Writer::consume(Chunk chunk) {
  if (!encoder_) begin(chunk.attributes());
  const std::uint32_t group = group_of(chunk.attributes());
  note_lost(chunk.attributes());
  try {
    output().append(encoder_->encode(chunk.attributes(), group, chunk.view<std::int16_t>()));
  } catch (const Error& error) {
    const auto id = chunk.attributes().text("read_id");
    if (!error.path().empty() || !id) throw;
    throw Error(fmt::format("read {}: {}", *id, error.message()));
  }
}

void Slow5Writer::begin(const Attributes& attributes) {
  header_.groups = 0;
  header_.fields = io::slow5_fields_for(attributes);
  encoder_.emplace(header_.fields, coding_, level_);
  for (const auto& field : header_.fields) known_.insert(field.name);
  add_group(attributes);
  const std::uint64_t first = header_bytes().size();
  header_room_ = room_for_groups_ == 1 ? first : first + room_for_groups_ * std::max(first, kMinHeaderRoom);
  output().append(header_bytes());
}

/// The start of the file, filled up to the room there is for it.
std::string Slow5Writer::header_bytes() const {
  const auto bytes_of = [this](const io::Slow5Header& header) {
    if (coding_.text) return io::text_of(header);
    const std::string body = io::body_text_of(header);
    return io::blow5_start_of(header, coding_, static_cast<std::uint32_t>(body.size())) + body;
  };
  std::string bytes = bytes_of(header_);
  if (bytes.size() >= header_room_) return bytes;
  io::Slow5Header filled = header_;
  auto& padding = filled.attributes.emplace_back();
  padding.name = io::kSlow5Padding;
  padding.values.assign(filled.groups, ".");
  const std::uint64_t least = bytes_of(filled).size();
  if (least > header_room_) return std::string(header_room_ + 1, '\0');  // does not fit
  padding.values.front().append(header_room_ - least, '.');
  return bytes_of(filled);
}

std::uint32_t Slow5Writer::group_of(const Attributes& attributes) {
  const std::string run = run_name(attributes);
  const auto known = groups_.find(run);
  if (known != groups_.end()) return known->second;
  if (header_.groups == room_for_groups_) {
    throw Error(fmt::format("a read of run '{}' comes after reads of {} other: 'read_groups' says how many there are",
                            run.substr(0, run.find('\t')), header_.groups));
  }
  add_group(attributes);
  if (header_bytes().size() > header_room_) {
    throw Error(
        fmt::format("what is known of {} runs does not fit the {} bytes left for it", header_.groups, header_room_));
  }
  return header_.groups - 1;
}

void Slow5Writer::add_group(const Attributes& attributes) {
  io::RunInfo info = io::parse_run_info(attributes.text("run_info").value_or(""));
  if (const auto run_id = attributes.text("run_id")) info.emplace("run_id", *run_id);
  const std::uint32_t group = header_.groups++;
  groups_.emplace(run_name(attributes), group);
  for (auto& attribute : header_.attributes) attribute.values.emplace_back(".");
  for (const auto& [name, value] : info) {
    if (value.empty() || name == io::kSlow5Padding) continue;
    auto at =
        std::lower_bound(header_.attributes.begin(), header_.attributes.end(), name,
                         [](const io::Slow5Attribute& one, const std::string& wanted) { return one.name < wanted; });
    if (at == header_.attributes.end() || at->name != name) {
      at = header_.attributes.insert(at, {name, std::vector<std::string>(header_.groups, ".")});
    }
    at->values[group] = value;
  }
}

void Slow5Writer::note_lost(const Attributes& attributes) {
  for (const auto& [name, value] : attributes.entries()) {
    if (!known_.contains(name) && !io::is_held_elsewhere(name)) ++lost_[name];
  }
}

void Slow5Writer::complete() {
  if (!encoder_) begin(Attributes{});
  if (header_.groups > 1) {
    const std::string bytes = header_bytes();
    output().overwrite(0, std::as_bytes(std::span(bytes)));
  }
  if (!coding_.text) output().append(io::kBlow5EndMark);
}

Findings Slow5Writer::findings() const {
  Findings findings;
  for (const auto& [name, reads] : lost_) {
    findings.lines.push_back(
        fmt::format("attribute '{}' of {} reads is not in the file: the first read did not have it", name, reads));
  }
  return findings;
}

}  // namespace millrace
