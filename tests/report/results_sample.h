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
