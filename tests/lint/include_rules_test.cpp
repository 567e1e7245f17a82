// Who may include whom: apps -> stages -> io -> pipeline/core and apps -> pipeline -> pipeline/core.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/lint/source_tree.h"
#include "tests/support/places.h"

namespace millrace::lint {
namespace {

using testing::IsEmpty;

/// Each room with the rooms that it may include from. A room that is not here may include from all.
const std::map<std::string, std::vector<std::string>> kAllowed = {
    {"pipeline/core", {"pipeline/core"}},
    {"pipeline", {"pipeline", "pipeline/core"}},
    {"pipeline/experiment", {"pipeline/experiment", "pipeline", "pipeline/core"}},
    {"pipeline/replay", {"pipeline/replay", "pipeline", "pipeline/core"}},
    {"io", {"io", "pipeline/core"}},
    {"stages", {"stages", "io", "pipeline/core"}},
    {"apps", {"apps", "stages", "io", "pipeline/experiment", "pipeline/replay", "pipeline", "pipeline/core"}},
    {"include", {"pipeline/core"}},
};

/// Libraries that are kept in one file each, so that what they cost in build time and what they know stays there.
/// Prefixes of what stands in <>, and the file of the program that may have them. (TBB and HDF5 have a second one: what
/// the engine and the decoders are measured against.)
struct Library {
  std::string name;
  std::vector<std::string> prefixes;
  std::set<std::string> homes;
};
const std::vector<Library> kLibraries = {
    {"TBB", {"<tbb/", "<oneapi/"}, {"pipeline/worker_arena.cpp", "apps/bench_link_baselines.cpp"}},
    {"toml++", {"<toml++/", "<toml"}, {"pipeline/config_toml.cpp"}},
    {"HDF5", {"<hdf5", "<H5"}, {"io/hdf5_format.cpp", "tests/bench/decode_speed.cpp"}},
    {"CLI11", {"<CLI/"}, {"apps/command_line.cpp"}},
    {"liburing", {"<liburing"}, {"io/uring.cpp"}},
    {"htslib", {"<htslib/"}, {"io/alignment_encoder.cpp"}},
    {"FlatBuffers",
     {"<flatbuffers/", "<arrow_generated", "<pod5_generated"},
     {"io/arrow_ipc.cpp", "io/arrow_ipc_writer.cpp", "io/pod5_footer.cpp"}},
};

bool in_example(const SourceFile& file) { return file.path.starts_with("apps/example_plugin/"); }

template <typename Visit>
void for_each_include(Visit visit) {
  for (const auto& file : cpp_files()) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string included = included_by(file.lines[i]);
      if (!included.empty()) visit(file, included, place(file, i));
    }
  }
}

TEST(IncludeRules, TheTreeIsSeen) {
  // The other tests of this file would pass on an empty list.
  std::set<std::string> rooms;
  for (const auto& file : cpp_files()) rooms.insert(file.room());
  EXPECT_THAT(rooms, testing::IsSupersetOf({"pipeline/core", "pipeline", "io", "stages", "apps", "tests"}));
  EXPECT_GT(cpp_files().size(), 50U);
}

