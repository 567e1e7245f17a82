#include "stages/slow5_decoder.h"

#include <fmt/format.h>

#include <utility>

#include "io/run_info.h"

namespace millrace {

Chunk Slow5Decoder::decode(const Chunk& chunk) {
  choose_file(chunk);
  const io::Slow5Record record = decoder_.open(chunk.bytes(), coding_, header_, max_samples_);
  try {
    Chunk decoded = chunk.with(loan(record.samples * sizeof(std::int16_t)), DType::i16);
    decoder_.decode(record, coding_, decoded.samples<std::int16_t>());
    Attributes attributes;
    io::Slow5RecordDecoder::add_attributes(record, coding_, header_, attributes);
    const Group& common = group(record.group);
    if (!common.run_id.empty()) attributes.set("run_id", common.run_id);
    if (!common.run_info.empty()) attributes.set("run_info", common.run_info);
    decoded.set_attributes(std::make_shared<const Attributes>(std::move(attributes)));
    return decoded;
  } catch (const Error& error) {
    throw Error(fmt::format("read {}: {}", record.id, error.message()), error.kind());
  }
}

void Slow5Decoder::choose_file(const Chunk& chunk) {
  if (file_ != nullptr && chunk.shared_attributes() == file_) return;
  const auto coding = chunk.attributes().text("coding");
  const auto header = chunk.attributes().text("slow5_header");
  if (!coding || !header) throw Error("its attribute 'slow5_header' is missing");
  file_.reset();
  coding_ = io::parse_slow5_coding(*coding);
  header_ = io::parse_slow5_header(*header);
  groups_.clear();
  file_ = chunk.shared_attributes();
}

const Slow5Decoder::Group& Slow5Decoder::group(std::uint32_t number) {
  const auto known = groups_.find(number);
  if (known != groups_.end()) return known->second;
  Group group;
  io::RunInfo info;
  for (const auto& attribute : header_.attributes) {
    if (attribute.name == io::kSlow5Padding) continue;
    const auto value = header_.value(attribute.name, number);
    if (!value.empty()) info.insert_or_assign(attribute.name, std::string(value));
  }
  group.run_info = io::text_of(info);
  for (const char* const name : {"run_id", "acquisition_id"}) {
    if (group.run_id.empty()) group.run_id = header_.value(name, number);
  }
  return groups_.emplace(number, std::move(group)).first->second;
}

}  // namespace millrace
