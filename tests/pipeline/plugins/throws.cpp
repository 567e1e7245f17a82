// Registers one type and then fails: the registry must stay as it was.

#include <stdexcept>

#include "millrace/stage.h"

namespace {

class Swallow final : public millrace::Sink {
 public:
  explicit Swallow(const millrace::Options& /*options*/) {}
  void prepare(const millrace::ChunkType& /*input*/) override {}
  void consume(millrace::Chunk /*chunk*/) override {}
};

}  // namespace

extern "C" void millrace_register(millrace::Registry& registry) {
  registry.add<Swallow>("swallow");
  throw std::runtime_error("the licence server does not answer");
}
