#include "stages/sam_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace millrace {
namespace {

using io::AlignmentFormat;

constexpr std::size_t kMinGroupBytes = 1 << 10;  // room for one more read group
constexpr std::uint32_t kMaxReadGroups = 1000;
constexpr int kDefaultLevel = 4;
constexpr int kLargestCramLevel = 9;

AlignmentFormat format_of(const Options& options) {
  const auto choice =
      options.get<std::string>("format", "auto", "sam, bam, cram, or auto: by the name, bam if in doubt");
  if (choice == "sam") return AlignmentFormat::sam;
  if (choice == "bam") return AlignmentFormat::bam;
  if (choice == "cram") return AlignmentFormat::cram;
  if (choice != "auto") {
    throw options.error_at("format", "'format' must be auto, sam, bam or cram, not '" + choice + "'");
  }
  const auto extension = options.require<std::filesystem::path>("path").extension();
  if (extension == ".sam") return AlignmentFormat::sam;
  return extension == ".cram" ? AlignmentFormat::cram : AlignmentFormat::bam;
}

}  // namespace

SamWriter::SamWriter(const Options& options)
    : FileSink(options, "file to write, .sam, .bam or .cram; appears when it is complete"),
      format_(format_of(options)),
      filter_(options),
      level_(options.get<int>("level", kDefaultLevel, "of the compression: bam 0 to 12, cram 0 to 9")),
      room_for_groups_(options.get<std::uint32_t>("read_groups", 1, "sam, bam: runs that the reads may come from")) {
  const int largest = format_ == AlignmentFormat::bam ? io::BgzfWriter::kLargestLevel : kLargestCramLevel;
  if (options.has("level") && (format_ == AlignmentFormat::sam || level_ < 0 || level_ > largest)) {
    throw options.error_at("level", "'level' must be 0 to 12 for bam, 0 to 9 for cram; sam has none");
  }
  if (room_for_groups_ == 0 || room_for_groups_ > kMaxReadGroups) {
    throw options.error_at("read_groups", fmt::format("'read_groups' must be 1 to {}", kMaxReadGroups));
  }
  if (format_ == AlignmentFormat::cram && room_for_groups_ != 1) {
    throw options.error_at("read_groups", "the header of a CRAM file cannot be rewritten: 'read_groups' must be 1");
  }
}

void SamWriter::prepare(const ChunkType& input) {
  input.require(DType::u8).require(std::string(kBasecalls));
  max_bytes_ = input.max_bytes;
  open();
}

void SamWriter::consume(Chunk chunk) {
  const Basecalls calls = basecalls_of(chunk);
  if (!filter_.accepts(chunk.attributes(), calls)) return;
  const std::string_view name = read_name_of(chunk.attributes());
  if (!encoder_) begin(chunk.attributes());
  settle_group(chunk.attributes());
  append(encoder_->encode({name, calls.bases, calls.qualities, tags_.of(chunk, calls)}));
}

/// Decides how long the header may become and writes what is known of it.
void SamWriter::begin(const Attributes& attributes) {
  header_.add_group_of(attributes);
  first_groups_ = header_.groups();
  const std::size_t first = header_.text().size();
  header_bytes_ = room_for_groups_ == 1 ? first : first + room_for_groups_ * std::max(first, kMinGroupBytes);
  encoder_ = std::make_unique<io::AlignmentEncoder>(format_, header_.text(), level_);
  if (format_ != AlignmentFormat::cram) output().append(start_of_file());
  if (format_ == AlignmentFormat::bam) bgzf_ = std::make_unique<io::BgzfWriter>(output(), level_);
}

std::string SamWriter::start_of_file() const {
  const std::string text = header_.text(header_bytes_);
  return format_ == AlignmentFormat::bam ? io::bgzf_stored(io::bam_start_of(text)) : text;
}

void SamWriter::settle_group(const Attributes& attributes) {
  const std::string group = read_group_of(attributes);
  if (group.empty() || header_.has(group)) return;
  if (room_for_groups_ == 1 || header_.groups() == room_for_groups_) {
    throw Error(
        format_ == AlignmentFormat::cram
            ? fmt::format("a read of '{}' comes after reads of another run, and CRAM cannot add it: use bam", group)
            : fmt::format("a read of '{}' comes after reads of {} other: 'read_groups' says how many there are", group,
                          header_.groups()));
  }
  header_.add_group_of(attributes);
  start_of_file();  // throws when it does not fit
}

void SamWriter::append(std::span<const std::byte> records) {
  if (bgzf_) {
    bgzf_->append(records);
  } else {
    output().append(records);
  }
}

void SamWriter::complete() {
  if (!encoder_) begin(Attributes{});
  append(encoder_->finish());
  if (bgzf_) bgzf_->finish();
  if (header_.groups() == first_groups_) return;
  const std::string start = start_of_file();
  output().overwrite(0, std::as_bytes(std::span(start)));
}

std::uint64_t SamWriter::state_bytes() const {
  return FileSink::state_bytes() + io::AlignmentEncoder::memory_bytes(format_, max_bytes_ / 2) +
         (format_ == AlignmentFormat::bam ? io::BgzfWriter::memory_bytes() : 0);
}

}  // namespace millrace
