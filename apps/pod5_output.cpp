#include <fmt/format.h>

#include <string>

#include "apps/nanopore_output.h"
#include "io/output_file.h"
#include "io/pod5_writer.h"
#include "io/run_info.h"
#include "pipeline/core/error.h"

namespace millrace {
namespace {

io::Pod5Writer::Settings settings_of(const GenerateNanopore& options) {
  if (options.coding != "vbz" && options.coding != "none") {
    throw config_error("there is no coding '" + options.coding + "' in POD5 files; there are vbz, none");
  }
  io::Pod5Writer::Settings settings;
  settings.compress = options.coding == "vbz";
  return settings;
}

io::WriteVia not_forced() {
  io::WriteVia via;
  via.fsync = io::Fsync::never;  // it can be made again
  return via;
}

class Pod5Output final : public NanoporeOutput {
 public:
  Pod5Output(const GenerateNanopore& options, const NanoporeProfile& profile)
      : profile_(profile),
        run_id_(simulated_run_id(options.seed)),
        run_info_(run_info()),
        clocks_(profile),
        file_(options.path, not_forced()),
        writer_(settings_of(options), [this](std::span<const std::byte> bytes) { file_.append(bytes); }) {}

  std::uint64_t add(const EncodedRead& encoded) override {
    const SimulatedRead& read = encoded.read;
    const std::uint64_t before = writer_.encoded_bytes();
    writer_.add({{"read_id", read.id},
                 {"read_number", static_cast<std::int64_t>(++reads_)},
                 {"start_time", static_cast<std::int64_t>(clocks_.start_of(read))},
                 {"median_before", read.median_before_pa},
                 {"channel_number", read.channel},
                 {"start_mux", read.mux},
                 {"digitisation", profile_.digitisation},
                 {"offset", read.offset},
                 {"range", profile_.range_pa},
                 {"sampling_rate", profile_.sampling_hz},
                 {"run_id", run_id_},
                 {"run_info", run_info_}},
                read.samples);
    return writer_.encoded_bytes() - before;
  }

  void publish() override {
    writer_.finish();
    file_.publish();
  }

 private:
  std::string run_info() const {
    return io::text_of(io::RunInfo{{"acquisition_id", run_id_},
                                   {"device_id", "millrace"},
                                   {"device_type", "simulated"},
                                   {"exp_start_time", "2020-01-01T00:00:00Z"},
                                   {"experiment_type", "genomic_dna"},
                                   {"flow_cell_id", "simulated"},
                                   {"sample_frequency", fmt::format("{}", profile_.sampling_hz)},
                                   {"sample_id", std::string(profile_.name)},
                                   {"sequencing_kit", "simulated"}});
  }

  NanoporeProfile profile_;
  std::string run_id_;
  std::string run_info_;
  ChannelClocks clocks_;
  std::uint64_t reads_ = 0;
  io::OutputFile file_;
  io::Pod5Writer writer_;
};

}  // namespace

std::unique_ptr<NanoporeOutput> make_pod5_output(const GenerateNanopore& options, const NanoporeProfile& profile) {
  return std::make_unique<Pod5Output>(options, profile);
}

}  // namespace millrace
