#include "io/alignment_encoder.h"

#include <fcntl.h>
#include <htslib/hfile.h>
#include <htslib/hts.h>
#include <htslib/hts_log.h>
#include <htslib/kstring.h>
#include <htslib/sam.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <vector>

#include "io/file_descriptor.h"
#include "pipeline/core/error.h"

namespace millrace::io {
namespace {

constexpr std::size_t kFixedBytes = 36;                // of a BAM record, its length included
constexpr std::uint64_t kTagBytes = 64 << 10;          // of one record, generously
constexpr std::uint64_t kCramBases = 500ULL * 10'000;  // htslib's own bound of a slice
constexpr std::uint64_t kCramBytesPerBase = 16;        // records, series before and after their compression

struct FreeHeader {
  void operator()(sam_hdr_t* header) const { sam_hdr_destroy(header); }
};
using Header = std::unique_ptr<sam_hdr_t, FreeHeader>;

Header parse_header(const std::string& text) {
  Header header(sam_hdr_parse(text.size(), text.data()));
  if (!header || sam_hdr_count_lines(header.get(), "RG") < 0)
    throw Error("htslib cannot read the header of the output");
  return header;
}

std::vector<std::byte>& put_number(std::vector<std::byte>& bytes, std::uint64_t number, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) bytes.push_back(static_cast<std::byte>(number >> (8 * i)));
  return bytes;
}

}  // namespace

/// htslib's form of one read, filled again and again.
class AlignmentEncoder::Record {
 public:
  explicit Record(const std::string& header) : header_(parse_header(header)), record_(bam_init1()) {
    if (!record_) throw Error("no memory for a record");
  }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;
  ~Record() { ks_free(&line_); }

  void fill(const UnalignedRead& read);
  std::span<const std::byte> sam();
  std::span<const std::byte> bam();
  const bam1_t* get() const { return record_.get(); }
  sam_hdr_t* header() const { return header_.get(); }

 private:
  struct Free {
    void operator()(bam1_t* record) const { bam_destroy1(record); }
  };

  void add(const SamTag& tag);

  Header header_;
  std::unique_ptr<bam1_t, Free> record_;
  kstring_t line_{0, 0, nullptr};
  std::vector<std::byte> bytes_;
};

void AlignmentEncoder::Record::fill(const UnalignedRead& read) {
  if (read.bases.size() != read.qualities.size()) throw Error("a read has as many qualities as bases");
  const auto* const qualities = reinterpret_cast<const char*>(read.qualities.data());
  if (bam_set1(record_.get(), read.name.size(), read.name.data(), BAM_FUNMAP, -1, -1, 0, 0, nullptr, -1, -1, 0,
               read.bases.size(), read.bases.data(), qualities, 0) < 0) {
    throw system_error("htslib cannot make a record", errno);
  }
  for (const SamTag& tag : read.tags) add(tag);
}

void AlignmentEncoder::Record::add(const SamTag& tag) {
  int failed = 0;
  switch (tag.type) {
    case SamTag::Type::integer:
      failed = bam_aux_update_int(record_.get(), tag.name.data(), tag.integer);
      break;
    case SamTag::Type::number:
      failed = bam_aux_update_float(record_.get(), tag.name.data(), tag.number);
      break;
    case SamTag::Type::text:
      failed =
          bam_aux_update_str(record_.get(), tag.name.data(), static_cast<int>(tag.text.size() + 1), tag.text.c_str());
      break;
  }
  if (failed != 0) throw system_error("htslib cannot add the tag " + std::string(tag.name.data(), 2), errno);
}

std::span<const std::byte> AlignmentEncoder::Record::sam() {
  if (sam_format1(header_.get(), record_.get(), &line_) < 0 || kputc('\n', &line_) < 0) {
    throw system_error("htslib cannot write a record", errno);
  }
  return std::as_bytes(std::span(line_.s, line_.l));
}

/// SAM specification 4.2. htslib's own writer wants its BGZF and so a file of its own.
std::span<const std::byte> AlignmentEncoder::Record::bam() {
  const bam1_core_t& core = record_->core;
  const std::size_t name_bytes = core.l_qname - core.l_extranul;  // htslib pads the name in memory
  const auto data = std::as_bytes(std::span(record_->data, static_cast<std::size_t>(record_->l_data)));
  bytes_.clear();
  put_number(bytes_, kFixedBytes - 4 + data.size() - core.l_extranul, 4);
  put_number(bytes_, static_cast<std::uint32_t>(core.tid), 4);
  put_number(bytes_, static_cast<std::uint32_t>(core.pos), 4);
  put_number(bytes_, name_bytes, 1);
  put_number(bytes_, core.qual, 1);
  put_number(bytes_, core.bin, 2);
  put_number(bytes_, core.n_cigar, 2);
  put_number(bytes_, core.flag, 2);
  put_number(bytes_, static_cast<std::uint32_t>(core.l_qseq), 4);
  put_number(bytes_, static_cast<std::uint32_t>(core.mtid), 4);
  put_number(bytes_, static_cast<std::uint32_t>(core.mpos), 4);
  put_number(bytes_, static_cast<std::uint32_t>(core.isize), 4);
  bytes_.insert(bytes_.end(), data.begin(), data.begin() + static_cast<std::ptrdiff_t>(name_bytes));
  bytes_.insert(bytes_.end(), data.begin() + core.l_qname, data.end());
  return bytes_;
}

