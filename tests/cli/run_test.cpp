#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zlib.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/files.h"

namespace bough::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const char* const tiny = R"({
  "name": "tiny",
  "task": {"corpus": {"kind": "turn_taking", "train_characters": 3000, "valid_characters": 300, "test_characters": 500},
           "length": 32},
  "model": {"layers": 2, "dim": 16, "heads": 2, "ffn": 16},
  "graph": {"kind": "bpt", "k": 1},
  "train": {"steps": 5, "tokens_per_batch": 64},
  "sweep": {"graph": [{"kind": "bpt", "k": 1}, {"kind": "window", "width": 4}, {"kind": "full"}]}})";

/// What must not depend on how the runs were scheduled.
std::map<std::string, json> metrics_in(const std::string& folder) {
  std::map<std::string, json> result;
  const json results = json::parse(file_content(folder + "/results.json"));
  for (const json& run : results["runs"]) {
    result[run["name"]] = {run["status"], run["metrics"]};
  }
  return result;
}

TEST(Run, GivesTheSameBitsAloneAndSideBySide) {
  const TemporaryFolder folder;
  write_file(folder.file("tiny.json"), tiny);
  for (const char* jobs : {"1", "3"}) {
    const ProgramResult result =
        run_bough({"run", folder.file("tiny.json"), "--out", folder.file(jobs), "--jobs", jobs, "--threads", "2"});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_THAT(result.errors, HasSubstr("window-width4  test bpc "));
    for (const char* code : {"\r", "\x1b"}) EXPECT_THAT(result.errors, ::testing::Not(HasSubstr(code)));
  }
  EXPECT_EQ(metrics_in(folder.file("1")).size(), 3u);
  EXPECT_EQ(metrics_in(folder.file("1")), metrics_in(folder.file("3")));
}

TEST(Generate, ContinuesATextBeyondTheWindowTheSameForTheSameSeed) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_bough({"run", tiny, "--out", folder.file("out"), "--set", R"(graph={"kind":"bpt","k":1})"}).exit_code,
            0);
  const auto text = [&](const char* seed) {
    return run_bough(
        {"generate", folder.file("out/runs/bpt-k1"), "--prompt", "Ash Bell", "--count", "70", "--seed", seed});
  };
  const ProgramResult first = text("1");
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  EXPECT_THAT(first.output, ::testing::StartsWith("Ash Bell"));
  EXPECT_EQ(first.output.size(), 8u + 70u + 1u);
  EXPECT_EQ(first.output, text("1").output);
  EXPECT_NE(first.output, text("2").output);
  const ProgramResult several = run_bough({"generate", folder.file("out/runs/bpt-k1"), "--prompt", "Ash Bell",
                                           "--count", "70", "--samples", "2", "--top-k", "0", "--top-p", "1"});
  EXPECT_THAT(several.output, ::testing::StartsWith("==> 1 of 2 <==\n" + first.output + "==> 2 of 2 <==\nAsh Bell"));
  EXPECT_EQ(run_bough({"generate", folder.file("out/runs/bpt-k1"), "--top-p", "0"}).exit_code, 2);
  EXPECT_EQ(run_bough({"generate", folder.file("out/runs/bpt-k1"), "--samples", "0"}).exit_code, 2);
  const ProgramResult last = run_bough({"generate", folder.file("out/runs/bpt-k1"), "--last", "--count", "3"});
  EXPECT_EQ(last.exit_code, 0) << last.errors;
  EXPECT_EQ(run_bough({"generate", folder.file("out/runs/bpt-k1"), "--prompt", "\xff"}).exit_code, 2);
  const ProgramResult list = run_bough({"generate", folder.file("out")});
  EXPECT_EQ(list.exit_code, 0) << list.errors;
  EXPECT_THAT(list.output, HasSubstr("bpt-k1  bpc "));
  EXPECT_THAT(list.output, ::testing::EndsWith("\nbough generate " + folder.file("out/runs/bpt-k1") + "\n"));
  EXPECT_EQ(run_bough({"generate", folder.file(".")}).exit_code, 1);
  const ProgramResult elsewhere = run_bough({"generate", folder.file("out/runs/bpt-k1"), "--device", "cuda:99"});
  EXPECT_EQ(elsewhere.exit_code, 1);
  EXPECT_THAT(elsewhere.errors, HasSubstr("cuda:99"));
}

