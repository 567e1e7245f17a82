#pragma once

// The one header that a stage author includes. Shortest complete stage:
//
//   class SubtractBaseline final : public millrace::Transform {
//    public:
//     explicit SubtractBaseline(const millrace::Options& options) : offset_(options.get<std::int16_t>("offset", 0)) {}
//     millrace::ChunkType prepare(const millrace::ChunkType& input) override {
//       return input.require(millrace::DType::i16);
//     }
//     std::optional<millrace::Chunk> process(millrace::Chunk chunk) override {
//       for (auto& sample : chunk.samples<std::int16_t>()) sample -= offset_;
//       return chunk;
//     }
//     bool parallel() const override { return true; }
//    private:
//     std::int16_t offset_;
//   };
//   extern "C" void millrace_register(millrace::Registry& registry) {
//     registry.add<SubtractBaseline>("subtract_baseline");
//   }

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/core/abi.h"
#include "pipeline/core/buffer.h"
#include "pipeline/core/call_context.h"
#include "pipeline/core/chunk.h"
#include "pipeline/core/dtype.h"
#include "pipeline/core/error.h"
#include "pipeline/core/io_stats.h"
#include "pipeline/core/options.h"
#include "pipeline/core/registry.h"

namespace millrace {

/// What flows on a link, agreed on before the first byte moves.
struct ChunkType {
  DType dtype = DType::u8;
  /// What the elements mean; one word, compared exactly. "bytes" (anything), "signal" (samples of one read),
  /// "signal.encoded", "events", ...
  std::string content = "bytes";
  /// Upper bound of one chunk's bytes; the memory plan is made of it. 0 = unknown, which a bounded run refuses.
  std::uint64_t max_bytes = 0;
  /// For encoded content ("signal.encoded"): upper bound of one chunk's bytes once decoded, which the stage that
  /// decodes gives as its own max_bytes. 0 = not encoded.
  std::uint64_t decoded_max_bytes = 0;

  /// This type if its elements are `wanted`, else Error (kind config) that names both.
  const ChunkType& require(DType wanted) const;
  /// This type if it carries `wanted` content, else Error (kind config) that names both.
  const ChunkType& require(const std::string& wanted) const;
  /// "i16 signal, up to 4.00 MiB"
  std::string text() const;
};

/// Pool buffers that a stage needs beyond those of its calls; part of the memory plan.
struct BufferNeeds {
  /// Buffers that one instance keeps from call to call: reads in flight (of the output link's pool); writes, or chunks
  /// that somebody else works on (of the input links' pools).
  std::uint64_t held = 0;
  /// Bytes that a loan from the output link may need beyond the largest chunk, for whole blocks of a device.
  std::uint64_t padding_bytes = 0;
};

/// What a stage found out about the data that ran through it.
struct Findings {
  std::vector<std::string> lines;  ///< for the report, one short line per fact ("3 of 4096 pieces did not match")
  /// Chunks that the stage took and refused on purpose: they count as dropped there, for this reason.
  struct Refused {
    std::string reason;
    std::uint64_t chunks = 0;
  };
  std::vector<Refused> refused;
};

/// What every stage has. One instance per slot; an instance is only ever inside one call at a time, so its code is
/// single-threaded. Life: constructor (reads options, touches nothing else) -> prepare (may open files) -> calls ->
/// finish or abandon -> destructor. Any of them may throw Error; other exceptions count as failures of the stage too.
class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;

  /// True when chunks are independent of each other, so that `slots` may be more than 1.
  virtual bool parallel() const { return false; }

  /// Bytes that one instance keeps beside its chunks; part of the memory plan. Asked after prepare.
  virtual std::uint64_t state_bytes() const { return 0; }

  /// Buffers beyond those of the calls. Asked of the first instance, after prepare.
  virtual BufferNeeds buffer_needs() const { return {}; }

  /// What this instance read or wrote so far; nothing for stages without I/O. Asked after the run.
  virtual std::optional<IoStats> io_stats() const { return std::nullopt; }

  /// What this instance found in its data. Asked after the run.
  virtual Findings findings() const { return {}; }

  /// One short line per fact for `millrace check` ("12 reads in 3 files, 187 MiB"). Asked after prepare.
  virtual std::vector<std::string> plan_notes() const { return {}; }

  /// CPU time that other processes used on behalf of this instance so far, nanoseconds. It is in none of the states of
  /// the instance's own time. Asked after the run.
  virtual std::int64_t child_cpu_ns() const { return 0; }

  /// Input files, for cache state and file-system facts in the report. Asked after prepare.
  virtual std::vector<std::filesystem::path> input_files() const { return {}; }
};

/// A stage without input. Runs on threads of its own and may block in the kernel.
class Source : public Stage {
 public:
  /// Opens what is needed and says what will flow.
  virtual ChunkType prepare() = 0;

  /// Prepares a further slot's instance from the first one, which is prepared already (to share an index). False:
  /// nothing was done, call prepare().
  virtual bool prepare_like(const Source& /*first*/) { return false; }

  /// Chunk number `index`; nothing = the stream has ended. Called with 0, 1, 2, ...; with several slots, calls for
  /// different indices run at the same time on different instances, and each index is asked for once.
  virtual std::optional<Chunk> produce(std::uint64_t index) = 0;

  /// Chunks and bytes that are to come in all, when known; for progress and its time of arrival.
  virtual std::optional<std::uint64_t> total_chunks() const { return std::nullopt; }
  virtual std::optional<std::uint64_t> total_bytes() const { return std::nullopt; }
};

/// A stage with input and output. Runs on the compute workers and should not block, unless it waits().
class Transform : public Stage {
 public:
  /// Accepts or refuses what comes in (ChunkType::require) and says what goes out.
  virtual ChunkType prepare(const ChunkType& input) = 0;

  /// One chunk in, one or none out.
  virtual std::optional<Chunk> process(Chunk chunk) = 0;

  /// True when calls wait for something outside of this process: another process, a device, a network. Every slot then
  /// has a thread of its own, as in sources and sinks, and no compute worker stands still meanwhile. Asked after
  /// prepare.
  virtual bool waits() const { return false; }

  /// True when one input may give several chunks: after a process() that returned one, more() is called until it
  /// returns nothing.
  virtual bool splits() const { return false; }
  virtual std::optional<Chunk> more() { return std::nullopt; }

  /// After the last input; called again until it returns nothing, so that what was held back can go out.
  virtual std::optional<Chunk> finish() { return std::nullopt; }
};

/// A stage without output. Runs on threads of its own and may block in the kernel.
class Sink : public Stage {
 public:
  virtual void prepare(const ChunkType& input) = 0;

  virtual void consume(Chunk chunk) = 0;

  /// How the stream ended, as finish() is told.
  enum class End {
    complete,     ///< everything came: publish under the final name
    interrupted,  ///< the user stopped the sources; what came is whole, but it is not all: keep it, under another name
  };
  /// After the last input: complete the output and publish it. Not called when the run fails.
  virtual void finish(End /*end*/) {}

  /// Called instead of finish() when the run fails or is stopped at once: remove what is partial. Must not throw.
  virtual void abandon() noexcept {}

  struct Output {
    std::filesystem::path path;
    std::uint64_t bytes = 0;
  };
  /// What was published. Asked after finish().
  virtual std::vector<Output> outputs() const { return {}; }
};

}  // namespace millrace
