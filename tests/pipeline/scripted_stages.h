#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "pipeline/core/stage.h"
#include "pipeline/plan.h"

namespace millrace::test {

/// Stages for tests of everything before the run: each does what its options say when it is made and prepared.
class ScriptedSource final : public Source {
 public:
  explicit ScriptedSource(const Options& options)
      : max_bytes_(options.get<Bytes>("chunk", Bytes{1 << 20}, "largest chunk")),
        content_(options.get<std::string>("content", "signal")),
        parallel_(options.get<bool>("parallel", false)),
        fail_(options.get<std::string>("fail", "")) {}
  ChunkType prepare() override {
    if (fail_ == "run") throw Error("cannot open: No such file or directory").at_path("/data/in.raw");
    if (fail_ == "other") throw std::runtime_error("something else");
    return {DType::i16, content_, max_bytes_.count};
  }
  std::optional<Chunk> produce(std::uint64_t /*index*/) override { return std::nullopt; }
  bool parallel() const override { return parallel_; }

 private:
  Bytes max_bytes_;
  std::string content_;
  bool parallel_;
  std::string fail_;
};

class ScriptedTransform final : public Transform {
 public:
  explicit ScriptedTransform(const Options& options)
      : level_(options.get<int>("level", 3)), state_(options.get<Bytes>("state", Bytes{})) {
    if (level_ > 22) throw options.error_at("level", "'level' must be at most 22");
    const Options via = options.table("via");
    via.get<std::string>("transport", "buffered");
  }
  ChunkType prepare(const ChunkType& input) override {
    input.require("signal");
    return {DType::f32, "signal", 2 * input.max_bytes};
  }
  std::optional<Chunk> process(Chunk chunk) override { return chunk; }
  bool parallel() const override { return true; }
  std::uint64_t state_bytes() const override { return state_.count; }

 private:
  int level_;
  Bytes state_;
};

class ScriptedSink final : public Sink {
 public:
  explicit ScriptedSink(const Options& options)
      : path_(options.require<std::string>("path")), wanted_(options.get<std::string>("wants", "f32")) {
    if (path_ == "a table") options.get<bool>("only_with_a_table", false);
  }
  void prepare(const ChunkType& input) override { input.require(*dtype_named(wanted_)); }
  void consume(Chunk /*chunk*/) override {}

 private:
  std::string path_;
  std::string wanted_;
};

inline Registry scripted_registry() {
  Registry registry;
  registry.add<ScriptedSource>("source");
  registry.add<ScriptedTransform>("transform");
  registry.add<ScriptedSink>("sink");
  return registry;
}

}  // namespace millrace::test
