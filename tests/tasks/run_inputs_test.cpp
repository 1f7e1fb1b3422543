#include "tasks/runner/run_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "bough/core/errors.h"
#include "tasks/runner/run_sweep.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"

namespace bough::runner {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

json reading(const std::string& path) {
  return {{"name", "reading"},
          {"task", {{"corpus", {{"kind", "text"}, {"path", path}, {"held_out", 0.2}}}, {"length", 16}}},
          {"model", {{"layers", 1}, {"dim", 8}, {"heads", 2}, {"ffn", 8}}},
          {"graph", {{"kind", "bpt"}, {"k", 1}}},
          {"train", {{"steps", 2}, {"tokens_per_batch", 16}}}};
}

std::string text_of(char last) {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "abcde"[i * i % 5];
  text.back() = last;
  return text;
}

SweepOutcome run(const json& source, const std::string& folder, bool resume) {
  const Experiment experiment = read_experiment(source);
  return run_sweep(experiment, plan_runs(experiment), {.folder = folder, .resume = resume});
}

RunInputs inputs_of(const json& source) {
  const Experiment experiment = read_experiment(source);
  return InputReader().read(*experiment.task, experiment.runs.front().checked);
}

TEST(RunInputs, KnowAFileByItsBytes) {
  const test::TemporaryFolder folder;
  // The value that the authors of the hash publish for "foobar".
  test::write_file(folder.file("text.txt"), "foobar");
  const RunInputs inputs = inputs_of(reading(folder.file("text.txt")));
  ASSERT_EQ(inputs.data_files.size(), 1u);
  EXPECT_EQ(inputs.data_files[0].name, folder.file("text.txt"));
  EXPECT_EQ(inputs.data_files[0].bytes, 6);
  EXPECT_EQ(inputs.data_files[0].hash, "85944171f73967e8");
  EXPECT_EQ(run_inputs_from(to_json(inputs)), inputs);
  EXPECT_EQ(run_inputs_from(json()), RunInputs()) << "of an earlier version";

  json made_up = reading("");
  made_up["task"].erase("corpus");
  EXPECT_TRUE(inputs_of(made_up).data_files.empty());
}

/// Reviews of imdb are a file each, in folders.
TEST(RunInputs, KnowAFolderByTheNamesAndTheBytesOfItsFiles) {
  const test::TemporaryFolder folder;
  for (const char* inner : {"reviews/neg", "reviews/pos", "out"})
    std::filesystem::create_directories(folder.file(inner));
  test::write_file(folder.file("reviews/neg/1.txt"), "a dull film");
  test::write_file(folder.file("reviews/pos/1.txt"), "a fine film");
  const json source = {{"name", "reviews"},
                       {"task",
                        {{"kind", "text_classification"},
                         {"format", "imdb"},
                         {"train", folder.file("reviews")},
                         {"test", folder.file("reviews")},
                         {"valid_fraction", 0.5}}},
                       {"model", {{"layers", 1}, {"dim", 8}, {"heads", 2}, {"ffn", 8}}},
                       {"graph", {{"kind", "bpt"}, {"k", 1}}},
                       {"train", {{"steps", 2}, {"texts_per_batch", 2}}}};
  const RunInputs before = inputs_of(source);
  ASSERT_EQ(before.data_files.size(), 1u);
  EXPECT_EQ(before.data_files[0].name, folder.file("reviews"));
  EXPECT_EQ(before.data_files[0].bytes, 22);
  EXPECT_EQ(inputs_of(source), before);

  test::write_file(folder.file("reviews/pos/1.txt"), "a good film");
  EXPECT_THAT(why_other_inputs(before, inputs_of(source)), HasSubstr("another text in '" + folder.file("reviews")));
  test::write_file(folder.file("reviews/pos/1.txt"), "a fine film");
  EXPECT_EQ(inputs_of(source), before);
  std::filesystem::rename(folder.file("reviews/pos/1.txt"), folder.file("reviews/pos/2.txt"));
  EXPECT_NE(inputs_of(source), before) << "another name";
}

TEST(RunInputs, KnowAGraphByItsEdgesAndRelations) {
  const auto fingerprint = [](const json& graph, std::int64_t length) {
    return graph_fingerprint(generators().make(graph)->build({.length = length, .causal = true}));
  };
  const json band = {{"kind", "window"}, {"width", 3}}, wider = {{"kind", "window"}, {"width", 4}};
  EXPECT_EQ(fingerprint(band, 16), fingerprint(band, 16));
  EXPECT_NE(fingerprint(band, 16), fingerprint(wider, 16));
  EXPECT_NE(fingerprint(band, 16), fingerprint(band, 17));
  EXPECT_NE(fingerprint({{"kind", "bpt"}, {"k", 1}}, 16), fingerprint({{"kind", "bpt"}, {"k", 2}}, 16));
}

TEST(RunInputs, AnotherTextIsRefusedWhetherARunIsDoneOrNot) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("text.txt"), out = folder.file("out");
  test::write_file(path, text_of('a'));
  ASSERT_EQ(run(reading(path), out, false).failed, 0);
  const std::string results = test::file_content(out + "/results.json");
  test::write_file(path, text_of('e'));
  for (const bool resume : {false, true}) {
    EXPECT_THAT(test::error_message<ConfigError>([&] { run(reading(path), out, resume); }),
                AllOf(HasSubstr("another text in '" + path + "'"), HasSubstr("another --out")));
  }
  json more = reading(path);
  more["sweep"] = {{"graph", {{{"kind", "bpt"}, {"k", 1}}, "full"}}};
  EXPECT_THAT(test::error_message<ConfigError>([&] { run(more, out, true); }), HasSubstr("another text"));
  EXPECT_EQ(test::file_content(out + "/results.json"), results);
  test::write_file(path, text_of('a'));
  EXPECT_EQ(run(reading(path), out, true).failed, 0) << "the old text again";
}

TEST(RunInputs, AnotherGraphUnderTheSameNameIsRefused) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("text.txt"), out = folder.file("out");
  test::write_file(path, text_of('a'));
  ASSERT_EQ(run(reading(path), out, false).failed, 0);
  json results = json::parse(test::file_content(out + "/results.json"));
  results["runs"][0]["inputs"]["graph_fnv1a"] = "0123456789abcdef";  // as a plug-in that was built anew would give
  test::write_file(out + "/results.json", results.dump());
  EXPECT_THAT(test::error_message<ConfigError>([&] { run(reading(path), out, true); }),
              HasSubstr("builds another graph than before"));
  results["runs"][0].erase("inputs");
  test::write_file(out + "/results.json", results.dump());
  EXPECT_EQ(run(reading(path), out, true).failed, 0) << "results of an earlier version do not say";
}

TEST(RunInputs, ACheckpointIsRefusedThatIsOfAnotherText) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("text.txt"), out = folder.file("out");
  test::write_file(path, text_of('a'));
  json source = reading(path);
  source["train"].update({{"schedule", "constant"}, {"warmup", 1}});
  ASSERT_EQ(run(source, out, false).failed, 0);
  json results = json::parse(test::file_content(out + "/results.json"));
  results["runs"][0].erase("inputs");
  test::write_file(out + "/results.json", results.dump());
  test::write_file(path, text_of('e'));
  source["train"]["steps"] = 4;
  const SweepOutcome outcome = run(source, out, true);
  ASSERT_EQ(outcome.failed, 1);
  EXPECT_THAT(outcome.results.runs[0].error, HasSubstr("another text in"));
}

}  // namespace
}  // namespace bough::runner
