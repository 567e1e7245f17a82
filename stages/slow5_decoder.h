#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "io/slow5_record.h"
#include "pipeline/core/stage.h"

namespace millrace {

/// The part of decode_signal that knows SLOW5 and BLOW5: a chunk is a whole record, and what is known of the read comes
/// out of it together with the samples. Keeps the header of the file at hand, so that it is read once per file.
class Slow5Decoder {
 public:
  /// Largest number of samples that any chunk may have.
  void prepare(std::uint64_t max_samples) { max_samples_ = max_samples; }

  /// In: the attributes "coding" and "slow5_header" of slow5_reader. Out: i16, with the attributes that
  /// io::Slow5RecordDecoder gives, run_id and run_info (io/run_info.h). Error, with the read's id once it is known.
  Chunk decode(const Chunk& chunk);

 private:
  /// What all reads of a group have in common.
  struct Group {
    std::string run_id;
    std::string run_info;
  };

  void choose_file(const Chunk& chunk);
  const Group& group(std::uint32_t number);

  std::uint64_t max_samples_ = 0;
  std::shared_ptr<const Attributes> file_;  // whose header is the one below
  io::Slow5Coding coding_;
  io::Slow5Header header_;
  std::map<std::uint32_t, Group> groups_;
  io::Slow5RecordDecoder decoder_;
};

}  // namespace millrace
