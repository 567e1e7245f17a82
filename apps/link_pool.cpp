#include "apps/link_pool.h"

#include "io/buffer_pool.h"

namespace millrace::apps {
namespace {

class LinkPool final : public Pool {
 public:
  explicit LinkPool(const PoolSpec& spec) : pool_(spec.buffer_bytes, spec.buffers) {}

  Buffer lend(std::size_t bytes) override { return pool_.lend(bytes); }
  void take_back(BufferBlock& block) noexcept override { pool_.take_back(block); }
  std::uint64_t allocations() const override { return pool_.allocations(); }

 private:
  io::BufferPool pool_;
};

}  // namespace

std::unique_ptr<Pool> make_link_pool(const PoolSpec& spec) { return std::make_unique<LinkPool>(spec); }

}  // namespace millrace::apps
