#pragma once

#include <cstdint>
#include <optional>

#include "io/reader.h"

namespace millrace::io {

/// Which bytes the page cache can be told to forget behind a reader. Pure arithmetic.
///
/// Dropping works on whole folios, and those of ext4 and XFS have up to 2 MiB: shorter or unaligned ranges drop nothing
/// and return success (linux_io section c2). So ranges begin at a multiple of 2 MiB and have at least that length. Only
/// extents in the order of the file count; what a jump backwards reads stays.
class DropPlan {
 public:
  static constexpr std::uint64_t kStepBytes = 2ULL << 20;

  explicit DropPlan(std::uint64_t file_bytes) : file_bytes_(file_bytes) {}

  /// `extent` was read, and nobody needs its pages. Gives what can be dropped now. After a jump forward of more than a
  /// step that is the end of what was read before it; the bytes jumped over are left alone.
  std::optional<Extent> passed(Extent extent);
  /// What is left when no more is read.
  std::optional<Extent> rest();

 private:
  std::optional<Extent> drop_to(std::uint64_t end);

  std::uint64_t file_bytes_;
  std::uint64_t dropped_to_ = 0;  // a multiple of the step, or the end of the file
  std::uint64_t read_to_ = 0;
};

}  // namespace millrace::io