TEST(Run, SaysWhichParameterGivesAWantedDegree) {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_bough({"run", tiny, "--out", folder.file("out"), "--set", R"(graph={"kind":"window","degree":4})"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("window: width 3 gives degree 3.812 (wanted: 4)\n"));
  const json run = json::parse(file_content(folder.file("out/results.json")))["runs"][0];
  EXPECT_EQ(run["graph"], json({{"kind", "window"}, {"width", 3}}));
  EXPECT_EQ(run["chosen"], json({{"wanted_degree", 4}, {"parameters", "width 3"}}));
  EXPECT_EQ(run["attention_degree"], 3.8125);
  EXPECT_EQ(
      run_bough({"generate", folder.file("out/runs/") + run["name"].get<std::string>(), "--count", "3"}).exit_code, 0);
  const ProgramResult refused = run_bough({"run", tiny, "--set", R"(graph={"kind":"window","degree":40})"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("width from 0 to 32 gives degrees from 1 to 16.5"));
}

TEST(Report, IsMadeAfterARunAndAgainOnDemand) {
  const TemporaryFolder folder;
  const ProgramResult run = run_bough({"run", tiny, "--out", folder.file("out"), "--set", "train.steps=2"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  const std::string page = file_content(folder.file("out/report.html"));
  EXPECT_NE(page.find("</html>"), std::string::npos);
  const ProgramResult again = run_bough({"report", folder.file("out")});
  EXPECT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_TRUE(file_content(folder.file("out/report.html")) == page);
  std::filesystem::copy(folder.file("out"), folder.file("copy"), std::filesystem::copy_options::recursive);
  const ProgramResult both =
      run_bough({"compare", folder.file("out"), folder.file("copy"), "--out", folder.file("both")});
  EXPECT_EQ(both.exit_code, 0) << both.errors;
  EXPECT_THAT(both.output, HasSubstr("bpt-k1, tiny 2"));
  const ProgramResult twice =
      run_bough({"compare", folder.file("out"), folder.file("./out/"), "--out", folder.file("twice")});
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_THAT(twice.errors, HasSubstr("are the same folder"));
  EXPECT_EQ(run_bough({"report", folder.file("nowhere")}).exit_code, 1);
}

TEST(Compare, MarksWhatIsNotTheSameInAllRuns) {
  const TemporaryFolder folder;
  for (const char* steps : {"2", "3"}) {
    ASSERT_EQ(run_bough({"run", tiny, "--out", folder.file(steps), "--set", R"(graph={"kind":"bpt","k":1})", "--set",
                         std::string("train.steps=") + steps})
                  .exit_code,
              0);
  }
  const ProgramResult both = run_bough({"compare", folder.file("2"), folder.file("3"), "--out", folder.file("both")});
  ASSERT_EQ(both.exit_code, 0) << both.errors;
  EXPECT_THAT(both.output, HasSubstr("Note: not the same in all runs: train.steps (2, 3)"));
  EXPECT_THAT(both.output, HasSubstr("bpt-k1, tiny 2, train.steps 3"));
  EXPECT_THAT(file_content(folder.file("both/report.html")), HasSubstr("train.steps (2, 3)"));
}

TEST(Compare, ReplacesItsOwnReportOnly) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_bough({"run", tiny, "--out", folder.file("out"), "--set", R"(graph={"kind":"full"})"}).exit_code, 0);
  std::filesystem::copy(folder.file("out"), folder.file("copy"), std::filesystem::copy_options::recursive);
  const auto compare_into = [&](const char* place) {
    return run_bough({"compare", folder.file("out"), folder.file("copy"), "--out", folder.file(place)});
  };
  EXPECT_EQ(compare_into("both").exit_code, 0);
  EXPECT_EQ(compare_into("both").exit_code, 0) << "again";
  const std::string page = file_content(folder.file("out/report.html"));
  const ProgramResult over_results = compare_into("out");
  EXPECT_EQ(over_results.exit_code, 2);
  EXPECT_THAT(over_results.errors, HasSubstr("the report of these results would be replaced"));
  EXPECT_TRUE(file_content(folder.file("out/report.html")) == page);
  std::filesystem::create_directory(folder.file("mine"));
  write_file(folder.file("mine/report.html"), "mine");
  EXPECT_EQ(compare_into("mine").exit_code, 2);
  EXPECT_EQ(file_content(folder.file("mine/report.html")), "mine");
}

TEST(Report, KeepsANoteWithTheResults) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_bough({"run", tiny, "--out", folder.file("out"), "--set", R"(graph={"kind":"full"})"}).exit_code, 0);
  EXPECT_EQ(run_bough({"report", folder.file("out"), "--note", "a busy machine & <slow>"}).exit_code, 0);
  const ProgramResult again = run_bough({"report", folder.file("out")});
  EXPECT_THAT(again.output, HasSubstr("Note: a busy machine & <slow>"));
  EXPECT_THAT(file_content(folder.file("out/report.html")), HasSubstr("Note: a busy machine &amp; &lt;slow&gt;"));
  ASSERT_EQ(run_bough({"report", folder.file("out"), "--note", ""}).exit_code, 0);
  EXPECT_THAT(run_bough({"report", folder.file("out")}).output, ::testing::Not(HasSubstr("Note:")));
}

