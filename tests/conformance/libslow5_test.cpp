// BLOW5 and SLOW5 files of slow5_writer, read by Debian's libslow5 through python3-slow5. Skips where that is not
// installed. That library reads no version above 0.2.0 and has no zstd.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "io/run_info.h"
#include "stages/slow5_writer.h"
#include "tests/support/command.h"
#include "tests/support/pod5_files.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MILLRACE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MILLRACE_SANITIZED 1
#endif
#endif

namespace millrace {
namespace {

using nlohmann::json;

struct How {
  const char* file;
  const char* compression;
  const char* signal;
};

class Slow5ByLibslow5 : public testing::TestWithParam<How> {
 protected:
  void SetUp() override {
#if defined(MILLRACE_SANITIZED)
    GTEST_SKIP() << "a library with a sanitizer cannot be preloaded into python";
#endif
    if (!std::filesystem::exists(kPython)) GTEST_SKIP() << "there is no " << kPython;
    if (read_file("").exit_code != 0) GTEST_SKIP() << "python3-slow5 is not installed";
  }

  /// What the script prints of a file; it only loads the package when there is none.
  static test::CommandResult read_file(const std::string& file) {
    std::vector<std::string> arguments{test::source_dir().string() + "/tests/conformance/read_slow5.py"};
    if (!file.empty()) arguments.push_back(file);
    test::Command::Settings settings;
    settings.program = kPython;
    settings.environment = {{"LD_PRELOAD", test::build_dir().string() + "/tests/plugins/zigzag_for_libslow5.so"}};
    return test::Command(arguments, settings).wait();
  }

  std::filesystem::path write(const std::vector<test::MadeRead>& reads, const std::string& version) const {
    const auto path = directory_ / GetParam().file;
    const bool text = path.extension() == ".slow5";
    const std::string file = path.string();
    const auto options =
        text ? test::options_of({{"path", file}, {"read_groups", std::int64_t{2}}, {"version", version}})
             : test::options_of({{"path", file},
                                 {"read_groups", std::int64_t{2}},
                                 {"version", version},
                                 {"compression", std::string(GetParam().compression)},
                                 {"signal", std::string(GetParam().signal)}});
    Slow5Writer writer(options);
    writer.prepare({DType::i16, "signal", 1 << 20});
    std::vector<Chunk> chunks;
    for (const auto& read : reads) {
      chunks.push_back(test::chunk_of(read.samples, std::make_shared<const Attributes>(read.attributes)));
    }
    test::drive(writer, std::move(chunks));
    return path;
  }

  static constexpr const char* kPython = "/usr/bin/python3";
  test::TempDirectory directory_;
};

TEST_P(Slow5ByLibslow5, ReadsEverySampleAndEveryField) {
  const auto reads = test::made_reads({1000, 1, 70'000, 8});
  const auto result = read_file(write(reads, "0.2.0").string());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::istringstream text(result.out);
  std::string line;
  std::vector<std::string> run_of_group(2);
  for (const auto& read : reads) {
    ASSERT_TRUE(std::getline(text, line)) << result.err;
    const json got = json::parse(line);
    const Attributes& wanted = read.attributes;
    SCOPED_TRACE(*wanted.text("read_id"));
    EXPECT_EQ(got.at("read_id"), *wanted.text("read_id"));
    EXPECT_EQ(got.at("signal").get<std::vector<std::int16_t>>(), read.samples);
    for (const char* const name :
         {"digitisation", "offset", "range", "sampling_rate", "median_before", "time_since_mux_change"}) {
      EXPECT_EQ(got.at(name), *wanted.number(name)) << name;
    }
    for (const char* const name : {"read_number", "start_time", "start_mux", "num_minknow_events"}) {
      EXPECT_EQ(got.at(name), *wanted.integer(name)) << name;
    }
    for (const char* const name : {"channel_number", "pore_type"}) EXPECT_EQ(got.at(name), *wanted.text(name)) << name;
    run_of_group.at(got.at("read_group").get<std::size_t>()) = *wanted.text("run_id");
  }
  ASSERT_TRUE(std::getline(text, line));
  const json headers = json::parse(line);
  for (std::size_t group = 0; group < headers.size(); ++group) {
    EXPECT_EQ(headers[group].at("run_id"), run_of_group[group]);
  }
}

/// That the file is read by a program that checks, and not merely by one that reads anything.
TEST_P(Slow5ByLibslow5, IsNotFooledByADamagedFile) {
  const auto path = write(test::made_reads({1000}), "0.2.0");
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 100);
  const auto result = read_file(path.string());
  EXPECT_TRUE(result.exit_code != 0 || !result.err.empty() || result.out.find("\"signal\"") == std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Codings, Slow5ByLibslow5,
                         testing::Values(How{"plain.blow5", "none", "none"}, How{"svb.blow5", "none", "svb-zd"},
                                         How{"zlib.blow5", "zlib", "none"}, How{"both.blow5", "zlib", "svb-zd"},
                                         How{"text.slow5", "", ""}),
                         [](const auto& how) {
                           const std::string name = how.param.file;
                           return name.substr(0, name.find('.'));
                         });

}  // namespace
}  // namespace millrace
