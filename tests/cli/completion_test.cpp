#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/cli/program.h"
#include "tests/support/files.h"

namespace bough::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Whether a command of the shell ends well; what it prints goes to a file of the folder.
bool shell(const TemporaryFolder& folder, const std::string& command) {
  return std::system((command + " >'" + folder.file("output") + "' 2>&1").c_str()) == 0;
}

bool has_program(const TemporaryFolder& folder, const std::string& name) { return shell(folder, "command -v " + name); }

class Completion : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"bash", "zsh", "fish"}) {
      const ProgramResult result = run_bough({"completion", name});
      ASSERT_EQ(result.exit_code, 0) << result.errors;
      write_file(folder.file(name), result.output);
    }
  }

  /// What bash offers for the last of these words.
  std::string bash_offers(const std::string& words) {
    write_file(folder.file("ask"),
               "source '" + folder.file("bash") + "'\ncompopt() { :; }\nCOMP_WORDS=(bough " + words +
                   ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_bough\nprintf '%s ' \"${COMPREPLY[@]}\"\n");
    EXPECT_TRUE(shell(folder, "bash '" + folder.file("ask") + "'"));
    return file_content(folder.file("output"));
  }

  TemporaryFolder folder;
};

TEST_F(Completion, OffersCommandsOptionsAndPatternsInBash) {
  if (!has_program(folder, "bash")) GTEST_SKIP() << "there is no bash here";
  EXPECT_EQ(bash_offers("comp"), "compare compare-patterns completion ");
  EXPECT_EQ(bash_offers("run --dr"), "--dry-run ");
  EXPECT_THAT(bash_offers("run --"), AllOf(HasSubstr("--resume "), HasSubstr("--threads "), Not(HasSubstr("--svg"))));
  EXPECT_EQ(bash_offers("graph longf"), "longformer ");
  EXPECT_EQ(bash_offers("compare-patterns --patterns bpt,sparse_f"), "bpt,sparse_fixed ");
  EXPECT_EQ(bash_offers("graph bpt k"), "k= ");
  EXPECT_EQ(bash_offers("graph window ''"), "width= degree= ");
  EXPECT_EQ(bash_offers("completion f"), "fish ");
  EXPECT_EQ(bash_offers("--threads 2 vers"), "version ");
  EXPECT_EQ(bash_offers("report " + folder.file("zs")), " ");  // folders only
  EXPECT_THAT(bash_offers("run " + folder.file("zs")), HasSubstr("/zsh "));
}

/// Keys are typed into a shell of its own: the last two complete the words and write down the line.
TEST_F(Completion, OffersCommandsOptionsPatternsAndParametersInZsh) {
  if (!has_program(folder, "zsh")) GTEST_SKIP() << "there is no zsh here";
  std::filesystem::rename(folder.file("zsh"), folder.file("_bough"));
  const std::string seen = folder.file("seen");
  write_file(folder.file(".zshrc"),
             "fpath=('" + folder.file("") + "' $fpath)\nautoload -Uz compinit\ncompinit -u -D\n" +
                 "show() { print -r -- $BUFFER >'" + seen + ".part'; mv '" + seen + ".part' '" + seen +
                 "'; zle kill-whole-line }\n" + "zle -N show\nbindkey '^X' show\nPS1=READY\n");
  write_file(folder.file("ask"), "zmodload zsh/zpty\nzpty shell \"ZDOTDIR='" + folder.file("") +
                                     "' zsh -i\"\nzpty -r shell text '*READY*'\nfor words in \"$@\"; do\n"
                                     "  zpty -n -w shell $words$'\\t\\x18'\n"
                                     "  repeat 400; do [[ -s '" +
                                     seen +
                                     "' ]] && break; sleep 0.05; done\n"
                                     "  cat '" +
                                     seen + "'; rm -f '" + seen + "'\ndone\nzpty -d shell\n");
  EXPECT_TRUE(
      shell(folder, "timeout 60 zsh -f '" + folder.file("ask") +
                        "' 'bough vers' 'bough graph longf' 'bough run --dr' 'bough graph window wi' "
                        "'bough graph --causal longformer gl' 'bough compare-patterns --patterns bpt,sparse_f'"));
  EXPECT_EQ(file_content(folder.file("output")),
            "bough version \nbough graph longformer \nbough run --dry-run \nbough graph window width=\n"
            "bough graph --causal longformer global=\nbough compare-patterns --patterns bpt,sparse_fixed,\n");
}

TEST_F(Completion, OffersCommandsPatternsAndParametersInFish) {
  if (!has_program(folder, "fish")) GTEST_SKIP() << "there is no fish here";
  const auto offers = [&](const std::string& line) {
    EXPECT_TRUE(shell(folder, "fish -c \"source '" + folder.file("fish") + "'; complete -C '" + line + "'\""));
    return file_content(folder.file("output"));
  };
  EXPECT_THAT(offers("bough comp"), HasSubstr("compare-patterns"));
  EXPECT_THAT(offers("bough graph longf"), HasSubstr("longformer"));
  EXPECT_EQ(offers("bough graph window wi"), "width=\n");
  EXPECT_THAT(offers("bough graph longformer "), AllOf(HasSubstr("global="), Not(HasSubstr("sparse_fixed"))));
}

TEST_F(Completion, IsWellFormedInZshAndFish) {
  EXPECT_THAT(file_content(folder.file("zsh")), AllOf(HasSubstr("#compdef bough"), HasSubstr("sparse_fixed")));
  EXPECT_THAT(file_content(folder.file("fish")), AllOf(HasSubstr("-l dry-run"), HasSubstr("sparse_fixed")));
  bool checked = false;
  if (has_program(folder, "zsh")) {
    EXPECT_TRUE(shell(folder, "zsh -n '" + folder.file("zsh") + "'")) << file_content(folder.file("output"));
    checked = true;
  }
  if (has_program(folder, "fish")) {
    EXPECT_TRUE(shell(folder, "fish --no-execute '" + folder.file("fish") + "'"))
        << file_content(folder.file("output"));
    checked = true;
  }
  if (!checked) GTEST_SKIP() << "neither zsh nor fish is here";
}

TEST_F(Completion, KnowsNoOtherShell) {
  const ProgramResult result = run_bough({"completion", "tcsh"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("bash, zsh and fish, not for 'tcsh'"));
}

TEST(ManualPage, HasEveryCommandAndOptionOfTheHelp) {
  const ProgramResult result = run_bough({"man"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, AllOf(HasSubstr("\\fBbough compare\\-patterns\\fR"), HasSubstr("\\fB\\-\\-dry\\-run\\fR"),
                                   HasSubstr("\\fB\\-\\-threads\\fR \\fIN\\fR"), Not(HasSubstr("run\\-worker"))));
}

TEST(ManualPage, IsWellFormed) {
  const TemporaryFolder folder;
  write_file(folder.file("bough.1"), run_bough({"man"}).output);
  const bool has_man = has_program(folder, "man") && has_program(folder, "groff");
  const bool has_mandoc = has_program(folder, "mandoc");
  if (!has_man && !has_mandoc) GTEST_SKIP() << "neither man with groff nor mandoc is here";
  if (has_man) {
    EXPECT_TRUE(shell(folder, "(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z '" +
                                  folder.file("bough.1") + "' 2>&1 >/dev/null)"));
    EXPECT_THAT(file_content(folder.file("output")), IsEmpty());
  }
  if (has_mandoc) {
    shell(folder, "mandoc -T lint -W error '" + folder.file("bough.1") + "'");
    EXPECT_THAT(file_content(folder.file("output")), IsEmpty());
  }
}

}  // namespace
}  // namespace bough::test
