#include "apps/generate_nanopore.h"

#include <fmt/format.h>
#include <libdeflate.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "apps/nanopore_simulator.h"
#include "io/hdf5_format.h"
#include "io/open_file.h"
#include "io/output_file.h"
#include "io/vbz.h"
#include "pipeline/core/error.h"
#include "stages/counter_random.h"

namespace millrace {
namespace {

constexpr std::uint64_t kRunIdStream = ~std::uint64_t{0} - 2;
constexpr std::size_t kReadsPerThread = 8;  // made in one go
constexpr int kDeflateLevel = 1;            // what MinKNOW used

/// Encodes samples as one chunk of an HDF5 dataset. One thread at a time.
class ChunkEncoder {
 public:
  explicit ChunkEncoder(const std::string& coding) {
    if (coding == "vbz") {
      vbz_.emplace();
      filters_ = {{io::Vbz::kFilterId, vbz_->parameters().filter_values()}};
    } else if (coding == "deflate") {
      deflate_.reset(libdeflate_alloc_compressor(kDeflateLevel));
      if (!deflate_) throw Error("no memory for a deflate encoder");
      filters_ = {{io::kHdf5Deflate, {kDeflateLevel}}};
    } else if (coding != "none") {
      throw config_error("there is no coding '" + coding + "'; there are vbz, deflate, none");
    }
  }

  const std::vector<io::Hdf5Filter>& filters() const { return filters_; }

  void encode(std::span<const std::int16_t> samples, std::vector<std::byte>& chunk) {
    const auto bytes = std::as_bytes(samples);
    if (vbz_) {
      const auto encoded = vbz_->encode(samples);
      chunk.assign(encoded.begin(), encoded.end());
    } else if (deflate_) {
      chunk.resize(libdeflate_zlib_compress_bound(deflate_.get(), bytes.size()));
      const auto got = libdeflate_zlib_compress(deflate_.get(), bytes.data(), bytes.size(), chunk.data(), chunk.size());
      if (got == 0) throw Error("libdeflate could not compress a read");
      chunk.resize(got);
    } else {
      chunk.assign(bytes.begin(), bytes.end());
    }
  }

 private:
  struct Free {
    void operator()(libdeflate_compressor* compressor) const { libdeflate_free_compressor(compressor); }
  };
  std::vector<io::Hdf5Filter> filters_;
  std::optional<io::VbzEncoder> vbz_;
  std::unique_ptr<libdeflate_compressor, Free> deflate_;
};

struct EncodedRead {
  SimulatedRead read;
  std::vector<std::byte> chunk;
};

using Batch = std::vector<EncodedRead>;

/// Makes the reads from `first` on that fill `batch`, on several threads; which thread makes which read changes
/// nothing.
void fill(Batch& batch, std::uint64_t first, const NanoporeSimulator& simulator,
          std::vector<std::unique_ptr<ChunkEncoder>>& encoders) {
  std::atomic<std::size_t> next{0};
  const auto work = [&](ChunkEncoder& encoder) {
    for (std::size_t i = next++; i < batch.size(); i = next++) {
      simulator.make(first + i, batch[i].read);
      encoder.encode(batch[i].read.samples, batch[i].chunk);
    }
  };
  std::vector<std::future<void>> workers;
  for (std::size_t i = 1; i < encoders.size(); ++i) {
    workers.push_back(std::async(std::launch::async, work, std::ref(*encoders[i])));
  }
  work(*encoders[0]);
  for (auto& worker : workers) worker.get();
}

/// The FAST5 file in the making: under a hidden name until publish().
class Fast5Output {
 public:
  Fast5Output(const std::filesystem::path& target, const GenerateNanopore& options, const NanoporeProfile& profile,
              std::vector<io::Hdf5Filter> filters)
      : target_(target),
        temporary_(target.parent_path() / fmt::format(".{}.{}.tmp", target.filename().string(), getpid())),
        profile_(profile),
        filters_(std::move(filters)),
        run_id_(run_id(options.seed)),
        clocks_(static_cast<std::size_t>(profile.channels)) {
    if (std::filesystem::exists(target) && !std::filesystem::is_regular_file(target)) {
      throw Error("is no regular file").at_path(target);
    }
    std::filesystem::remove(temporary_);
    hdf5_.emplace(temporary_);
    hdf5_->set_attribute("/", {"file_version", std::string("2.2")});
    hdf5_->set_attribute("/", {"file_type", std::string("multi-read")});
  }
  Fast5Output(const Fast5Output&) = delete;
  Fast5Output& operator=(const Fast5Output&) = delete;
  ~Fast5Output() {
    hdf5_.reset();
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
  }

