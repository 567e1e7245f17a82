#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "apps/nanopore_output.h"
#include "pipeline/core/error.h"

namespace millrace {
namespace {

/// The FAST5 file in the making: under a hidden name until publish().
class Fast5Output final : public NanoporeOutput {
 public:
  Fast5Output(const GenerateNanopore& options, const NanoporeProfile& profile, std::vector<io::Hdf5Filter> filters)
      : target_(options.path),
        temporary_(target_.parent_path() / fmt::format(".{}.{}.tmp", target_.filename().string(), getpid())),
        profile_(profile),
        filters_(std::move(filters)),
        run_id_(simulated_run_id(options.seed)),
        clocks_(profile) {
    if (std::filesystem::exists(target_) && !std::filesystem::is_regular_file(target_)) {
      throw Error("is no regular file").at_path(target_);
    }
    std::filesystem::remove(temporary_);
    hdf5_.emplace(temporary_);
    hdf5_->set_attribute("/", {"file_version", std::string("2.2")});
    hdf5_->set_attribute("/", {"file_type", std::string("multi-read")});
  }
  ~Fast5Output() override {
    hdf5_.reset();
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
  }

  std::uint64_t add(const EncodedRead& encoded) override {
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
    return encoded.chunk.size();
  }

  void publish() override {
    hdf5_->close();
    hdf5_.reset();
    std::filesystem::rename(temporary_, target_);
  }

 private:
  void add_raw(const std::string& group, const EncodedRead& encoded) {
    const SimulatedRead& read = encoded.read;
    const std::uint64_t start = clocks_.start_of(read);
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
  ChannelClocks clocks_;
  std::string first_group_;
  std::uint64_t reads_ = 0;
  std::optional<io::Hdf5Writer> hdf5_;
};

}  // namespace

std::unique_ptr<NanoporeOutput> make_fast5_output(const GenerateNanopore& options, const NanoporeProfile& profile,
                                                  std::vector<io::Hdf5Filter> filters) {
  return std::make_unique<Fast5Output>(options, profile, std::move(filters));
}

}  // namespace millrace
