#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "bough/autograd/autograd.h"
#include "bough/core/memory.h"
#include "bough/core/tensor.h"
#include "bough/ops/attention_plan.h"
#include "bough/ops/graph_attention.h"
#include "tools/bench/arithmetic_peak.h"
#include "tools/bench/benchmark.h"
#include "tools/bench/gpu_model.h"
#include "tools/bench/graphs.h"

namespace bough::bench {
namespace {

constexpr std::int64_t heads = 8, width = 64;

enum class Pass { forward, both };

const char* name_of(Pass pass) { return pass == Pass::forward ? "forward" : "forward+backward"; }

/// A graph to measure on.
struct Pattern {
  std::string name;
  std::function<Graph()> make;
  bool relations = false;         ///< with relation keys
  bool compares_threads = false;  ///< two against one
};

/// One graph with everything that attention on it needs.
class Case {
 public:
  explicit Case(const Pattern& pattern) : name_(pattern.name), graph_(pattern.make()) {
    const std::int64_t nodes = graph_.num_nodes();
    q_ = randn({nodes, heads, width});
    k_ = randn({nodes, heads, width});
    v_ = randn({nodes, heads, width});
    d_out_ = randn({nodes, heads, width});
    if (pattern.relations) relation_keys_ = randn({graph_.num_edge_types(), width});
    graph_.csc();
    graph_.csr();
  }

  const std::string& name() const { return name_; }
  const Graph& graph() const { return graph_; }
  double edges() const { return static_cast<double>(graph_.num_edges()); }

  void run(Pass pass) {
    require_gradients(pass == Pass::both);
    const Tensor out = graph_attention(graph_, q_, k_, v_, {.relation_keys = relation_keys_});
    if (pass == Pass::both) out.backward({.gradient = d_out_});
  }

  /// Multiplications and additions that no way of computing it avoids: q.k and p.v of every edge; backward both again
  /// (the weights are not kept) and their three gradients. Products with relation keys can be folded into others.
  double operations(Pass pass) const {
    const double products = pass == Pass::forward ? 2 : 7;
    return products * 2 * edges() * static_cast<double>(heads * width);
  }

  /// Bytes that a pass takes beyond its inputs, the result and their gradients; with the plan.
  std::int64_t extra_bytes(Pass pass) {
    require_gradients(false);
    const std::int64_t tensor = q_.elements() * static_cast<std::int64_t>(sizeof(float));
    const std::int64_t results = pass == Pass::forward ? tensor : 4 * tensor;
    const std::int64_t before = memory_statistics().bytes_now;
    reset_peak_memory();
    run(pass);
    const std::int64_t peak = memory_statistics().bytes_peak;
    require_gradients(false);
    return peak - before - results + attention_plan_summary(graph_, relation_keys_.defined()).bytes;
  }

 private:
  void require_gradients(bool value) {
    for (Tensor* tensor : {&q_, &k_, &v_, &relation_keys_}) {
      if (!tensor->defined()) continue;
      tensor->clear_grad();
      tensor->set_requires_grad(value);
    }
  }

  std::string name_;
  Graph graph_;
  Tensor q_, k_, v_, d_out_, relation_keys_;
};

class AttentionBenchmark {
 public:
  AttentionBenchmark(const Options& options, const Report& report) : options_(options), report_(report) {}

  /// Time, share of the machine's arithmetic, memory; what two threads bring.
  void measure_case(Case& one, bool threads) const {
    for (const Pass pass : {Pass::forward, Pass::both}) {
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
  void compare_threads(Case& one, Pass pass) const {
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

  /// What looking at the graph costs, once for all layers and steps.
  void measure_plan(const Pattern& pattern) const {
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
    Case one(pattern);
    const double step = measure({.repeats = 1}, [&] { one.run(Pass::both); });
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
  void compare_lengths(std::int64_t k, Pass pass) const {
    const std::string name = fmt::format("bpt_k{} n=65536 {}", k, name_of(pass));
    if (!selected(options_, name)) return;
    const Options few{.repeats = std::min(options_.repeats, 3)};
    const auto of_length = [&](std::int64_t length) {
      return Case({name, [=] { return partition_graph(length, k); }, true});
    };
    Case shorter = of_length(2048), longer = of_length(65536);
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
  const std::vector<Pattern> patterns = {
      {"bpt_k4 n=8192", [] { return partition_graph(8192, 4); }, true, true},
      {"bpt_k64 n=8192", [] { return partition_graph(8192, 64); }, true, true},
      {"bpt_k4 n=512", [] { return partition_graph(512, 4); }, true},
      {"bpt_k64 n=512", [] { return partition_graph(512, 64); }, true},
      {"full n=512", [] { return full_causal_graph(512); }, false, true},
      {"random", [] { return drawn_graph({.skew = 1}); }, false, true},
      {"power_law", [] { return drawn_graph({.skew = 3}); }, false, true},
  };
  for (const Pattern& pattern : patterns) {
    if (!may_be_selected(options, pattern.name + " ")) continue;
    if (!options.gpu.empty()) {
      report_attention_bounds(gpu_model(options.gpu), pattern.name, pattern.make(), pattern.relations, report);
      continue;
    }
    {
      Case one(pattern);
      benchmark.measure_case(one, pattern.compares_threads);
    }
    benchmark.measure_plan(pattern);
  }
  if (!options.gpu.empty()) return;
  for (const std::int64_t k : {4, 64}) {
    for (const Pass pass : {Pass::forward, Pass::both}) benchmark.compare_lengths(k, pass);
  }
}

}  // namespace bough::bench
