#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "apps/nanopore_output.h"
#include "io/output_file.h"
#include "io/slow5_encoder.h"
#include "io/slow5_header.h"
#include "pipeline/core/error.h"

namespace millrace {
namespace {

io::Slow5Coding coding_of(const GenerateNanopore& options) {
  using Packing = io::Slow5Packing;
  using Signal = io::Slow5SignalCoding;
  if (options.path.extension() == ".slow5") return {true, Packing::none, Signal::none};
  if (options.coding == "vbz") return {false, Packing::zstd, Signal::svb_zd};
  if (options.coding == "deflate") return {false, Packing::zlib, Signal::svb_zd};
  if (options.coding == "none") return {false, Packing::none, Signal::none};
  throw config_error("there is no coding '" + options.coding + "' in BLOW5 files; there are vbz, deflate, none");
}

io::WriteVia not_forced() {
  io::WriteVia via;
  via.fsync = io::Fsync::never;  // it can be made again
  return via;
}

class Slow5Output final : public NanoporeOutput {
 public:
  Slow5Output(const GenerateNanopore& options, const NanoporeProfile& profile)
      : profile_(profile),
        run_id_(simulated_run_id(options.seed)),
        coding_(coding_of(options)),
        clocks_(profile),
        encoder_(io::slow5_fields_for(Attributes{}), coding_),
        file_(options.path, not_forced()) {
    write_header();
  }

  std::uint64_t add(const EncodedRead& encoded) override {
    const SimulatedRead& read = encoded.read;
    const Attributes attributes{{"read_id", read.id},
                                {"digitisation", profile_.digitisation},
                                {"offset", read.offset},
                                {"range", profile_.range_pa},
                                {"sampling_rate", profile_.sampling_hz},
                                {"channel_number", std::to_string(read.channel)},
                                {"median_before", read.median_before_pa},
                                {"read_number", static_cast<std::int64_t>(++reads_)},
                                {"start_mux", read.mux},
                                {"start_time", static_cast<std::int64_t>(clocks_.start_of(read))}};
    const auto record = encoder_.encode(attributes, 0, read.samples);
    file_.append(record);
    return record.size();
  }

  void publish() override {
    if (!coding_.text) file_.append(io::kBlow5EndMark);
    file_.publish();
  }

 private:
  void write_header() {
    io::Slow5Header header;
    header.fields = encoder_.fields();
    const std::pair<const char*, std::string> run[] = {{"device_id", "millrace"},
                                                       {"device_type", "simulated"},
                                                       {"exp_start_time", "2020-01-01T00:00:00Z"},
                                                       {"experiment_type", "genomic_dna"},
                                                       {"flow_cell_id", "simulated"},
                                                       {"run_id", run_id_},
                                                       {"sample_frequency", fmt::format("{}", profile_.sampling_hz)},
                                                       {"sample_id", std::string(profile_.name)},
                                                       {"sequencing_kit", "simulated"}};
    for (const auto& [name, value] : run) header.attributes.push_back({name, {value}});
    const std::string body = io::body_text_of(header);
    file_.append(coding_.text ? io::text_of(header)
                              : io::blow5_start_of(header, coding_, static_cast<std::uint32_t>(body.size())) + body);
  }

  NanoporeProfile profile_;
  std::string run_id_;
  io::Slow5Coding coding_;
  ChannelClocks clocks_;
  std::uint64_t reads_ = 0;
  io::Slow5RecordEncoder encoder_;
  io::OutputFile file_;
};

}  // namespace

std::unique_ptr<NanoporeOutput> make_slow5_output(const GenerateNanopore& options, const NanoporeProfile& profile) {
  return std::make_unique<Slow5Output>(options, profile);
}

}  // namespace millrace
