#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/files.h"

namespace bough::test {
namespace {

using ::testing::HasSubstr;

/// What `bough` writes to a terminal of so many columns. These variables are added to its environment.
std::string seen_on_terminal(unsigned short columns, const std::vector<std::string>& arguments,
                             const std::vector<std::pair<std::string, std::string>>& environment = {}) {
  std::vector<const char*> words = {BOUGH_PROGRAM};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  words.push_back(nullptr);
  winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const pid_t process = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (process == 0) {
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::execv(BOUGH_PROGRAM, const_cast<char* const*>(words.data()));
    ::_exit(127);
  }
  std::string text;
  std::array<char, 4096> chunk;
  for (ssize_t got = 0; (got = ::read(terminal, chunk.data(), chunk.size())) > 0;) {
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  int status = 0;
  ::waitpid(process, &status, 0);
  ::close(terminal);
  EXPECT_EQ(WEXITSTATUS(status), 0) << text;
  return text;
}

const char* const two_runs = R"({"task": {"corpus": {"kind": "turn_taking", "train_characters": 3000,
  "valid_characters": 300, "test_characters": 300}, "length": 32},
  "model": {"layers": 1, "dim": 16, "heads": 2, "ffn": 16}, "train": {"steps": 300, "tokens_per_batch": 64,
  "evaluate_every": 50}, "sweep": {"graph": [{"kind": "sparse_fixed", "stride": 8, "c": 2}, {"kind": "full"}]}})";

TEST(Terminal, EveryProgressLineHasTheTimeLeftAndIsNotWrapped) {
  for (const unsigned short columns : {80, 100, 200}) {
    const TemporaryFolder folder;
    const std::string text = seen_on_terminal(columns, {"run", two_runs, "--out", folder.file("out"), "--jobs", "1"});
    EXPECT_THAT(text, ::testing::ContainsRegex("run [12] of 2, [^,]* left in all"));
    EXPECT_THAT(text, HasSubstr("full  test bpc "));
    int lines = 0;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      if (!std::regex_search(line, std::regex("[0-9](/300|%)  "))) continue;
      ++lines;
      // Codes that erase the lines before are not seen; the carriage return is the terminal's own.
      const std::size_t erased = line.rfind("\x1b[J"), begin = erased == line.npos ? 0 : erased + 3;
      EXPECT_LT(line.size() - begin - 1, columns) << line;
      EXPECT_THAT(line, ::testing::AllOf(HasSubstr(" left  "), HasSubstr(" tok"), ::testing::ContainsRegex("[kM]B")));
    }
    EXPECT_GT(lines, 0) << text;
  }
}

TEST(Terminal, TheReportOfAComparisonIsOpenedUnlessThatIsNotWanted) {
  for (const bool open : {true, false}) {
    const TemporaryFolder folder;
    const std::string opened = folder.file("opened"), program = folder.file("xdg-open");
    // The name appears with all that it holds.
    write_file(program,
               "#!/bin/sh\nprintf '%s' \"$*\" >'" + opened + ".part' && mv '" + opened + ".part' '" + opened + "'\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    std::vector<std::string> arguments{"compare-patterns",
                                       "--degree=8",
                                       "--patterns=window",
                                       "--seeds=1",
                                       "--steps=1",
                                       "--length=32",
                                       "--set=model.dim=12",
                                       "--set=train.tokens_per_batch=64",
                                       "--set=task.corpus.train_characters=3000",
                                       "--set=task.corpus.valid_characters=300",
                                       "--set=task.corpus.test_characters=500",
                                       "--out=" + folder.file("out")};
    if (!open) arguments.emplace_back("--no-open");
    seen_on_terminal(100, arguments,
                     {{"DISPLAY", ":99"}, {"PATH", folder.file("") + ":" + std::string(std::getenv("PATH"))}});
    // It is started, not waited for.
    std::string seen;
    for (int tries = 0; tries < (open ? 200 : 10) && seen.empty(); ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (std::filesystem::exists(opened)) seen = file_content(opened);
    }
    EXPECT_EQ(seen, open ? folder.file("out/report.html") : "");
  }
}

}  // namespace
}  // namespace bough::test
