#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/files.h"

namespace bough::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

const char* const small = R"({
  "name": "small",
  "task": {"corpus": {"kind": "turn_taking", "train_characters": 3000, "valid_characters": 300, "test_characters": 500},
           "length": 32},
  "model": {"layers": 1, "dim": 8, "heads": 2, "ffn": 8},
  "graph": {"kind": "bpt", "k": 1},
  "train": {"steps": 2, "tokens_per_batch": 64},
  "sweep": {"train.seed": [1, 2]}})";

std::vector<std::string> small_run(const std::string& out, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"run", small, "--out", out});
  return more;
}

TEST(Resume, OfNothingIsRefused) {
  const TemporaryFolder folder;
  for (const bool with_file : {true, false}) {
    std::vector<std::string> arguments{"run", "--resume", "--out", folder.file("typo")};
    if (with_file) arguments.insert(arguments.begin() + 1, small);
    const ProgramResult result = run_bough(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.errors, HasSubstr("nothing to go on with in '" + folder.file("typo") + "'"));
  }
  EXPECT_EQ(folder.num_files(), 0);
}

TEST(Resume, SaysThatTheResultsAreGone) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_bough(small_run(folder.file("out"))).exit_code, 0);
  std::filesystem::remove(folder.file("out/results.json"));
  const ProgramResult result = run_bough({"run", "--resume", "--out", folder.file("out")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("its results.json is gone"));
}

/// What goes on with the results in `out` and what repeats them.
void expect_found_again(const std::string& out, const std::string& working_folder) {
  const ProgramResult resumed = run_bough({"run", "--resume", "--out", out}, {.working_folder = working_folder});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_THAT(resumed.errors + resumed.output, HasSubstr("done before"));
  const ProgramResult repeated =
      run_bough({"run", out + "/experiment.json", "--out", out + "-again"}, {.working_folder = working_folder});
  EXPECT_EQ(repeated.exit_code, 0) << repeated.errors;
  // The repetition remembers the folders too.
  const ProgramResult third =
      run_bough({"run", out + "-again/experiment.json", "--dry-run"}, {.working_folder = working_folder});
  EXPECT_EQ(third.exit_code, 0) << third.errors;
}

TEST(Resume, FindsDataBesideTheFirstExperimentFile) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.file("mine"));
  write_file(folder.file("mine/texts.tsv"), "neg\ta bad film\npos\tgood film\nneg\tbad\npos\tit was good\n");
  write_file(folder.file("mine/texts.json"), R"({
    "name": "texts", "graph": "bpt",
    "task": {"kind": "text_classification", "format": "tsv", "degree_length": 4, "min_count": 1,
             "train": "texts.tsv", "valid": "texts.tsv", "test": "texts.tsv"},
    "model": {"layers": 1, "dim": 8, "heads": 2, "ffn": 8}, "train": {"steps": 1, "warmup": 1}})");
  const ProgramResult first =
      run_bough({"run", "mine/texts.json", "--out", "out"}, {.working_folder = folder.file("")});
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  expect_found_again("out", folder.file(""));
  expect_found_again(folder.file("out"), "/");
  const json results = json::parse(file_content(folder.file("out/results.json")));
  EXPECT_EQ(results["data_folders"], json({folder.file("mine")}));
  EXPECT_EQ(results["runs"][0]["config"]["task"]["train"], "texts.tsv");
}

TEST(Resume, FindsATextAndAGraphInTheFolderOfAnInlineExperiment) {
  const TemporaryFolder folder;
  std::string text;
  for (int line = 0; line < 400; ++line) text += "a line of text\n";
  write_file(folder.file("text.txt"), text);
  ASSERT_EQ(run_bough({"graph", R"({"kind": "window", "width": 4, "length": 32, "causal": true})", "--npz",
                       folder.file("band.npz")})
                .exit_code,
            0);
  json experiment = json::parse(small);
  experiment["task"]["corpus"] = {
      {"kind", "text"}, {"path", "text.txt"}, {"valid_characters", 500}, {"test_characters", 500}};
  experiment["graph"] = {{"kind", "file"}, {"path", "band.npz"}};
  experiment["sweep"] = {{"train.seed", {1}}};
  const ProgramResult first =
      run_bough({"run", experiment.dump(), "--out", "out"}, {.working_folder = folder.file("")});
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  expect_found_again("out", folder.file(""));
}

TEST(Resume, ReadsResultsThatDoNotSayWhereTheirDataWas) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_bough(small_run(folder.file("out"))).exit_code, 0);
  json results = json::parse(file_content(folder.file("out/results.json")));
  results.erase("data_folders");
  write_file(folder.file("out/results.json"), results.dump());
  const ProgramResult resumed = run_bough({"run", "--resume", "--out", folder.file("out")});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
}

