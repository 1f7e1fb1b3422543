#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "bough/graph/graph_generator.h"
#include "kernels/attention/plan/attention_plan.h"
#include "tools/bench/attention_case.h"
#include "tools/bench/benchmark.h"
#include "tools/bench/graphs.h"

/// What each refinement of the attention plan buys: the full plan beside one without it, in turns.
namespace bough::bench {
namespace {

Graph pattern_graph(const char* kind, const nlohmann::json& parameters, const BuildOptions& options) {
  return generators().make(kind, parameters)->build(options).graph;
}

Graph causal_pattern(const char* kind, const nlohmann::json& parameters, std::int64_t length) {
  return pattern_graph(kind, parameters, {.length = length, .causal = true});
}

/// Node 0 attends to all nodes; no other node attends to anything.
Graph pooling_graph(std::int32_t nodes) {
  std::vector<std::int32_t> src(static_cast<std::size_t>(nodes));
  std::iota(src.begin(), src.end(), 0);
  return Graph::from_edges(std::move(src), std::vector<std::int32_t>(static_cast<std::size_t>(nodes)),
                           {.num_nodes = nodes});
}

std::vector<AttentionPattern> patterns() {
  return {
      {"bpt_k4 n=8192", [] { return partition_graph(8192, 4); }, true},
      {"bpt_k64 n=8192", [] { return partition_graph(8192, 64); }, true},
      {"window n=8192",
       [] {
         return causal_pattern("window", {{"width", 64}}, 8192);
       }},
      {"longformer n=8192",
       [] {
         return causal_pattern("longformer", {{"width", 64}, {"global", 4}}, 8192);
       }},
      {"sparse_fixed n=8192",
       [] {
         return causal_pattern("sparse_fixed", {{"stride", 128}, {"c", 8}}, 8192);
       }},
      // One row that reads all tokens beside as many short ones.
      {"star n=8192", [] { return pattern_graph("star", nlohmann::json::object(), {.length = 8192}); }},
      // Attention pooling: one row that reads everything, which only threads that split it can share.
      {"pooling n=65536", [] { return pooling_graph(65536); }},
      {"full n=2048", [] { return full_causal_graph(2048); }},
      {"random", [] { return drawn_graph({.nodes = 20'000, .edges = 400'000}); }},
  };
}

/// A case whose graph has the plan that the options ask for.
AttentionCase case_with_plan(const AttentionPattern& pattern, const AttentionPlanOptions& options) {
  AttentionCase result(pattern);
  attention_plan(result.graph(), pattern.relations, options);
  return result;
}

void compare(const Options& options, const Report& report, AttentionCase& full, const AttentionPattern& pattern,
             const AttentionRefinement& refinement) {
  AttentionPlanOptions plan;
  plan.*refinement.option = false;
  AttentionCase without = case_with_plan(pattern, plan);
  const auto summary = [&](const AttentionCase& one) {
    return attention_plan(one.graph(), pattern.relations)->summary;
  };
  for (const AttentionPass pass : {AttentionPass::forward, AttentionPass::both}) {
    const std::string name = fmt::format("{} {} {}", pattern.name, refinement.name, name_of(pass));
    if (!selected(options, name)) continue;
    const Times times = measure_both(
        options, [&] { full.run(pass); }, [&] { without.run(pass); });
    report({.case_name = name,
            .milliseconds = times.ours,
            .peer = fmt::format("without {}", refinement.name),
            .peer_milliseconds = times.peer,
            .note = fmt::format("{} columns, {} without; {:.1f}% of the edges in tiles, {:.1f}% without",
                                summary(full).columns, summary(without).columns, 100 * summary(full).tiled_share(),
                                100 * summary(without).tiled_share())});
  }
}

}  // namespace

void run_attention_ablation(const Options& options, const Report& report) {
  for (const AttentionPattern& pattern : patterns()) {
    if (!may_be_selected(options, pattern.name + " ")) continue;
    AttentionCase full = case_with_plan(pattern, {});
    for (const AttentionRefinement& refinement : attention_refinements) {
      if (refinement.of_relations && !pattern.relations) continue;
      if (!may_be_selected(options, fmt::format("{} {} ", pattern.name, refinement.name))) continue;
      compare(options, report, full, pattern, refinement);
    }
  }
}

}  // namespace bough::bench
