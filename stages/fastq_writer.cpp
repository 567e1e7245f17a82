#include "stages/fastq_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

namespace millrace {
namespace {

constexpr int kDefaultLevel = 4;  // twice as fast as 6, 2 % larger
constexpr char kZeroQuality = '!';
constexpr std::uint64_t kOtherBytes = 64 << 10;  // of a record beside its bases and qualities, generously

bool is_compressed(const Options& options) {
  const auto choice =
      options.get<std::string>("compression", "auto", "bgzf, none, or auto: bgzf for .gz, .bgz and .bgzf");
  if (choice == "bgzf") return true;
  if (choice == "none") return false;
  if (choice != "auto") {
    throw options.error_at("compression", "'compression' must be auto, bgzf or none, not '" + choice + "'");
  }
  const auto extension = options.require<std::filesystem::path>("path").extension();
  return extension == ".gz" || extension == ".bgz" || extension == ".bgzf";
}

void append_tag(std::string& record, const io::SamTag& tag) {
  record += '\t';
  record.append(tag.name.data(), tag.name.size());
  switch (tag.type) {
    case io::SamTag::Type::integer:
      fmt::format_to(std::back_inserter(record), ":i:{}", tag.integer);
      break;
    case io::SamTag::Type::number:
      fmt::format_to(std::back_inserter(record), ":f:{}", tag.number);
      break;
    case io::SamTag::Type::text:
      record += ":Z:";
      record += tag.text;
      break;
  }
}

}  // namespace

FastqWriter::FastqWriter(const Options& options)
    : FileSink(options, "file to write, .fastq or .fastq.gz; appears when it is complete"),
      filter_(options),
      with_tags_(options.get<bool>("tags", true, "what is known of a read stands behind its name, as SAM tags")),
      compressed_(is_compressed(options)),
      level_(options.get<int>("level", kDefaultLevel, "of bgzf: 0 (stored) to 12")) {
  if (level_ < 0 || level_ > io::BgzfWriter::kLargestLevel) {
    throw options.error_at("level", "'level' must be 0 to 12");
  }
}

void FastqWriter::prepare(const ChunkType& input) {
  input.require(DType::u8).require(std::string(kBasecalls));
  max_bytes_ = input.max_bytes;
  open();
  if (compressed_) bgzf_ = std::make_unique<io::BgzfWriter>(output(), level_);
}

void FastqWriter::consume(Chunk chunk) {
  const Basecalls calls = basecalls_of(chunk);
  if (!filter_.accepts(chunk.attributes(), calls)) return;
  record_ = '@';
  record_ += read_name_of(chunk.attributes());
  if (with_tags_) {
    for (const io::SamTag& tag : tags_.of(chunk, calls)) append_tag(record_, tag);
  }
  record_ += '\n';
  record_ += calls.bases;
  record_ += "\n+\n";
  std::transform(calls.qualities.begin(), calls.qualities.end(), std::back_inserter(record_),
                 [](std::uint8_t quality) { return static_cast<char>(kZeroQuality + quality); });
  record_ += '\n';
  if (bgzf_) {
    bgzf_->append(record_);
  } else {
    output().append(record_);
  }
}

void FastqWriter::complete() {
  if (bgzf_) bgzf_->finish();
}

std::uint64_t FastqWriter::state_bytes() const {
  return FileSink::state_bytes() + max_bytes_ + kOtherBytes + (compressed_ ? io::BgzfWriter::memory_bytes() : 0);
}

}  // namespace millrace
