#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "pipeline/core/attributes.h"

namespace millrace {

/// The header of a SAM, BAM or CRAM file of called reads: one @RG per run and model that the reads come from, and @PG.
/// Sources: SAM specification 1.3, and for the fields of @RG dorado's documentation/SAM.md.
///
///     ID  read_group_of(): <run id>_<model>          PL  ONT
///     PU  flow cell        PM  device                DS  basecall_model=<model> runid=<run id>
///     DT  start of the run LB, SM  sample
///
/// A fact that is not known has no field. Control characters in a fact become blanks.
class SamHeader {
 public:
  /// Adds the group of a read, unless it is there or the read has no run_id; whether it was added.
  bool add_group_of(const Attributes& attributes);
  bool has(const std::string& group) const { return groups_.contains(group); }
  std::size_t groups() const { return groups_.size(); }

  /// The lines, each with its line end.
  std::string text() const;
  /// The same, filled up to `bytes` by a comment line (@CO). Error when it is longer, or too little shorter for a line.
  std::string text(std::size_t bytes) const;

 private:
  std::set<std::string, std::less<>> groups_;
  std::string group_lines_;
};

}  // namespace millrace