TEST(IncludeRules, EveryRoomIncludesOnlyFromTheRoomsBelowIt) {
  std::vector<std::string> wrong;
  for_each_include([&](const SourceFile& file, const std::string& included, const std::string& where) {
    const auto rule = kAllowed.find(file.room());
    if (included.front() != '"' || rule == kAllowed.end() || in_example(file)) return;
    const std::string room = SourceFile{included.substr(1), {}}.room();
    if (std::find(rule->second.begin(), rule->second.end(), room) == rule->second.end()) wrong.push_back(where);
  });
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(IncludeRules, QuotedIncludesAreFilesNamedFromTheRepositoryRoot) {
  std::vector<std::string> wrong;
  for_each_include([&](const SourceFile& file, const std::string& included, const std::string& where) {
    if (included.front() != '"') return;
    const std::string name = included.substr(1, included.size() - 2);
    const std::filesystem::path root = test::source_dir();
    const bool installed_name = name == "millrace/stage.h" && (in_example(file) || file.room() == "tests");
    if (!installed_name && !std::filesystem::exists(root / name)) wrong.push_back(where);
  });
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(IncludeRules, SourceIncludesItsOwnHeaderFirst) {
  // So every header with a source file is known to compile alone; tests/lint/CMakeLists.txt sees to the others.
  std::set<std::string> headers;
  for (const auto& file : cpp_files()) {
    if (file.is_header()) headers.insert(file.path);
  }
  std::vector<std::string> wrong;
  for (const auto& file : cpp_files()) {
    const std::string header = file.path.substr(0, file.path.rfind('.')) + ".h";
    if (file.is_header() || !headers.contains(header)) continue;
    const auto first = std::find_if(file.lines.begin(), file.lines.end(),
                                    [](const std::string& line) { return !included_by(line).empty(); });
    if (first == file.lines.end() || included_by(*first) != '"' + header + '"') wrong.push_back(file.path);
  }
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(IncludeRules, CoreIncludesOnlyTheStandardLibraryAndTheSystem) {
  const std::set<std::string> system = {"<fcntl.h>", "<time.h>", "<unistd.h>", "<x86intrin.h>", "<sys/resource.h>"};
  std::vector<std::string> wrong;
  for_each_include([&](const SourceFile& file, const std::string& included, const std::string& where) {
    if (file.room() != "pipeline/core" || included.front() != '<') return;
    const bool standard = included.find_first_of("./") == std::string::npos;
    if (!standard && !system.contains(included)) wrong.push_back(where);
  });
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(IncludeRules, HeavyLibrariesAppearInOneFileEach) {
  std::vector<std::string> wrong;
  for_each_include([&](const SourceFile& file, const std::string& included, const std::string& where) {
    if (file.room() == "tests") return;  // baselines to measure against, and files made to be read
    for (const auto& library : kLibraries) {
      const bool is_its_header = std::any_of(library.prefixes.begin(), library.prefixes.end(),
                                             [&](const auto& prefix) { return included.starts_with(prefix); });
      if (is_its_header && !library.homes.contains(file.path)) wrong.push_back(library.name + ": " + where);
    }
  });
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(IncludeRules, ExamplePluginIncludesOnlyWhatAnInstalledCopyHas) {
  std::vector<std::string> wrong;
  for_each_include([&](const SourceFile& file, const std::string& included, const std::string& where) {
    if (in_example(file) && included.front() == '"' && included != "\"millrace/stage.h\"") wrong.push_back(where);
  });
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(IncludeRules, StagesKnowNoThreadLockOrQueue) {
  const std::set<std::string> forbidden = {"<thread>", "<mutex>",  "<shared_mutex>", "<condition_variable>",
                                           "<queue>",  "<future>", "<semaphore>",    "<barrier>"};
  std::vector<std::string> wrong;
  for_each_include([&](const SourceFile& file, const std::string& included, const std::string& where) {
    if (file.room() == "stages" && forbidden.contains(included)) wrong.push_back(where);
  });
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(IncludeRules, StagesKnowNoClockExceptThoseThatKeepAPace) {
  const std::set<std::string> pacing = {"stages/spin.cpp",     "stages/spin.h",     "stages/synthetic_reader.cpp",
                                        "stages/burn_cpu.cpp", "stages/burn_cpu.h", "stages/synthetic_reader.h"};
  const std::set<std::string> clocks = {"\"pipeline/core/clock.h\"", "<ctime>", "<time.h>"};
  std::vector<std::string> wrong;
  for_each_include([&](const SourceFile& file, const std::string& included, const std::string& where) {
    if (file.room() == "stages" && clocks.contains(included) && !pacing.contains(file.path)) wrong.push_back(where);
  });
  EXPECT_THAT(wrong, IsEmpty());
}

}  // namespace
}  // namespace millrace::lint
