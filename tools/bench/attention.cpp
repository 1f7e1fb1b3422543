#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bough/ops/attention_plan.h"
#include "tools/bench/arithmetic_peak.h"
#include "tools/bench/attention_case.h"
#include "tools/bench/benchmark.h"
#include "tools/bench/gpu_model.h"
#include "tools/bench/graphs.h"

namespace bough::bench {
namespace {

class AttentionBenchmark {
 public:
  AttentionBenchmark(const Options& options, const Report& report) : options_(options), report_(report) {}

  /// Time, share of the machine's arithmetic, memory; what two threads bring.
  void measure_case(AttentionCase& one, bool threads) const {
    for (const AttentionPass pass : {AttentionPass::forward, AttentionPass::both}) {
      const std::string name = fmt::format("{} {}", one.name(), name_of(pass));
      if (!selected(options_, name)) continue;
      const double milliseconds = measure(options_, [&] { one.run(pass); });
      const double operations = one.operations(pass), peak = peak_of(num_threads());
      const double rate = operations / milliseconds * 1e-6, extra = static_cast<double>(one.extra_bytes(pass));
      report_(
          {.case_name = name,
           .milliseconds = milliseconds,
           .peer = "arithmetic bound",
           .peer_milliseconds = operations / peak * 1e-6,
           .note = fmt::format("{:.2f}M edges, {:.2f} ns an edge, {:.0f} of {:.0f} GFLOP/s, {:.0f} MB beyond inputs "
                               "and results",
                               one.edges() / 1e6, milliseconds * 1e6 / one.edges(), rate, peak, extra / 1e6),
           .figures = {{"edges", one.edges()}, {"gflops", rate}, {"peak_gflops", peak}, {"extra_bytes", extra}}});
      if (threads) compare_threads(one, pass);
    }
  }

  /// Two threads against one.
  void compare_threads(AttentionCase& one, AttentionPass pass) const {
    const std::string name = fmt::format("{} {} 2 threads", one.name(), name_of(pass));
    if (!selected(options_, name)) return;
    const int before = num_threads();
    const auto on = [&](int threads) {
      set_num_threads(threads);
      one.run(pass);
    };
    const Times times = measure_both(
        options_, [&] { on(2); }, [&] { on(1); });
    set_num_threads(before);
    report_({.case_name = name, .milliseconds = times.ours, .peer = "1 thread", .peer_milliseconds = times.peer});
  }

  /// Attention with dropout against attention without.
  void compare_dropout(AttentionCase& one) const {
    for (const AttentionPass pass : {AttentionPass::forward, AttentionPass::both}) {
      const std::string name = fmt::format("dropout {} {}", one.name(), name_of(pass));
      if (!selected(options_, name)) continue;
      const Times times = measure_both(
          options_, [&] { one.run(pass, 0.1); }, [&] { one.run(pass); });
      report_({.case_name = name, .milliseconds = times.ours, .peer = "no dropout", .peer_milliseconds = times.peer});
    }
  }

  /// What looking at the graph costs, once for all layers and steps.
  void measure_plan(const AttentionPattern& pattern) const {
    const std::string case_name = pattern.name + " plan";
    if (!selected(options_, case_name)) return;
    std::vector<double> times;
    AttentionPlanSummary summary;
    for (int i = 0; i < std::max(3, options_.repeats); ++i) {
      const Graph graph = pattern.make();
      graph.csc();
      summary = attention_plan_summary(graph, pattern.relations);
      times.push_back(summary.milliseconds);
    }
    AttentionCase one(pattern);
    const double step = measure({.repeats = 1}, [&] { one.run(AttentionPass::both); });
    report_({.case_name = case_name,
             .milliseconds = median(std::move(times)),
             .peer = "forward+backward",
             .peer_milliseconds = step,
             .note = fmt::format("{:.1f} MB, {} tiles, fill {:.2f}, {:.1f}% of the edges in tiles",
                                 static_cast<double>(summary.bytes) / 1e6, summary.tiles, summary.fill(),
                                 100 * summary.tiled_share()),
             .figures = {{"bytes", static_cast<double>(summary.bytes)},
                         {"fill", summary.fill()},
                         {"tiled_share", summary.tiled_share()}}});
  }

  /// A long sequence against a short one that would have as many edges: cost grows as the work if the ratio is near 1.
  void compare_lengths(std::int64_t k, AttentionPass pass) const {
    const std::string name = fmt::format("bpt_k{} n=65536 {}", k, name_of(pass));
    if (!selected(options_, name)) return;
    const Options few{.repeats = std::min(options_.repeats, 3)};
    const auto of_length = [&](std::int64_t length) {
      return AttentionCase({name, [=] { return partition_graph(length, k); }, true});
    };
    AttentionCase shorter = of_length(2048), longer = of_length(65536);
    const double short_time = measure(options_, [&] { shorter.run(pass); });
    const double long_time = measure(few, [&] { longer.run(pass); });
    report_({.case_name = name,
             .milliseconds = long_time,
             .peer = "n=2048 per edge",
             .peer_milliseconds = short_time * longer.edges() / shorter.edges(),
             .note = fmt::format("{:.2f} ns an edge, {:.2f} at n=2048", long_time * 1e6 / longer.edges(),
                                 short_time * 1e6 / shorter.edges())});
  }

 private:
  /// Measured when first asked for.
  double peak_of(int threads) const {
    if (peak_threads_ != threads) {
      peak_ = arithmetic_peak();
      peak_threads_ = threads;
    }
    return peak_;
  }

  const Options& options_;
  const Report& report_;
  mutable double peak_ = 0;
  mutable int peak_threads_ = 0;
};

}  // namespace

void run_attention(const Options& options, const Report& report) {
  const AttentionBenchmark benchmark(options, report);
  const std::vector<AttentionPattern> patterns = {
      {"bpt_k4 n=8192", [] { return partition_graph(8192, 4); }, true, true},
      {"bpt_k64 n=8192", [] { return partition_graph(8192, 64); }, true, true},
      {"bpt_k4 n=512", [] { return partition_graph(512, 4); }, true},
      {"bpt_k64 n=512", [] { return partition_graph(512, 64); }, true},
      {"full n=512", [] { return full_causal_graph(512); }, false, true},
      {"random", [] { return drawn_graph({.skew = 1}); }, false, true},
      {"power_law", [] { return drawn_graph({.skew = 3}); }, false, true},
  };
  for (const AttentionPattern& pattern : patterns) {
    if (!may_be_selected(options, pattern.name + " ")) continue;
    if (!options.gpu.empty()) {
      report_attention_bounds(gpu_model(options.gpu), pattern.name, pattern.make(), pattern.relations, report);
      continue;
    }
    {
      AttentionCase one(pattern);
      benchmark.measure_case(one, pattern.compares_threads);
    }
    benchmark.measure_plan(pattern);
  }
  if (!options.gpu.empty()) return;
  for (const AttentionPattern& pattern : patterns) {
    if (!may_be_selected(options, fmt::format("dropout {} ", pattern.name))) continue;
    AttentionCase one(pattern);
    benchmark.compare_dropout(one);
  }
  for (const std::int64_t k : {4, 64}) {
    for (const AttentionPass pass : {AttentionPass::forward, AttentionPass::both}) benchmark.compare_lengths(k, pass);
  }
}

}  // namespace bough::bench
