// What holds for every registered stage with an input, whatever it is: a new one is tested without a line here. Each is
// offered every type that flows anywhere. tests/conformance runs the built-in stages one by one on input made for them.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "pipeline/core/registry.h"
#include "pipeline/core/stage.h"
#include "stages/builtin.h"
#include "tests/support/byte_samples.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

constexpr DType kDTypes[] = {DType::u8,  DType::i8,  DType::u16, DType::i16, DType::u32,
                             DType::i32, DType::u64, DType::i64, DType::f32, DType::f64};
constexpr const char* kContents[] = {"bytes", "signal", "signal.encoded", "events",
                                     "zstd",  "lz4",    "basecalls",      "no such content"};
constexpr std::uint64_t kMaxBytes = 48'000;

Registry builtin_stages() {
  Registry registry;
  add_builtin_stages(registry);
  return registry;
}

std::vector<std::string> types_of(std::initializer_list<Role> roles) {
  std::vector<std::string> types;
  const Registry registry = builtin_stages();
  for (const auto& [type, entry] : registry.entries()) {
    if (std::find(roles.begin(), roles.end(), entry.role) != roles.end()) types.push_back(type);
  }
  return types;
}

std::vector<ChunkType> all_chunk_types() {
  std::vector<ChunkType> types;
  for (const DType dtype : kDTypes) {
    for (const char* const content : kContents) types.push_back({dtype, content, kMaxBytes, kMaxBytes});
  }
  return types;
}

/// No two alike.
std::string read_id(std::mt19937_64& random) {
  std::array<char, 37> text{};
  std::snprintf(text.data(), text.size(), "00000000-0000-4000-8000-%012llx",
                static_cast<unsigned long long>(random() & 0xffffffffffffULL));
  return text.data();
}

/// `samples` elements of `type` that a stage which accepts the type can work on.
Chunk chunk_for(const ChunkType& type, std::size_t samples, std::mt19937_64& random) {
  const auto attributes = std::make_shared<const Attributes>(Attributes{{"read_id", read_id(random)},
                                                                        {"samples", static_cast<std::int64_t>(samples)},
                                                                        {"coding", "none"},
                                                                        {"digitisation", 8192.0},
                                                                        {"offset", 6.0},
                                                                        {"range", 1467.6},
                                                                        {"sampling_rate", 4000.0}});
  if (type.content == "signal.encoded" && type.dtype == DType::u8) {
    return test::chunk_of(test::random_bytes(random, 2 * samples), attributes);
  }
  if (type.content == "basecalls" && type.dtype == DType::u8) {
    const std::vector<std::uint8_t> rows(2 * samples, 'A');  // 65 is a quality too
    const Chunk flat = test::chunk_of(rows, attributes);
    return flat.with(Buffer(flat.buffer()), DType::u8, {2, samples});
  }
  if (type.dtype != DType::f32) {
    const Chunk flat = test::chunk_of(test::random_bytes(random, samples * size_of(type.dtype)), attributes);
    return flat.with(Buffer(flat.buffer()), type.dtype);
  }
  std::vector<float> values(samples / 3 * 3);
  for (auto& value : values) value = static_cast<float>(1 + random() % 1000);
  const Chunk flat = test::chunk_of(values, attributes);
  return type.content == "events" ? flat.with(Buffer(flat.buffer()), DType::f32, {values.size() / 3, 3}) : flat;
}

class EveryStage : public testing::TestWithParam<std::string> {
 protected:
  const Registry::Entry& entry() const { return registry_.at(GetParam()); }

  /// One made with defaults, and with a path where it wants one.
  std::unique_ptr<Stage> make() const {
    if (GetParam() == "verify_signal") {
      const auto table = directory_.write("table.tsv", "read_id\tsha256_i16le\n");
      return entry().make(test::options_of({{"against", table.string()}, {"on_mismatch", "count"}}));
    }
    if (GetParam() == "command") return entry().make(test::options_of({{"command", "cat"}}));
    for (const auto& option : registry_.describe(GetParam())) {
      if (option.required) return entry().make(test::options_of({{"path", (directory_ / "out").string()}}));
    }
    return entry().make(test::options_of({}));
  }