TEST(Report, LeavesTimesOutOnRequestAndShowsThemAgain) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_bough({"run", tiny, "--out", folder.file("out"), "--set", R"(graph={"kind":"full"})"}).exit_code, 0);
  const json run = json::parse(file_content(folder.file("out/results.json")))["runs"][0];
  EXPECT_EQ(run["machines"].size(), 1u);
  EXPECT_TRUE(run["machines"][0].contains("processor"));
  EXPECT_EQ(run["machines"][0]["device"], "cpu");
  EXPECT_THAT(run["waited_share"].get<double>(), ::testing::AllOf(::testing::Ge(0), ::testing::Le(1)));
  const ProgramResult without = run_bough({"report", folder.file("out"), "--leave-out-times", "it was busy"});
  EXPECT_EQ(without.exit_code, 0) << without.errors;
  EXPECT_THAT(without.output, HasSubstr("Times of these runs cannot be compared: it was busy."));
  EXPECT_THAT(run_bough({"report", folder.file("out")}).output, HasSubstr("it was busy")) << "it is kept";
  EXPECT_THAT(run_bough({"report", folder.file("out"), "--leave-out-times", ""}).output,
              ::testing::Not(HasSubstr("it was busy")));
}

TEST(RunWorker, TakesTheOneConfigurationOfItsRunAndEndsWithOneIfTheRunFails) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_bough({"run", tiny, "--out", folder.file("out"), "--set", R"(graph={"kind":"bpt","k":1})"}).exit_code,
            0);
  const json run = json::parse(file_content(folder.file("out/results.json")))["runs"][0];
  const auto worker = [&](const json& config) {
    write_file(folder.file("request"), json({{"run", "one"},
                                             {"settings", json::object()},
                                             {"config", config},
                                             {"folder", folder.file("one")},
                                             {"resume", false},
                                             {"tensorboard", false},
                                             {"threads", 1},
                                             {"data_folders", json::array()},
                                             {"device", "cpu"},
                                             {"tf32", false},
                                             {"plugins", json::array()}})
                                           .dump());
    return run_bough({"run-worker"}, {.input_file = folder.file("request")});
  };
  const ProgramResult good = worker(run["config"]);
  EXPECT_EQ(good.exit_code, 0) << good.errors;
  const std::size_t last_line = good.output.rfind('\n', good.output.size() - 2) + 1;
  EXPECT_EQ(json::parse(good.output.substr(last_line))["result"]["metrics"], run["metrics"]);
  json bad = run["config"];
  bad["task"]["corpus"] = {{"kind", "text"}, {"path", "absent.txt"}, {"valid_path", ""}, {"test_path", ""}};
  const ProgramResult failed = worker(bad);
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(failed.output, HasSubstr("absent.txt"));
}

TEST(Run, RecordsAFailedRunAndEndsWithOne) {
  const TemporaryFolder folder;
  const ProgramResult result = run_bough(
      {"run", tiny, "--out", folder.file("out"), "--set", R"(sweep.graph=["star","full"])", "--set", "train.steps=2"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.errors, HasSubstr("1 of 2 runs failed"));
  EXPECT_EQ(metrics_in(folder.file("out"))["full"][0], "done");
  EXPECT_EQ(metrics_in(folder.file("out"))["star"][0], "failed");
}

/// Files of this process and of those it starts cannot grow beyond so many bytes: as on a full disk, writing fails.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(Run, SaysThatTheDiskIsFullAndGoesOnWhenItIsNot) {
  const TemporaryFolder folder;
  const std::vector<std::string> arguments{"run",    tiny, "--out", folder.file("out"),
                                           "--jobs", "1",  "--set", R"(graph={"kind":"bpt","k":1})"};
  {
    const FileSizeLimit limit(32 *
                              1024);  // the best parameters fit, the checkpoint, with two moments of each, does not
    const ProgramResult full = run_bough(arguments);
    EXPECT_EQ(full.exit_code, 1);
    EXPECT_THAT(full.errors, HasSubstr("checkpoint.safetensors' could not be written: File too large"));
    EXPECT_EQ(metrics_in(folder.file("out")).at("bpt-k1")[0], "failed");
  }
  std::vector<std::string> again = arguments;
  again.push_back("--resume");
  const ProgramResult result = run_bough(again);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(metrics_in(folder.file("out")).at("bpt-k1")[0], "done");
}

