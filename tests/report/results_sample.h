#pragma once

#include "tasks/machine.h"
#include "tasks/runner/results.h"

namespace bough::runner {

inline RunResult sample_run(const nlohmann::json& graph, std::int64_t seed, double degree, double bpc) {
  return {.name = describe_setting("graph", graph) + "-seed" + std::to_string(seed),
          .settings = {{"graph", graph}, {"train.seed", seed}},
          .config = {{"graph", graph}, {"train", {{"seed", seed}, {"steps", 10}}}, {"task", {{"length", 256}}}},
          .status = RunStatus::done,
          .error = "",
          .facts = {.attention_degree = degree, .num_nodes = 511, .num_edges = 9000, .length = 256, .parameters = 4711},
          .steps_done = 10,
          .metrics = {{"bpc", bpc}, {"valid_bpc", bpc + 0.01}},
          .curve = {{.step = 5, .loss = 1.5, .metrics = {{"valid_bpc", bpc + 0.2}}, .seconds = 1},
                    {.step = 10, .loss = 1.2, .metrics = {{"valid_bpc", bpc + 0.01}}, .seconds = 2}},
          .train_seconds = 2,
          .tokens_per_second = 30000.0 + 10 * static_cast<double>(seed),
          .peak_memory_bytes = 12'000'000,
          .machines = nlohmann::json::array({describe_host()})};
}

/// Two patterns at about equal degree over two seeds, one behind, one failed run; names that try to break out of HTML.
inline Results sample_results() {
  const nlohmann::json tree = {{"kind", "bpt"}, {"k", 4}}, band = {{"kind", "window"}, {"width", 20}};
  const nlohmann::json wide = {{"kind", "window"}, {"width", 64}};
  Results results{.name = "sample <script>alert(1)</script>",
                  .description = "quotes \" and </script> inside",
                  .experiment = {{"name", "sample"}, {"focus", "bpt"}},
                  .host = describe_host(),
                  .command = "bough run sample.json",
                  .metric = {.name = "bpc", .label = "bits per character"},
                  .bounds = {{"ideal", 0.425}},
                  .runs = {sample_run(tree, 1, 21.0078125, 0.68), sample_run(tree, 2, 21.0078125, 0.72),
                           sample_run(band, 1, 20.1796875, 0.9), sample_run(band, 2, 20.1796875, 0.91),
                           sample_run(wide, 1, 56.75, 0.61)}};
  RunResult broken = sample_run({{"kind", "star"}}, 1, 0, 0);
  broken.status = RunStatus::failed;
  broken.error = "[star] has no causal form";
  results.runs.push_back(broken);
  return results;
}

/// A run that puts 40 + 20 + 20 texts into three classes; `wrong` of the first are taken for the second.
inline RunResult sample_classified_run(const nlohmann::json& graph, std::int64_t seed, double degree, int wrong) {
  const double accuracy = (80.0 - wrong) / 80, recall = (40.0 - wrong) / 40, precision = 20.0 / (20 + wrong);
  RunResult run = sample_run(graph, seed, degree, 0);
  const auto scores = [](const char* label, double of_guesses, double of_texts, int texts) {
    return nlohmann::json{{"label", label},
                          {"precision", of_guesses},
                          {"recall", of_texts},
                          {"f1", 2 * of_guesses * of_texts / (of_guesses + of_texts)},
                          {"texts", texts}};
  };
  run.metrics = {
      {"accuracy", accuracy},
      {"macro_f1", accuracy - 0.01},
      {"loss", 2 - accuracy},
      {"labels", {"very negative", "<neutral>", "positive"}},
      {"confusion", {{40 - wrong, wrong, 0}, {0, 20, 0}, {0, 0, 20}}},
      {"classes",
       {scores("very negative", 1, recall, 40), scores("<neutral>", precision, 1, 20), scores("positive", 1, 1, 20)}},
      {"shifts", {accuracy, accuracy - 0.05, accuracy - 0.1}},
      {"valid_accuracy", accuracy},
      {"valid_macro_f1", accuracy},
      {"valid_loss", 2 - accuracy}};
  run.last_metrics = run.metrics;
  run.best_step = 10;
  run.curve = {{.step = 5, .loss = 1.1, .metrics = {{"valid_accuracy", accuracy - 0.1}}, .seconds = 1},
               {.step = 10, .loss = 0.9, .metrics = {{"valid_accuracy", accuracy}}, .seconds = 2}};
  return run;
}

/// Two patterns over three seeds whose accuracy is to be high: bpt is right more often.
inline Results sample_classification() {
  Results results = sample_results();
  results.name = "classes";
  results.description = "texts in three classes";
  results.metric = {.name = "accuracy", .label = "accuracy", .lower_is_better = false};
  results.further_metrics = {{.name = "macro_f1", .label = "macro F1", .lower_is_better = false}};
  results.bounds = {{"most frequent class", 0.5}};
  results.references = {{"Other system", 0.93, "A 2017"}};
  results.experiment = {{"name", "classes"}};
  results.runs.clear();
  for (const std::int64_t seed : {1, 2, 3}) {
    const int wrong = static_cast<int>(seed);
    results.runs.push_back(sample_classified_run({{"kind", "bpt"}, {"k", 4}}, seed, 21.0078125, wrong));
    results.runs.push_back(
        sample_classified_run({{"kind", "window"}, {"width", 20}}, seed, 20.1796875, 20 + wrong + wrong % 2));
  }
  return results;
}

/// The same again with twice the length.
inline Results sample_of_two_lengths() {
  Results results = sample_results();
  const std::vector<RunResult> first = results.runs;
  for (RunResult run : first) {
    run.name += "-length512";
    run.settings["task.length"] = run.config["task"]["length"] = run.facts.length = 512;
    results.runs.push_back(run);
  }
  return results;
}

}  // namespace bough::runner