  void add(const EncodedRead& encoded) {
    const SimulatedRead& read = encoded.read;
    const std::string group = "read_" + read.id;
    hdf5_->create_group(group,
                        std::vector<io::Hdf5Attribute>{{"run_id", run_id_}, {"pore_type", std::string("not_set")}});
    add_raw(group + "/Raw", encoded);
    hdf5_->create_group(group + "/channel_id",
                        std::vector<io::Hdf5Attribute>{{"channel_number", std::to_string(read.channel)},
                                                       {"digitisation", profile_.digitisation},
                                                       {"offset", read.offset},
                                                       {"range", profile_.range_pa},
                                                       {"sampling_rate", profile_.sampling_hz}});
    add_run(group);
    ++reads_;
  }

  void publish() {
    hdf5_->close();
    hdf5_.reset();
    std::filesystem::rename(temporary_, target_);
  }

 private:
  static std::string run_id(std::uint64_t seed) {
    const auto random = [seed](std::uint64_t counter) { return counter_random(seed, kRunIdStream, counter); };
    return fmt::format("{:016x}{:016x}{:08x}", random(0), random(1), random(2) >> 32);
  }

  void add_raw(const std::string& group, const EncodedRead& encoded) {
    const SimulatedRead& read = encoded.read;
    auto& clock = clocks_[static_cast<std::size_t>(read.channel - 1)];
    const std::uint64_t start = clock + read.pause_samples;
    clock = start + read.samples.size();
    const auto integer = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
    hdf5_->create_group(group, std::vector<io::Hdf5Attribute>{{"duration", integer(read.samples.size()), DType::u32},
                                                              {"median_before", read.median_before_pa},
                                                              {"read_id", read.id},
                                                              {"read_number", integer(reads_ + 1), DType::i32},
                                                              {"start_mux", read.mux, DType::u8},
                                                              {"start_time", integer(start), DType::u64}});
    if (filters_.empty()) {
      hdf5_->write_contiguous(group + "/Signal", DType::i16, encoded.chunk);
    } else {
      hdf5_->write_encoded(group + "/Signal", DType::i16, read.samples.size(), filters_, encoded.chunk);
    }
  }

  /// What all reads of a run have in common: stored with the first, linked from the others.
  void add_run(const std::string& group) {
    if (reads_ != 0) {
      hdf5_->link(first_group_ + "/context_tags", group + "/context_tags");
      hdf5_->link(first_group_ + "/tracking_id", group + "/tracking_id");
      return;
    }
    first_group_ = group;
    const auto text = [](std::string value) { return AttributeValue(std::move(value)); };
    hdf5_->create_group(
        group + "/context_tags",
        std::vector<io::Hdf5Attribute>{{"experiment_type", text("genomic_dna")},
                                       {"sample_frequency", text(fmt::format("{}", profile_.sampling_hz))},
                                       {"sequencing_kit", text("simulated")}});
    hdf5_->create_group(group + "/tracking_id",
                        std::vector<io::Hdf5Attribute>{{"device_id", text("millrace")},
                                                       {"device_type", text("simulated")},
                                                       {"exp_start_time", text("2020-01-01T00:00:00Z")},
                                                       {"flow_cell_id", text("simulated")},
                                                       {"run_id", text(run_id_)},
                                                       {"sample_id", text(std::string(profile_.name))}});
  }