/// A CRAM file that htslib writes into memory without a name. After each call what is there is taken out and the
/// memory is used again from its start: htslib appends and never looks back.
class AlignmentEncoder::CramStream {
 public:
  CramStream(sam_hdr_t* header, int level);
  CramStream(const CramStream&) = delete;
  CramStream& operator=(const CramStream&) = delete;

  std::span<const std::byte> write(sam_hdr_t* header, const bam1_t* record);
  std::span<const std::byte> close();

 private:
  struct Close {
    void operator()(htsFile* file) const { hts_close(file); }
  };

  std::span<const std::byte> taken();

  FileDescriptor memory_;  // shares its position with htslib's
  std::unique_ptr<htsFile, Close> file_;
  std::vector<std::byte> bytes_;
};

AlignmentEncoder::CramStream::CramStream(sam_hdr_t* header, int level)
    : memory_(::memfd_create("millrace_cram", MFD_CLOEXEC)) {
  if (!memory_.valid()) throw system_error("no memory for a CRAM file", errno);
  const int for_htslib = ::fcntl(memory_.get(), F_DUPFD_CLOEXEC, 0);
  if (for_htslib < 0) throw system_error("no descriptor for a CRAM file", errno);
  hFILE* const stream = hdopen(for_htslib, "w");
  if (stream == nullptr) {
    ::close(for_htslib);
    throw system_error("htslib cannot open memory", errno);
  }
  const std::string mode = "wc" + std::to_string(level);
  file_.reset(hts_hopen(stream, "cram", mode.c_str()));
  if (!file_) {
    hclose_abruptly(stream);
    throw system_error("htslib cannot make a CRAM file", errno);
  }
  if (hts_set_opt(file_.get(), CRAM_OPT_NO_REF, 1) != 0 || sam_hdr_write(file_.get(), header) != 0) {
    throw system_error("htslib cannot write a CRAM header", errno);
  }
}

std::span<const std::byte> AlignmentEncoder::CramStream::write(sam_hdr_t* header, const bam1_t* record) {
  if (sam_write1(file_.get(), header, record) < 0) throw system_error("htslib cannot write a CRAM record", errno);
  return taken();
}

std::span<const std::byte> AlignmentEncoder::CramStream::close() {
  if (hts_close(file_.release()) != 0) throw system_error("htslib cannot end a CRAM file", errno);
  return taken();
}

std::span<const std::byte> AlignmentEncoder::CramStream::taken() {
  const off_t end = ::lseek(memory_.get(), 0, SEEK_CUR);
  if (end < 0) throw system_error("cannot see what htslib wrote", errno);
  bytes_.resize(static_cast<std::size_t>(end));
  std::size_t done = 0;
  while (done < bytes_.size()) {
    const ssize_t got = ::pread(memory_.get(), bytes_.data() + done, bytes_.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw system_error("cannot read what htslib wrote", errno);
    done += static_cast<std::size_t>(got);
  }
  if (end != 0 && (::ftruncate(memory_.get(), 0) != 0 || ::lseek(memory_.get(), 0, SEEK_SET) != 0)) {
    throw system_error("cannot empty what htslib wrote", errno);
  }
  return bytes_;
}

AlignmentEncoder::AlignmentEncoder(AlignmentFormat format, const std::string& header, int level) : format_(format) {
  hts_set_log_level(HTS_LOG_OFF);
  record_ = std::make_unique<Record>(header);
  if (format == AlignmentFormat::cram) cram_ = std::make_unique<CramStream>(record_->header(), level);
}

AlignmentEncoder::~AlignmentEncoder() = default;

std::span<const std::byte> AlignmentEncoder::encode(const UnalignedRead& read) {
  record_->fill(read);
  switch (format_) {
    case AlignmentFormat::sam:
      return record_->sam();
    case AlignmentFormat::bam:
      return record_->bam();
    case AlignmentFormat::cram:
      break;
  }
  return cram_->write(record_->header(), record_->get());
}

std::span<const std::byte> AlignmentEncoder::finish() { return cram_ ? cram_->close() : std::span<const std::byte>(); }

std::uint64_t AlignmentEncoder::memory_bytes(AlignmentFormat format, std::uint64_t max_bases) {
  const std::uint64_t record = 2 * (2 * max_bases + kTagBytes);  // htslib's form, and the bytes or the line
  return format == AlignmentFormat::cram ? record + kCramBytesPerBase * (kCramBases + max_bases) : record;
}

std::string bam_start_of(std::string_view header) {
  if (header.size() > std::numeric_limits<std::int32_t>::max()) throw Error("the header of the output is too long");
  std::vector<std::byte> numbers;
  put_number(put_number(numbers, header.size(), 4), 0, 4);
  const auto* const text = reinterpret_cast<const char*>(numbers.data());
  return "BAM\1" + std::string(text, 4) + std::string(header) + std::string(text + 4, 4);
}

}  // namespace millrace::io
