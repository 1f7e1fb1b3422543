#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <regex>
#include <sstream>

#include "tests/support/files.h"

namespace bough::test {
namespace {

using ::testing::HasSubstr;

/// What `bough run` writes to a terminal of so many columns.
std::string seen_on_terminal(unsigned short columns, const std::string& folder) {
  winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const pid_t process = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (process == 0) {
    const std::string steps = R"({"task": {"corpus": {"kind": "turn_taking", "train_characters": 3000,
      "valid_characters": 300, "test_characters": 300}, "length": 32},
      "model": {"layers": 1, "dim": 16, "heads": 2, "ffn": 16}, "train": {"steps": 300, "tokens_per_batch": 64,
      "evaluate_every": 50}, "sweep": {"graph": [{"kind": "sparse_fixed", "stride": 8, "c": 2}, {"kind": "full"}]}})";
    ::execl(BOUGH_PROGRAM, BOUGH_PROGRAM, "run", steps.c_str(), "--out", folder.c_str(), "--jobs", "1", nullptr);
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

TEST(Terminal, EveryProgressLineHasTheTimeLeftAndIsNotWrapped) {
  for (const unsigned short columns : {80, 100, 200}) {
    const TemporaryFolder folder;
    const std::string text = seen_on_terminal(columns, folder.file("out"));
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

}  // namespace
}  // namespace bough::test
