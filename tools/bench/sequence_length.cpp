#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/bench/benchmark.h"
#include "tools/bench/model.h"

namespace bough::bench {
namespace {

struct Pattern {
  std::string name;
  nlohmann::json specification;
};

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> all = {
      {"full", {{"kind", "full"}, {"max_distance", 0}}}, {"bpt_k1", {{"kind", "bpt"}, {"k", 1}}},
      {"bpt_k4", {{"kind", "bpt"}, {"k", 4}}},           {"bpt_k16", {{"kind", "bpt"}, {"k", 16}}},
      {"bpt_k64", {{"kind", "bpt"}, {"k", 64}}},
  };
  return all;
}

struct Pass {
  std::string name;
  bool training;
};
/// Passes of one model: what its layers keep is part of it.
struct Passes {
  nn::ActivationPolicy activations;
  std::vector<Pass> passes;
};
const std::vector<Passes>& models() {
  using nn::ActivationPolicy;
  static const std::vector<Passes> all = {{ActivationPolicy::automatic, {{"inference", false}, {"training", true}}},
                                          {ActivationPolicy::save_all, {{"all_kept_training", true}}},
                                          {ActivationPolicy::recompute_cheap, {{"few_kept_training", true}}},
                                          {ActivationPolicy::checkpoint_layers, {{"checkpointed_training", true}}}};
  return all;
}

void run_passes(const Passes& passes, const Pattern& pattern, std::int64_t length, const Options& options,
                const Report& report) {
  // A step takes seconds, so that few of them say enough.
  const Options few{.repeats = std::min(options.repeats, 2)};
  std::optional<BatchModel> model;
  for (const Pass& pass : passes.passes) {
    const std::string name = fmt::format("n={} {} {}", length, pattern.name, pass.name);
    if (!selected(options, name)) continue;
    if (!model) {
      model.emplace(pattern.specification, ModelShape{.length = length, .activations = passes.activations});
    }
    const auto step = [&] { pass.training ? model->train() : model->infer(); };
    const auto peak = static_cast<double>(model->peak_bytes(step));
    const double milliseconds = measure(few, step);
    const double rate = model->tokens() / milliseconds * 1e3;
    report({.case_name = name,
            .milliseconds = milliseconds,
            .note = fmt::format("{:.0f} tokens a second, {:.0f} MB at the peak", rate, peak / 1e6),
            .figures = {{"tokens_per_second", rate}, {"peak_bytes", peak}}});
  }
}

}  // namespace

void run_sequence_length(const Options& options, const Report& report) {
  for (const std::int64_t length : {512, 1024, 2048, 4096, 8192}) {
    for (const Pattern& pattern : patterns()) {
      for (const Passes& passes : models()) run_passes(passes, pattern, length, options, report);
    }
  }
}

}  // namespace bough::bench
