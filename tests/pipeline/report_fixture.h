#pragma once

#include "pipeline/report.h"
#include "tests/pipeline/verdict_scenario.h"

namespace millrace::test {

/// A report whose samples are written stretch by stretch: in each, every stage spends its slot time as told.
class ReportBuilder {
 public:
  /// Names, roles and slots of the stages; a chain.
  explicit ReportBuilder(const std::vector<Shares>& stages);

  /// `intervals` samples, `interval_s` apart, in which the stages do what `stages` says. `chunks` go through every
  /// stage that is busy, per interval; the links hold `link_chunks`.
  ReportBuilder& spend(std::size_t intervals, double interval_s, const std::vector<Shares>& stages,
                       std::uint64_t chunks = 100, std::uint64_t link_chunks = 2);

  /// Everything but what complete_report() adds.
  RunReport build() const;

 private:
  RunReport report_;
  Sample now_;
};

/// A run with every field of the report filled, complete_report() done.
RunReport full_report();

/// A long run whose bottleneck changes, interrupted, with losses and a long name; complete_report() done.
RunReport drifting_report();

}  // namespace millrace::test
