#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bough/nn/optimizer.h"
#include "tools/bench/benchmark.h"
#include "tools/bench/model.h"

namespace bough::bench {
namespace {

/// What computing only what is read saves.
void compare_pruning(const Options& options, const Report& report) {
  const ModelShape shape{.tokens = 2048, .length = 2048};
  for (const std::int64_t k : {4, 64}) {
    const std::string prefix = fmt::format("bpt_k{} n={}", k, shape.length);
    if (!may_be_selected(options, prefix)) continue;
    BatchModel model({{"kind", "bpt"}, {"k", k}}, shape);
    const Options few{.repeats = std::min(options.repeats, 3)};
    const auto compare = [&](const char* what, FunctionRef<void()> pruned, FunctionRef<void()> unpruned) {
      const std::string name = fmt::format("{} {}", prefix, what);
      if (!selected(options, name)) return;
      const Times times = measure_both(few, pruned, unpruned);
      const auto peak = static_cast<double>(model.peak_bytes(pruned)),
                 unpruned_peak = static_cast<double>(model.peak_bytes(unpruned));
      report({.case_name = name,
              .milliseconds = times.ours,
              .peer = "all nodes",
              .peer_milliseconds = times.peer,
              .note = fmt::format("{:.0f} tokens a second, {:.0f} MB at the peak, {:.0f} MB with all nodes",
                                  model.tokens() / times.ours * 1e3, peak / 1e6, unpruned_peak / 1e6),
              .figures = {{"peak_bytes", peak}, {"unpruned_peak_bytes", unpruned_peak}}});
    };
    compare(
        "inference", [&] { model.infer(); }, [&] { model.infer_unpruned(); });
    compare(
        "training", [&] { model.train(); }, [&] { model.train_unpruned(); });
  }
}

/// A small model's whole step beside the same operations on next to no data, which leaves what a step costs by itself.
void measure_overhead(const Options& options, const Report& report) {
  const std::string name = "d=64 layers=2 n=512 step";
  if (!selected(options, name)) return;
  const auto step_of = [&](std::int64_t length) {
    const ModelShape shape{.layers = 2, .dim = 64, .feed_forward = 256, .heads = 4, .tokens = length, .length = length};
    BatchModel model({{"kind", "bpt"}, {"k", 4}}, shape);
    nn::Adam optimizer(model.model().named_parameters(), {.clip_norm = 1});
    return measure(options, [&] {
      model.train();
      optimizer.step();
    });
  };
  const double step = step_of(512), empty = step_of(2);
  report({.case_name = name,
          .milliseconds = step,
          .note = fmt::format("of which {:.3f} ms are left on a sequence of two tokens", empty),
          .figures = {{"overhead_milliseconds", empty}}});
}

}  // namespace

void run_train_step(const Options& options, const Report& report) {
  measure_overhead(options, report);
  compare_pruning(options, report);
}

}  // namespace bough::bench