TEST(Results, ThatAreDamagedAreOneSentenceWithWhatToDo) {
  const TemporaryFolder folder;
  const std::string out = folder.file("out"), file = folder.file("out/results.json");
  ASSERT_EQ(run_bough(small_run(out)).exit_code, 0);
  const std::string whole = file_content(file);
  for (const std::string& damaged : {std::string("[]"), std::string("{}"), std::string(), whole.substr(0, 300)}) {
    write_file(file, damaged);
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"report", out}, {"compare", out, "--out", folder.file("both")}, {"run", "--resume", "--out", out}}) {
      const ProgramResult result = run_bough(command);
      EXPECT_EQ(result.exit_code, 1) << command.front() << " " << damaged;
      EXPECT_THAT(result.errors,
                  AllOf(HasSubstr("'" + file + "' should hold the results that bough run writes, and does not: "),
                        HasSubstr("put a copy back, or run the experiment anew with another --out")));
    }
  }
}

TEST(Run, SaysThatAValueThatIsSetIsSweptNoMore) {
  const TemporaryFolder folder;
  const ProgramResult result = run_bough(small_run(folder.file("out"), {"--set", "train.seed=7", "--dry-run"}));
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("--set train.seed=7: train.seed is not swept any more\n"));
}

TEST(Run, RefusesADataFolderThatIsNone) {
  const TemporaryFolder folder;
  write_file(folder.file("text.txt"), "text");
  const ProgramResult missing = run_bough(small_run(folder.file("out"), {"--data", folder.file("nope")}));
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.errors, HasSubstr("nope' is not there"));
  const ProgramResult file = run_bough(small_run(folder.file("out"), {"--data", folder.file("text.txt")}));
  EXPECT_EQ(file.exit_code, 2);
  EXPECT_THAT(file.errors, HasSubstr("is a file; name the folder"));
}

TEST(Generate, NamesTheRunsThatThereAre) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_bough(small_run(folder.file("results/one"))).exit_code, 0);
  const ProgramResult run = run_bough({"generate", folder.file("results/one/runs/sed1")});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.errors, AllOf(HasSubstr("sed1' is no run"), HasSubstr("there are seed1, seed2")));
  const ProgramResult all = run_bough({"generate", folder.file("results")});
  EXPECT_EQ(all.exit_code, 1);
  EXPECT_THAT(all.errors, HasSubstr("name one experiment or run: it holds one"));
  EXPECT_THAT(run_bough({"generate", folder.file("nowhere")}).errors, HasSubstr("nowhere' is not there"));
}

TEST(Generate, SaysThatTheBestParametersAreMissing) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_bough(small_run(folder.file("out"))).exit_code, 0);
  const std::string run = folder.file("out/runs/seed1");
  EXPECT_EQ(run_bough({"generate", run, "--count", "3"}).errors, "");
  std::filesystem::remove(run + "/best.safetensors");
  const ProgramResult warned = run_bough({"generate", run, "--count", "3"});
  EXPECT_EQ(warned.exit_code, 0);
  EXPECT_THAT(warned.errors, HasSubstr("seed1' has no best.safetensors, so its last parameters are used"));
  EXPECT_EQ(run_bough({"generate", run, "--count", "3", "--last"}).errors, "");
}

TEST(Generate, WarnsOfAGraphThatIsNotTheOneOfTheTraining) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_bough(small_run(folder.file("out"))).exit_code, 0);
  const auto generated = [&] { return run_bough({"generate", folder.file("out/runs/seed1"), "--count", "3"}); };
  EXPECT_EQ(generated().errors, "");
  // As if the pattern had built something else: the note is changed in place, and the checksums are none any more.
  std::string bytes = file_content(folder.file("out/runs/seed1/best.safetensors"));
  const std::size_t checksums = bytes.find("bough:checksums");
  ASSERT_NE(checksums, std::string::npos);
  bytes[checksums] = 'B';
  const std::string key = "graph_fnv1a";
  std::size_t digits = bytes.find_first_of("0123456789abcdef", bytes.find(key) + key.size());
  ASSERT_NE(digits, std::string::npos);
  for (int i = 0; i < 16; ++i, ++digits) bytes[digits] = bytes[digits] == '0' ? '1' : '0';
  write_file(folder.file("out/runs/seed1/best.safetensors"), bytes);
  const ProgramResult warned = generated();
  EXPECT_EQ(warned.exit_code, 0) << warned.errors;
  EXPECT_THAT(warned.errors, HasSubstr("builds another graph now"));
}

}  // namespace
}  // namespace bough::test