  /// What it says to `type`: what comes out of it, the type itself for a sink; the Error when it refuses.
  static std::optional<ChunkType> prepared(Stage& stage, const ChunkType& type, std::string* refusal = nullptr) {
    try {
      if (auto* const transform = dynamic_cast<Transform*>(&stage)) return transform->prepare(type);
      dynamic_cast<Sink&>(stage).prepare(type);
      return type;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::config) << error.what();
      if (refusal != nullptr) *refusal = error.message();
      return std::nullopt;
    }
  }

  Registry registry_ = builtin_stages();
  test::TempDirectory directory_;
};

TEST_P(EveryStage, DescribesItsOptions) {
  for (const auto& option : registry_.describe(GetParam())) {
    EXPECT_FALSE(option.key.empty());
    EXPECT_FALSE(option.type.empty()) << option.key;
    EXPECT_FALSE(option.help.empty()) << option.key;
    EXPECT_EQ(option.required, option.fallback.empty()) << option.key;
  }
}

TEST_P(EveryStage, AcceptsSomethingAndRefusesTheRestByNamingBoth) {
  std::size_t accepted = 0;
  for (const ChunkType& type : all_chunk_types()) {
    std::string refusal;
    const auto stage = make();
    if (prepared(*stage, type, &refusal)) {
      ++accepted;
      continue;
    }
    EXPECT_NE(refusal.find("needs "), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("its input is " + type.text()), std::string::npos) << refusal;
  }
  EXPECT_GT(accepted, 0U);
}

TEST_P(EveryStage, SurvivesAStreamWithoutChunks) {
  for (const ChunkType& type : all_chunk_types()) {
    const auto stage = make();
    if (!prepared(*stage, type)) continue;
    if (auto* const transform = dynamic_cast<Transform*>(stage.get())) {
      EXPECT_FALSE(transform->finish()) << type.text();
    } else {
      dynamic_cast<Sink&>(*stage).finish(Sink::End::complete);
    }
  }
}

TEST_P(EveryStage, TakesChunksWithoutElements) {
  std::mt19937_64 random(1);
  for (const ChunkType& type : all_chunk_types()) {
    const auto stage = make();
    if (!prepared(*stage, type)) continue;
    std::vector<Chunk> chunks;
    for (int i = 0; i < 2; ++i) chunks.push_back(chunk_for(type, 0, random));
    if (auto* const transform = dynamic_cast<Transform*>(stage.get())) {
      test::drive(*transform, std::move(chunks));
    } else {
      test::drive(dynamic_cast<Sink&>(*stage), std::move(chunks));
    }
  }
}

class EveryTransform : public EveryStage {};

TEST_P(EveryTransform, GivesTheSameForASharedBufferAsForItsOwn) {
  std::mt19937_64 random(2);
  for (const ChunkType& type : all_chunk_types()) {
    const auto stage = make();
    const auto again = make();
    if (!prepared(*stage, type) || !prepared(*again, type)) continue;
    for (const std::size_t samples : {2000, 3, 999}) {
      const Chunk kept = chunk_for(type, samples, random);
      Chunk own = kept.with(Buffer(test::chunk_of(kept.bytes()).buffer()), kept.dtype(), kept.shape());
      ASSERT_TRUE(own.buffer().unique());
      ASSERT_TRUE(kept.buffer().unique());
      std::optional<Chunk> of_shared;
      try {
        of_shared = dynamic_cast<Transform&>(*stage).process(kept);
      } catch (const Error& needs) {  // what no made-up chunk has: a place in a file
        EXPECT_EQ(needs.kind(), ErrorKind::config) << needs.what();
        continue;
      }
      const auto of_own = dynamic_cast<Transform&>(*again).process(std::move(own));
      ASSERT_EQ(of_shared.has_value(), of_own.has_value());
      if (!of_shared) continue;
      EXPECT_EQ(of_shared->shape(), of_own->shape());
      EXPECT_TRUE(std::equal(of_shared->bytes().begin(), of_shared->bytes().end(), of_own->bytes().begin(),
                             of_own->bytes().end()))
          << type.text();
    }
  }
}

constexpr auto kNameOfType = [](const auto& instance) { return instance.param; };

INSTANTIATE_TEST_SUITE_P(Builtin, EveryStage, testing::ValuesIn(types_of({Role::transform, Role::sink})), kNameOfType);
INSTANTIATE_TEST_SUITE_P(Builtin, EveryTransform, testing::ValuesIn(types_of({Role::transform})), kNameOfType);

}  // namespace
}  // namespace millrace
