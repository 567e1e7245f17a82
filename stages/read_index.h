#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/piece_reader.h"
#include "pipeline/core/chunk.h"
#include "stages/attribute_store.h"
#include "stages/piece_layout.h"

namespace millrace {

/// The reads that a reader found in its files, before any of their signal is fetched: where it lies and what is known
/// of each, in some 150 bytes a read. Filled by one thread, file after file; then shared by all slots of the reader.
class ReadIndex {
 public:
  ReadIndex() = default;
  ReadIndex(const ReadIndex&) = delete;
  ReadIndex& operator=(const ReadIndex&) = delete;

  /// One read on its way into the index.
  struct Entry {
    Attributes attributes;
    PieceLayout layout;               ///< of its encoded signal in the file
    std::vector<std::byte> compact;   ///< its encoded signal itself, when it came with the file's index
    std::uint64_t decoded_bytes = 0;  ///< upper bound, once decoded
    /// What run() gave; nothing = its file does not say.
    std::optional<std::uint32_t> run;
  };

  /// What follows comes from this file.
  void begin_file(const std::filesystem::path& path);
  /// Number of a run, for add(). Runs of one id and info have one number, in whichever file they are. `info`: the
  /// attribute "run_info".
  std::uint32_t run(const std::string& id, const std::string& info);
  /// Adds a read of the file.
  void add(Entry entry);
  /// After the last read.
  void complete();

  std::uint64_t size() const { return places_.size(); }
  std::uint64_t bytes() const { return bytes_; }                      ///< of encoded signal
  std::uint64_t longest() const { return longest_; }                  ///< bytes of the longest read
  std::uint64_t longest_decoded() const { return longest_decoded_; }  ///< bytes
  std::uint64_t scattered() const { return scattered_.size(); }       ///< reads that are fetched piece by piece
  std::uint64_t compact() const { return compact_.size(); }           ///< reads whose signal is here already
  /// The attribute "coding" of the reads, each once, joined: "deflate, none".
  std::string codings() const;
  std::uint64_t memory_bytes() const;

  /// What PieceReader is to fetch for a read; nothing behind the last one.
  std::optional<io::PieceReader::Piece> piece(std::uint64_t number) const;
  /// The read as a chunk: u8, its attributes with "run_id" and "run_info", its origin. Any thread, each with a reader
  /// of its own.
  Chunk fetch(std::uint64_t number, io::PieceReader& reader) const;

 private:
  struct Place {
    io::Extent span;  // from the first to the last byte of the read in its file
    std::uint32_t file = 0;
    std::uint32_t run = 0;
  };
  struct Scattered {
    std::vector<io::Extent> pieces;
    std::uint64_t bytes = 0;
  };
  using Run = std::pair<std::string, std::string>;  // id and info

  AttributeStore attributes_;
  std::vector<Place> places_;
  std::vector<std::shared_ptr<const std::filesystem::path>> files_;
  std::map<Run, std::uint32_t> run_numbers_;
  std::vector<const Run*> runs_;
  std::map<std::uint64_t, Scattered> scattered_;               // by read
  std::map<std::uint64_t, std::vector<std::byte>> compact_;    // by read
  std::map<std::string, std::uint64_t, std::less<>> codings_;  // reads
  std::uint64_t bytes_ = 0;
  std::uint64_t longest_ = 0;
  std::uint64_t longest_decoded_ = 0;
};

}  // namespace millrace
