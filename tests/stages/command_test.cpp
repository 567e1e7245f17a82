#include "stages/command.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/open_descriptors.h"
#include "tests/support/stage_driver.h"
#include "tests/support/temp_directory.h"

namespace millrace {
namespace {

using test::chunk_of;
using test::drive;
using test::error_of;
using test::options_of;
using test::values_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Words = std::vector<std::string>;
using Setting = std::pair<const std::string, decltype(OptionValue::value)>;

const ChunkType kSignal{DType::i16, "signal", 200'000};

std::string program() { return (test::build_dir() / "tests/scripted_command").string(); }

/// The options of a command that runs the scripted program, and `more`.
Options scripted(const Words& words, const std::vector<Setting>& more = {}) {
  Words all{program()};
  all.insert(all.end(), words.begin(), words.end());
  std::map<std::string, OptionValue> values;
  values["command"] = {all, {}};
  for (const auto& [key, value] : more) values[key] = {value, {}};
  Options options(std::move(values), {}, {});
  options.set_stage("call");
  return options;
}

Chunk read_of(std::size_t samples, const std::string& id = "r1") {
  std::vector<std::int16_t> values(samples);
  for (std::size_t i = 0; i < samples; ++i) values[i] = static_cast<std::int16_t>(i * 7);
  return chunk_of(values, std::make_shared<const Attributes>(Attributes{{"read_id", id}, {"offset", 2.5}}));
}

std::vector<Chunk> reads(std::size_t count, std::size_t samples = 100) {
  std::vector<Chunk> chunks;
  for (std::size_t i = 0; i < count; ++i) chunks.push_back(read_of(samples + i, "r" + std::to_string(i)));
  return chunks;
}

/// What happens when the scripted program gets `count` reads.
std::optional<Error> failure_of(const Words& words, const std::vector<Setting>& more = {}, std::size_t count = 2) {
  Command stage(scripted(words, more));
  stage.prepare(kSignal);
  return error_of([&] { drive(stage, reads(count)); });
}

std::string message_of(const Words& words, const std::vector<Setting>& more = {}) {
  const auto error = failure_of(words, more);
  return error ? error->what() : "";
}

TEST(Command, HandsOnWhatTheProgramAnswers) {
  Command stage(scripted({"echo"}));
  const ChunkType output = stage.prepare(kSignal);
  EXPECT_EQ(output.dtype, DType::i16);
  EXPECT_EQ(output.content, "signal");
  EXPECT_EQ(output.max_bytes, kSignal.max_bytes);
  const auto outputs = drive(stage, reads(20));
  ASSERT_EQ(outputs.size(), 20U);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(values_of<std::int16_t>(outputs[i]), values_of<std::int16_t>(read_of(100 + i)));
    EXPECT_EQ(outputs[i].attributes().text("read_id"), "r" + std::to_string(i));
    EXPECT_EQ(outputs[i].sequence(), i);
  }
}

TEST(Command, CatIsAProgramThatChangesNothing) {
  Command stage(options_of({{"command", "cat"}}));
  stage.prepare(kSignal);
  const auto outputs = drive(stage, reads(3, 100'000 - 3));
  ASSERT_EQ(outputs.size(), 3U);
  EXPECT_EQ(values_of<std::int16_t>(outputs[2]), values_of<std::int16_t>(read_of(99'999)));
}

TEST(Command, TheExampleTurnsSignalsUpsideDown) {
  if (std::system("command -v python3 >/dev/null") != 0) GTEST_SKIP() << "there is no python3 here";
  const std::string example = (test::source_dir() / "apps/command_example/negate.py").string();
  Command stage(options_of({{"command", Words{"python3", example}}}));
  stage.prepare(kSignal);
  std::vector<Chunk> inputs;
  inputs.push_back(chunk_of(std::vector<std::int16_t>{1, -2, 0, 32767, -32768}));
  inputs.push_back(read_of(0));
  const auto outputs = drive(stage, std::move(inputs));
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_THAT(values_of<std::int16_t>(outputs[0]), ElementsAre(-1, 2, 0, -32767, 32767));
  EXPECT_EQ(outputs[1].size_bytes(), 0U);
  EXPECT_EQ(outputs[1].attributes().text("read_id"), "r1");
}

TEST(Command, TakesChunksWithoutElements) {
  Command stage(scripted({"echo"}));
  stage.prepare(kSignal);
  std::vector<Chunk> inputs;
  inputs.push_back(read_of(0));
  const auto outputs = drive(stage, std::move(inputs));
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0].size_bytes(), 0U);
}

TEST(Command, AStageWithoutChunksStartsNoProgram) {
  const test::TempDirectory directory;
  Command stage(scripted({"keeps_hello", (directory / "hello").string()}));
  stage.prepare(kSignal);
  EXPECT_FALSE(stage.finish());
  EXPECT_FALSE(std::filesystem::exists(directory / "hello"));
}

TEST(Command, TheHelloSaysWhatWillFlow) {
  const test::TempDirectory directory;
  const std::string kept = (directory / "hello").string();
  Command stage(
      scripted({"keeps_hello", kept}, {{"options", "model=hac"}, {"max_output", "3 kB"}, {"output", "calls"}}));
  stage.prepare(kSignal);
  drive(stage, reads(1));
  const auto hello = nlohmann::json::parse(test::contents_of(kept));
  EXPECT_EQ(hello["version"], 1);
  EXPECT_EQ(hello["stage"], "call");
  EXPECT_EQ(hello["input"], (nlohmann::json{{"dtype", "i16"}, {"content", "signal"}, {"max_bytes", 200'000}}));
  EXPECT_EQ(hello["output"], (nlohmann::json{{"dtype", "i16"}, {"content", "calls"}, {"max_bytes", 3000}}));
  EXPECT_EQ(hello["options"], "model=hac");
  EXPECT_EQ(hello["in_flight"], 1);
}

TEST(Command, TheOutputTypeIsWhatTheConfigSays) {
  struct Case {
    const char* max_output;
    std::uint64_t bytes;
  };
  for (const Case& one : {Case{"1 MiB", 1 << 20}, Case{"2x", 400'000}, Case{"0.5x", 100'000}, Case{"17 B", 17}}) {
    Command stage(options_of(
        {{"command", "cat"}, {"max_output", one.max_output}, {"output", "basecalls"}, {"output_dtype", "u8"}}));
    const ChunkType type = stage.prepare(kSignal);
    EXPECT_EQ(type.max_bytes, one.bytes) << one.max_output;
    EXPECT_EQ(type.content, "basecalls");
    EXPECT_EQ(type.dtype, DType::u8);
  }
}

TEST(Command, AnAnswerMayHaveAnotherTypeAndShape) {
  Command stage(scripted({"two_rows"}, {{"output_dtype", "u8"}, {"output", "basecalls"}}));
  stage.prepare(kSignal);
  const auto outputs = drive(stage, reads(1));
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0].shape(), (Shape{2, 3}));
  EXPECT_THAT(values_of<std::uint8_t>(outputs[0]), ElementsAre('A', 'C', 'G', 1, 2, 3));
}

TEST(Command, AttributesOfTheAnswerAreSetBesideThoseOfTheChunk) {
  Command stage(scripted({"attributes"}));
  stage.prepare(kSignal);
  const auto outputs = drive(stage, reads(1));
  ASSERT_EQ(outputs.size(), 1U);
  const Attributes& attributes = outputs[0].attributes();
  EXPECT_EQ(attributes.text("read_id"), "r0");
  EXPECT_EQ(attributes.number("offset"), 2.5);
  EXPECT_EQ(attributes.text("model"), "m");
  EXPECT_EQ(attributes.integer("n"), 7);
  EXPECT_EQ(attributes.number("mean"), 2.5);
  EXPECT_EQ(attributes.find("left"), nullptr);
}

TEST(Command, NothingIsAnAnswerToo) {
  Command stage(scripted({"none_for_odd"}));
  stage.prepare(kSignal);
  const auto outputs = drive(stage, reads(5));
  ASSERT_EQ(outputs.size(), 3U);
  EXPECT_EQ(outputs[1].sequence(), 2U);
  EXPECT_THAT(stage.findings().lines, ElementsAre("2 chunks were answered with nothing"));
}

TEST(Command, NeitherSideBlocksTheOtherByWritingFirst) {
  // 8 MB each way, more than pipes hold: the program writes its answer before it has read the chunk.
  const ChunkType large{DType::i16, "signal", 8'000'000};
  Command stage(scripted({"answers_first"}));
  stage.prepare(large);
  const auto outputs = drive(stage, reads(3, 3'999'997));
  ASSERT_EQ(outputs.size(), 3U);
  EXPECT_EQ(outputs[0].bytes()[7'000'000], std::byte{'z'});
}

TEST(Command, SeveralChunksInFlightComeOutInOrder) {
  Command stage(scripted({"batches", "4"}, {{"in_flight", std::int64_t{4}}}));
  stage.prepare({DType::i16, "signal", 2'000'000});
  EXPECT_FALSE(stage.parallel());
  EXPECT_EQ(stage.buffer_needs().held, 3U);
  const auto outputs = drive(stage, reads(10, 900'000));
  ASSERT_EQ(outputs.size(), 10U);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(outputs[i].sequence(), i);
    EXPECT_EQ(outputs[i].attributes().text("read_id"), "r" + std::to_string(i));
    EXPECT_EQ(outputs[i].size_bytes(), 2 * (900'000 + i));
  }
}

TEST(Command, InFlightWorksWithAProgramThatAnswersAtOnceAndWithNothing) {
  Command stage(scripted({"none_for_odd"}, {{"in_flight", std::int64_t{5}}}));
  stage.prepare(kSignal);
  const auto outputs = drive(stage, reads(11));
  ASSERT_EQ(outputs.size(), 6U);
  for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(outputs[i].sequence(), 2 * i);
}

TEST(Command, BrokenAnswersFailTheRunWithChunkAndRead) {
  struct Case {
    const char* script;
    const char* says;
  };
  for (const Case& one :
       {Case{"bad_magic", "'Hello, I am a pr'"},
        Case{"wrong_sequence", "it answered chunk 1, but the answer to chunk 0 was due"}, Case{"twice", "it answered"},
        Case{"wrong_dtype", "is f32, not i16"}, Case{"too_large", "2097152 bytes, more than the 200000"},
        Case{"endless", "its answer to chunk"}, Case{"short", "6 bytes of data"},
        Case{"early_end", "its end before it was told to"}, Case{"hello_again", "hello twice"},
        Case{"nested_attribute", "neither a text nor a number"}, Case{"old_version", "version 0"},
        Case{"says_hello_wrong", "no JSON object"}}) {
    const auto error = failure_of({one.script});
    ASSERT_TRUE(error) << one.script;
    EXPECT_THAT(error->message(), AllOf(HasSubstr(one.says), HasSubstr("scripted_command"), HasSubstr("(read r")))
        << one.script;
    EXPECT_TRUE(error->chunk()) << one.script;
    EXPECT_THAT(error->message(), Not(HasSubstr("\n")));
  }
}

TEST(Command, ADeathIsToldWithItsLastWords) {
  EXPECT_THAT(message_of({"exit"}),
              HasSubstr("(read r0): ended with exit code 3; it last said: loading the model | the model is broken"));
  EXPECT_THAT(message_of({"killed"}), HasSubstr("was ended by signal 9 (Killed)"));
  EXPECT_THAT(message_of({"half"}), HasSubstr("ended with exit code 0 in the middle of a frame"));
  EXPECT_THAT(message_of({"no_hello"}), HasSubstr("ended with exit code 8"));
  EXPECT_THAT(message_of({"closes_output"}), HasSubstr("ended with exit code 7"));
  EXPECT_THAT(message_of({"end_unanswered"}), HasSubstr("ended with exit code 0"));
  EXPECT_THAT(message_of({"fails_at_the_end"}), HasSubstr("ended with exit code 9"));
}

TEST(Command, AProgramThatClosesItsInputAndLivesOnIsKilled) {
  EXPECT_THAT(message_of({"closes_input"}), HasSubstr("closed its standard input while there was more to come"));
}

TEST(Command, SilenceEndsAfterTheTimeout) {
  EXPECT_THAT(message_of({"silent"}, {{"timeout", "20 ms"}}), HasSubstr("was silent for 20 ms and was killed"));
  EXPECT_THAT(message_of({"stays"}, {{"timeout", "3 s"}}), HasSubstr("it answered the end, but did not exit"));
}

TEST(Command, ADeadProgramIsStartedAgainAndGetsTheChunkOnceMore) {
  const test::TempDirectory directory;
  Command stage(scripted({"die_once", (directory / "died").string()}, {{"restart", "chunk"}}));
  stage.prepare(kSignal);
  const auto outputs = drive(stage, reads(4));
  ASSERT_EQ(outputs.size(), 4U);
  EXPECT_EQ(values_of<std::int16_t>(outputs[0]), values_of<std::int16_t>(read_of(100)));
  EXPECT_THAT(stage.findings().lines,
              ElementsAre("was restarted 1 time, the latest because it ended with exit code 4"));
}

TEST(Command, ARestartResendsAllThatWasInFlight) {
  const test::TempDirectory directory;
  Command stage(
      scripted({"die_once", (directory / "died").string()}, {{"restart", "chunk"}, {"in_flight", std::int64_t{3}}}));
  stage.prepare(kSignal);
  const auto outputs = drive(stage, reads(7));
  ASSERT_EQ(outputs.size(), 7U);
  for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(outputs[i].sequence(), i);
}

TEST(Command, AChunkThatKillsTwiceFailsTheRun) {
  const auto error = failure_of({"die_at", "2"}, {{"restart", "chunk"}}, 5);
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(),
              AllOf(HasSubstr("(read r2)"), HasSubstr("exit code 5"), HasSubstr("restarted 1 times")));
  EXPECT_EQ(error->chunk(), 2U);
}

TEST(Command, WithoutRestartADeathIsTheEnd) {
  const test::TempDirectory directory;
  EXPECT_THAT(message_of({"die_once", (directory / "died").string()}), HasSubstr("exit code 4"));
  EXPECT_THAT(message_of({"die_once", (directory / "again").string()},
                         {{"restart", "chunk"}, {"max_restarts", std::int64_t{0}}}),
              HasSubstr("exit code 4"));
}

TEST(Command, TheProgramRunsInTheDirectoryOfTheConfigWithItsEnvironment) {
  const test::TempDirectory directory;
  std::map<std::string, OptionValue> values;
  values["command"] = {Words{program(), "surroundings"}, {}};
  values["environment"] = {Words{"MILLRACE_TEST=here"}, {}};
  Command stage(Options(std::move(values), directory.path(), {}));
  stage.prepare(kSignal);
  const auto outputs = drive(stage, reads(1));
  ASSERT_EQ(outputs.size(), 1U);
  const Attributes& attributes = outputs[0].attributes();
  EXPECT_EQ(attributes.text("directory"), std::filesystem::canonical(directory.path()).string());
  EXPECT_EQ(attributes.text("variable"), "here");
  EXPECT_EQ(attributes.text("home"), std::getenv("HOME") == nullptr ? "" : std::getenv("HOME"));
  EXPECT_EQ(attributes.integer("descriptors"), 3);
}

TEST(Command, LeavesNoDescriptorsAndNoProcesses) {
  const auto before = test::open_descriptors();
  for (const char* const script : {"echo", "exit", "bad_magic"}) {
    Command stage(scripted({script}));
    stage.prepare(kSignal);
    try {
      drive(stage, reads(2));
    } catch (const Error&) {
      continue;
    }
  }
  {
    Command abandoned(scripted({"echo"}));
    abandoned.prepare(kSignal);
    Chunk chunk = read_of(5);
    EXPECT_TRUE(abandoned.process(std::move(chunk)));
  }
  EXPECT_EQ(test::open_descriptors(), before);
  errno = 0;
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Command, WhatTheProgramStartedEndsWithIt) {
  // The orphan holds the pipes open, and the writing end of a named pipe, whose end is seen when it is gone.
  const test::TempDirectory directory;
  const std::string pipe = (directory / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  EXPECT_THAT(message_of({"orphan", pipe}), HasSubstr("exit code 6"));
  ::fcntl(reader, F_SETFL, 0);
  char byte = 0;
  EXPECT_EQ(::read(reader, &byte, 1), 0);
  ::close(reader);
}

TEST(Command, AStopEndsTheWaitAndTheProgram) {
  Command stage(scripted({"silent"}));
  stage.prepare(kSignal);
  std::stop_source source;
  call_context().stop = source.get_token();
  std::thread stopper([&] { source.request_stop(); });
  const auto error = error_of([&] { drive(stage, reads(1)); });
  stopper.join();
  call_context().stop = {};
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("stopped"));
}

TEST(Command, CountsTheCpuTimeOfItsProcesses) {
  Command stage(scripted({"burn"}));
  stage.prepare(kSignal);
  EXPECT_EQ(stage.child_cpu_ns(), 0);
  Chunk chunk = read_of(5);
  stage.process(std::move(chunk));
  EXPECT_GE(stage.child_cpu_ns(), 80'000'000);  // of 100 ms, to the tick
  stage.finish();
  EXPECT_GE(stage.child_cpu_ns(), 100'000'000);
}

TEST(Command, WhatTheProgramSaysGoesToStandardErrorWithTheNameOfTheStage) {
  Command stage(scripted({"talk", "30"}));
  stage.prepare(kSignal);
  testing::internal::CaptureStderr();
  drive(stage, reads(1));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, AllOf(HasSubstr("call: line 0\n"), HasSubstr("not shown)\n")));
  EXPECT_THAT(stage.findings().lines, ElementsAre(HasSubstr("said 30 lines on standard error")));
}

TEST(Command, RefusesWhatCannotBeRun) {
  const test::TempDirectory directory;
  const auto plain = directory.write("plain.py", "print()").string();
  struct Case {
    Words words;
    const char* says;
  };
  for (const Case& one :
       {Case{{"no_such_program_here"}, "there is no program 'no_such_program_here' in PATH"},
        Case{{"./none"}, "there is no program './none'"}, Case{{plain}, "no file that may be executed"},
        Case{{"/"}, "no file that may be executed"}, Case{{}, "names no program"}, Case{{""}, "names no program"},
        Case{{"cat -u"}, "is a list of texts"}}) {
    Command stage(options_of({{"command", one.words}}));
    const auto error = error_of([&] { stage.prepare(kSignal); });
    ASSERT_TRUE(error) << one.says;
    EXPECT_EQ(error->kind(), ErrorKind::config);
    EXPECT_THAT(error->what(), AllOf(HasSubstr("test.toml:7:3"), HasSubstr(one.says)));
  }
}

TEST(Command, AProgramThatTheKernelRefusesFailsAtItsStart) {
  const test::TempDirectory directory;
  const auto path = directory.write("script", "#!/no/such/interpreter\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  Command stage(options_of({{"command", path.string()}}));
  stage.prepare(kSignal);
  EXPECT_THAT(error_of([&] { drive(stage, reads(1)); })->what(),
              AllOf(HasSubstr("cannot start"), HasSubstr("cannot execute it: No such file")));
}

TEST(Command, RefusesBadOptions) {
  struct Case {
    Setting setting;
    const char* says;
  };
  for (const Case& one :
       {Case{{"output_dtype", "int"}, "no element type"}, Case{{"max_output", "2"}, "a factor"},
        Case{{"max_output", "-1x"}, "a factor"}, Case{{"max_output", "x"}, "a factor"},
        Case{{"in_flight", std::int64_t{0}}, "between 1 and"}, Case{{"restart", "always"}, "never or chunk"},
        Case{{"environment", Words{"NAME"}}, "NAME=value"}, Case{{"environment", Words{"=x"}}, "NAME=value"}}) {
    const auto error = error_of([&] { Command stage(options_of({{"command", "cat"}, one.setting})); });
    ASSERT_TRUE(error) << one.says;
    EXPECT_EQ(error->kind(), ErrorKind::config);
    EXPECT_THAT(error->message(), HasSubstr(one.says));
  }
  EXPECT_THAT(error_of([] { Command stage(options_of({})); })->message(), HasSubstr("'command' is required"));
}

}  // namespace
}  // namespace millrace
