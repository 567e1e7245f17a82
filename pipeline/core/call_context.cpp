#include "pipeline/core/call_context.h"

namespace millrace {

CallContext& call_context() {
  thread_local CallContext context;
  return context;
}

Buffer loan(std::size_t bytes) {
  Lender* const lender = call_context().lender;
  return (lender == nullptr ? heap_lender() : *lender).lend(bytes);
}

}  // namespace millrace