TEST(Run, ReplacesNoReportThatItDidNotWrite) {
  const TemporaryFolder folder;
  write_file(folder.file("report.html"), "mine");
  const ProgramResult refused = run_bough({"run", tiny, "--out", folder.file("")});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("report.html' is there"));
  EXPECT_EQ(folder.num_files(), 1);
  const ProgramResult named =
      run_bough({"run", tiny, "--set", "name=..", "--set", R"(graph={"kind":"full"})", "--set", "train.steps=1"},
                {.working_folder = folder.file("")});
  EXPECT_EQ(named.exit_code, 0) << named.errors;
  EXPECT_EQ(file_content(folder.file("report.html")), "mine");
  EXPECT_TRUE(std::filesystem::exists(folder.file("results/_./report.html")));
}

TEST(Run, RefusesTheFolderOfAnotherExperimentBeforeItSaysAnythingElse) {
  const TemporaryFolder folder;
  const auto run_named = [&](const char* name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"run",   tiny,
                                       "--out", folder.file("out"),
                                       "--set", R"(graph={"kind":"full"})",
                                       "--set", std::string("name=") + name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_bough(arguments);
  };
  ASSERT_EQ(run_named("one").exit_code, 0);
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--dry-run"}, {"--resume"}}) {
    const ProgramResult refused = run_named("two", more);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(refused.output, "");
    EXPECT_THAT(refused.errors,
                ::testing::StartsWith("bough: [run] '" + folder.file("out") + "' holds the experiment"));
  }
}

TEST(Run, ResumesTheLastResultsOfItsExperiment) {
  const TemporaryFolder folder;
  write_file(folder.file("tiny.json"), tiny);
  const auto run_with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"run",    "tiny.json",
                                       "--set",  R"(graph={"kind":"full"})",
                                       "--set",  "train.schedule=constant",
                                       "--set",  "train.warmup=1",
                                       "--jobs", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_bough(arguments, {.working_folder = folder.file("")});
  };
  const ProgramResult nothing = run_with({"--resume"});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.errors, HasSubstr("no results of the experiment 'tiny'"));
  ASSERT_EQ(run_with({}).exit_code, 0);
  ASSERT_EQ(run_with({"--set", "train.seed=2"}).exit_code, 0);
  ASSERT_EQ(run_with({"--set", "name=tiny-other"}).exit_code, 0) << "another experiment, and the last one";
  const ProgramResult more = run_with({"--set", "train.seed=2", "--set", "train.steps=7", "--resume"});
  ASSERT_EQ(more.exit_code, 0) << more.errors;
  EXPECT_THAT(more.errors, HasSubstr("results go to results/tiny-2"));
  const auto steps_in = [&](const std::string& name) {
    return json::parse(file_content(folder.file(name + "/results.json")))["runs"][0]["steps"];
  };
  EXPECT_EQ(steps_in("results/tiny"), 5);
  EXPECT_EQ(steps_in("results/tiny-2"), 7);
}

TEST(Run, ANoteOnOlderResultsDoesNotMakeThemTheLast) {
  const TemporaryFolder folder;
  const auto run_with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"run", tiny, "--set", R"(graph={"kind":"full"})", "--set", "train.steps=1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_bough(arguments, {.working_folder = folder.file("")});
  };
  ASSERT_EQ(run_with({}).exit_code, 0);
  ASSERT_EQ(run_with({}).exit_code, 0);
  ASSERT_EQ(run_bough({"report", folder.file("results/tiny"), "--note", "the first"}).exit_code, 0);
  EXPECT_THAT(run_with({"--resume"}).errors, HasSubstr("results go to results/tiny-2"));
  // Results of earlier versions do not say when they changed, but their file does.
  json old = json::parse(file_content(folder.file("results/tiny/results.json")));
  ASSERT_TRUE(old.at("changed_at").is_string());
  old.erase("changed_at");
  write_file(folder.file("results/tiny/results.json"), old.dump());
  EXPECT_THAT(run_with({"--resume"}).errors, HasSubstr("results go to results/tiny\n"));
}

TEST(Run, SaysWhichRunsOfALargerSweepAreThereAlready) {
  const TemporaryFolder folder;
  const auto run_seeds = [&](const std::string& seeds) {
    return run_bough({"run", tiny, "--out", folder.file("out"), "--set",
                      R"(sweep={"graph":["full"],"train.seed":)" + seeds + "}", "--set", "train.steps=1"});
  };
  const ProgramResult first = run_seeds("[1,2]");
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  EXPECT_THAT(first.errors, ::testing::Not(HasSubstr("already")));
  const ProgramResult larger = run_seeds("[1,2,3]");
  EXPECT_EQ(larger.exit_code, 0) << larger.errors;
  EXPECT_THAT(larger.errors,
              ::testing::StartsWith(folder.file("out") + " has 2 of these 3 runs already; they are kept\n"));
}

