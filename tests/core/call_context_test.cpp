#include "pipeline/core/call_context.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/core/counting_lender.h"

namespace millrace {
namespace {

TEST(CallContext, OutsideARunLoansComeFromTheHeapAndNothingIsStopped) {
  EXPECT_EQ(call_context().lender, nullptr);
  EXPECT_FALSE(call_context().stop.stop_requested());
  EXPECT_EQ(call_context().tally.copied_bytes, 0U);
  EXPECT_EQ(loan(100).size(), 100U);
}

TEST(CallContext, LoanAsksTheLenderOfThisThread) {
  test::CountingLender lender;
  call_context().lender = &lender;
  const Buffer mine = loan(10);
  std::jthread([] {
    EXPECT_EQ(call_context().lender, nullptr) << "every thread has a context of its own";
    loan(10);
  }).join();
  call_context().lender = nullptr;
  EXPECT_EQ(lender.lent(), 1);
}

}  // namespace
}  // namespace millrace
