#include "stages/basecall_hmm.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "stages/basecalls.h"
#include "stages/event_presets.h"

namespace millrace {
namespace {

constexpr const char* kSyntheticName = "synthetic_6mer";

}  // namespace

BasecallHmm::BasecallHmm(const Options& options)
    : model_file_(options.get<std::filesystem::path>(
          "model", {}, "table of k-mer levels; empty = the synthetic one of `millrace generate nanopore`")) {
  const EventPreset preset = event_preset(options);
  settings_.events = preset.settings;
  settings_.reversed = options.get<bool>("reversed", preset.rna,
                                         "the strand comes with its 3' end first; true by default with RNA presets");
  settings_.trim_start =
      options.get<std::uint64_t>("trim_start", settings_.trim_start, "samples left out at the start of each read");
  settings_.trim_stall =
      options.get<bool>("trim_stall", settings_.trim_stall, "and after them those before the strand moves");
}

ChunkType BasecallHmm::prepare(const ChunkType& input) {
  input.require("signal").require(DType::i16);
  model_ = model_file_.empty() ? synthetic_pore_model() : read_pore_model(model_file_);
  if (model_.k < KmerHmm::kMinK || model_.k > KmerHmm::kMaxK) {
    throw config_error(fmt::format("the pore model has k-mers of {} bases; {} to {} can be called with", model_.k,
                                   KmerHmm::kMinK, KmerHmm::kMaxK))
        .at_path(model_file_);
  }
  model_name_ = model_file_.empty() ? kSyntheticName : model_file_.filename().string();
  make_caller(input.max_bytes / sizeof(std::int16_t));
  return basecalls_type(caller_->max_bases(max_samples_));
}

void BasecallHmm::make_caller(std::uint64_t max_samples) {
  max_samples_ = max_samples;
  caller_.reset();
  caller_.emplace(model_, settings_, max_samples);
}

std::optional<Chunk> BasecallHmm::process(Chunk chunk) {
  const auto samples = chunk.view<std::int16_t>();
  if (samples.size() > max_samples_) make_caller(samples.size());
  const std::uint64_t room = caller_->max_bases(samples.size());
  Buffer result = loan(2 * room);
  const std::span<std::uint8_t> memory(reinterpret_cast<std::uint8_t*>(result.writable().data()), 2 * room);
  const ReadCaller::Call call = caller_->call(samples, memory.first(room), memory.last(room));
  std::memmove(memory.data() + call.bases, memory.data() + room, call.bases);
  result.resize(2 * call.bases);

  const bool called = call.bases != 0;
  called_reads_ += called ? 1 : 0;
  reads_without_call_ += called ? 0 : 1;
  bases_ += call.bases;
  if (called) errors_ += static_cast<double>(call.bases) * std::pow(10, -call.mean_quality / 10);
  auto attributes = std::make_shared<Attributes>(chunk.attributes());
  attributes->set("mean_quality", call.mean_quality);
  attributes->set("scaling_shift", called ? call.scaling.shift : 0.0);
  attributes->set("scaling_scale", called ? call.scaling.scale : 1.0);
  attributes->set("trimmed_samples", static_cast<std::int64_t>(call.trimmed_samples));
  attributes->set("model", model_name_);
  Chunk output = chunk.with(std::move(result), DType::u8, {2, call.bases});
  output.set_attributes(std::move(attributes));
  return output;
}

std::uint64_t BasecallHmm::state_bytes() const {
  return (caller_ ? caller_->state_bytes() : 0) + model_.levels.capacity() * sizeof(PoreModel::Level);
}

std::vector<std::string> BasecallHmm::plan_notes() const {
  const std::string fit =
      model_file_.empty() ? ", which fits no real read; a table for real ones goes into 'model'" : "";
  return {fmt::format("pore model: {}{}", model_file_.empty() ? model_.name : model_file_.string(), fit)};
}

Findings BasecallHmm::findings() const {
  Findings result;
  if (called_reads_ + reads_without_call_ == 0) return result;
  if (called_reads_ != 0) {
    result.lines.push_back(fmt::format("{} reads called, {} bases, mean quality {:.1f}", called_reads_, bases_,
                                       -10 * std::log10(errors_ / static_cast<double>(bases_))));
  }
  if (reads_without_call_ != 0) {
    result.lines.push_back(fmt::format("{} reads without a call: too short, or without signal", reads_without_call_));
  }
  return result;
}

}  // namespace millrace