TEST(Run, MissingDataIsOneErrorBeforeAnyRunStarts) {
  const TemporaryFolder folder;
  for (const bool dry : {false, true}) {
    std::vector<std::string> arguments{
        "run", tiny, "--out", folder.file("out"), "--set", R"(task.corpus={"kind":"text","path":"absent.txt"})"};
    if (dry) arguments.emplace_back("--dry-run");
    const ProgramResult result = run_bough(arguments);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.output, "");
    EXPECT_THAT(result.errors, HasSubstr("there is no file 'absent.txt'"));
    EXPECT_EQ(std::ranges::count(result.errors, '\n'), 1) << result.errors;
  }
  EXPECT_EQ(folder.num_files(), 0);
}

TEST(Run, ADryRunPrintsThePlanAndWritesNothing) {
  const TemporaryFolder folder;
  const ProgramResult result = run_bough({"run", tiny, "--dry-run", "--out", folder.file("out")});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, ::testing::ContainsRegex("tiny: 3 runs.*\n"));
  EXPECT_THAT(result.output, ::testing::ContainsRegex("bpt-k1 +[0-9.]+ +63 "));
  EXPECT_EQ(folder.num_files(), 0);
}

/// The paper's experiments of the language model, which are for a GPU, on a small text in their place. Models of one
/// layer are planned sooner.
TEST(Run, ADryRunPlansThePapersExperiments) {
  const TemporaryFolder folder;
  std::string text;
  for (std::uint32_t i = 0; text.size() < 400'000; ++i) text += fmt::format("{} ", i * 2654435761U % 9973);
  const std::string path = folder.file("text.gz");
  gzFile file = ::gzopen(path.c_str(), "wb");
  ASSERT_EQ(::gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  ASSERT_EQ(::gzclose(file), Z_OK);
  const auto plan = [&](const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> arguments{"run",
                                       std::string(BOUGH_EXPERIMENTS) + "/" + name + ".json",
                                       "--set",
                                       "task.corpus.path=" + path,
                                       "--dry-run",
                                       "--out",
                                       folder.file("out")};
    std::ranges::move(more, std::back_inserter(arguments));
    ProgramResult result = run_bough(arguments);
    EXPECT_EQ(result.exit_code, 0) << name << ": " << result.errors;
    return result.output;
  };
  const std::vector<std::string> small{"--set", "model.layers=1"};
  EXPECT_THAT(plan("enwik8", {}), HasSubstr("enwik8: 1 run"));
  EXPECT_THAT(plan("text8", small), HasSubstr("text8: 1 run"));
  for (const std::string corpus : {"enwik8", "text8"}) {
    EXPECT_THAT(plan("context_length_" + corpus, small), HasSubstr("context-length-" + corpus + ": 5 runs"));
    EXPECT_THAT(plan("attention_degree_" + corpus, small), HasSubstr("attention-degree-" + corpus + ": 14 runs"));
  }
  std::vector<std::string> seeds = small;
  seeds.insert(seeds.end(), {"--set", "sweep.train.seed=[1,2,3]"});
  EXPECT_THAT(plan("attention_degree_text8", seeds), HasSubstr("attention-degree-text8: 42 runs"));
  EXPECT_EQ(folder.num_files(), 1) << "nothing is written";
}

TEST(Run, TheSchemaIsJson) {
  const ProgramResult result = run_bough({"run", "--schema"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(json::parse(result.output)["type"], "object");
}

TEST(Run, RefusesWhatItCannotUnderstandWithTwo) {
  const TemporaryFolder folder;
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--set", "train.stepps=5"},
                                                    {"--set", "nonsense"},
                                                    {"--jobs", "0"},
                                                    {"--resume"},
                                                    {"--tf32"}}) {
    std::vector<std::string> command = {"run", tiny};
    command.insert(command.end(), arguments.begin(), arguments.end());
    EXPECT_EQ(run_bough(command).exit_code, 2) << arguments[0];
  }
  EXPECT_EQ(run_bough({"run", folder.file("absent.json")}).exit_code, 1);
  EXPECT_EQ(run_bough({"run", tiny, "--device", "cuda", "--dry-run"}).exit_code == 0, false);
}

}  // namespace
}  // namespace bough::test