  std::filesystem::path target_;
  std::filesystem::path temporary_;
  NanoporeProfile profile_;
  std::vector<io::Hdf5Filter> filters_;
  std::string run_id_;
  std::vector<std::uint64_t> clocks_;  // samples since the start of the run, per channel
  std::string first_group_;
  std::uint64_t reads_ = 0;
  std::optional<io::Hdf5Writer> hdf5_;
};

std::string truth_of(const SimulatedRead& read, const std::vector<Contig>& genome) {
  return fmt::format(">{} contig={} start={} end={} strand={} samples={}\n{}\n", read.id, genome[read.contig].name,
                     read.start, read.start + read.bases.size(), read.reverse ? '-' : '+', read.samples.size(),
                     read.bases);
}

std::filesystem::path truth_path(const GenerateNanopore& options) {
  if (!options.truth.empty()) return options.truth;
  auto path = options.path;
  return path.replace_extension(".truth.fasta");
}

unsigned thread_count(unsigned wanted) {
  return wanted != 0 ? wanted : std::max(1U, std::thread::hardware_concurrency());
}

/// Writes what the options ask for, in order; the next batch is made while one is written.
void write_reads(const GenerateNanopore& options, const NanoporeSimulator& simulator,
                 std::vector<std::unique_ptr<ChunkEncoder>>& encoders, Fast5Output& fast5, io::OutputFile& truth,
                 GenerateSummary& summary) {
  Batch written;
  Batch made(encoders.size() * kReadsPerThread);
  // As many reads as may still be wanted, up to a whole batch.
  const auto size_for = [&options, whole = made.size()](std::uint64_t first) {
    return options.reads == 0 ? whole : std::min<std::uint64_t>(whole, options.reads - std::min(first, options.reads));
  };
  std::uint64_t signal_bytes = 0;
  made.resize(size_for(0));
  fill(made, 0, simulator, encoders);
  for (std::uint64_t first = made.size();; first += made.size()) {
    std::swap(written, made);
    made.resize(size_for(first));
    auto making = std::async(std::launch::async, [&] { fill(made, first, simulator, encoders); });
    for (const auto& encoded : written) {
      fast5.add(encoded);
      truth.append(truth_of(encoded.read, simulator.genome()));
      ++summary.reads;
      summary.samples += encoded.read.samples.size();
      summary.bases += encoded.read.bases.size();
      signal_bytes += encoded.chunk.size();
      if (options.reads != 0 ? summary.reads == options.reads : signal_bytes >= options.total_bytes) return;
    }
    making.get();
  }
}

}  // namespace

GenerateSummary generate_nanopore(const GenerateNanopore& options) {
  if (options.path.empty()) throw config_error("a path to write to is needed");
  GenerateSummary summary;
  summary.path = options.path;
  summary.truth = truth_path(options);
  if (summary.truth == summary.path) throw config_error("the truth needs a path of its own");

  const NanoporeSimulator simulator(options);
  summary.pore_model = simulator.pore_model().name;
  std::vector<std::unique_ptr<ChunkEncoder>> encoders;
  for (unsigned i = 0; i < thread_count(options.threads); ++i) {
    encoders.push_back(std::make_unique<ChunkEncoder>(options.coding));
  }
  io::WriteVia via;
  via.fsync = io::Fsync::never;  // it can be made again
  io::OutputFile truth(summary.truth, via);
  Fast5Output fast5(options.path, options, simulator.profile(), encoders.front()->filters());
  write_reads(options, simulator, encoders, fast5, truth, summary);
  truth.publish();
  fast5.publish();
  summary.file_bytes = std::filesystem::file_size(options.path);
  return summary;
}

}  // namespace millrace
