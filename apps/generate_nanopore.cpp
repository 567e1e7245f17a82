#include "apps/generate_nanopore.h"

#include <fmt/format.h>
#include <libdeflate.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "apps/nanopore_output.h"
#include "apps/nanopore_simulator.h"
#include "io/hdf5_format.h"
#include "io/open_file.h"
#include "io/output_file.h"
#include "io/vbz.h"
#include "pipeline/core/error.h"

namespace millrace {
namespace {

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

using Batch = std::vector<EncodedRead>;

/// Makes the reads from `first` on that fill `batch`, on several threads; which thread makes which read changes
/// nothing. One encoder per thread, null where the output encodes the reads itself.
void fill(Batch& batch, std::uint64_t first, const NanoporeSimulator& simulator,
          std::vector<std::unique_ptr<ChunkEncoder>>& encoders) {
  std::atomic<std::size_t> next{0};
  const auto work = [&](ChunkEncoder* encoder) {
    for (std::size_t i = next++; i < batch.size(); i = next++) {
      simulator.make(first + i, batch[i].read);
      if (encoder != nullptr) encoder->encode(batch[i].read.samples, batch[i].chunk);
    }
  };
  std::vector<std::future<void>> workers;
  for (std::size_t i = 1; i < encoders.size(); ++i) {
    workers.push_back(std::async(std::launch::async, work, encoders[i].get()));
  }
  work(encoders[0].get());
  for (auto& worker : workers) worker.get();
}

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
                 std::vector<std::unique_ptr<ChunkEncoder>>& encoders, NanoporeOutput& output, io::OutputFile& truth,
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
      signal_bytes += output.add(encoded);
      truth.append(truth_of(encoded.read, simulator.genome()));
      ++summary.reads;
      summary.samples += encoded.read.samples.size();
      summary.bases += encoded.read.bases.size();
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
  const bool is_pod5 = options.path.extension() == ".pod5";
  const bool is_slow5 = options.path.extension() == ".blow5" || options.path.extension() == ".slow5";
  for (unsigned i = 0; i < thread_count(options.threads); ++i) {
    encoders.push_back(is_pod5 || is_slow5 ? nullptr : std::make_unique<ChunkEncoder>(options.coding));
  }
  io::WriteVia via;
  via.fsync = io::Fsync::never;  // it can be made again
  io::OutputFile truth(summary.truth, via);
  const OutputMaker make = [&](const GenerateNanopore& file) {
    if (is_pod5) return make_pod5_output(file, simulator.profile());
    if (is_slow5) return make_slow5_output(file, simulator.profile());
    return make_fast5_output(file, simulator.profile(), encoders.front()->filters());
  };
  const auto output = options.reads_per_file == 0 ? make(options) : make_split_output(options, make);
  write_reads(options, simulator, encoders, *output, truth, summary);
  truth.publish();
  output->publish();
  const std::uint64_t per_file = options.reads_per_file;
  summary.files = per_file == 0 ? 1 : (summary.reads + per_file - 1) / per_file;
  for (std::uint64_t i = 0; i < summary.files; ++i) {
    summary.file_bytes += std::filesystem::file_size(per_file == 0 ? options.path : numbered_path(options.path, i));
  }
  return summary;
}

}  // namespace millrace
