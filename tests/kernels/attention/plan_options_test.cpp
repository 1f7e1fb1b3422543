#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "bough/graph/graph_generator.h"
#include "kernels/attention/plan/attention_plan.h"
#include "kernels/reference/graph_attention.h"
#include "tests/kernels/graph_attention_cases.h"
#include "tests/support/compare.h"

/// Plans with one refinement switched off: other plans, the same attention.
namespace bough {
namespace {

Graph pattern(const char* kind, const nlohmann::json& parameters, std::int64_t length, bool causal) {
  return generators().make(kind, parameters)->build({.length = length, .causal = causal}).graph;
}

/// Each call makes a graph that has no plan yet.
std::vector<std::function<Graph()>> graph_makers() {
  return {
      [] {
        return pattern("bpt", {{"k", 4}, {"alignment", "slot"}}, 700, true);
      },
      [] {
        return pattern("bpt", {{"k", 20}}, 200, false);
      },
      [] {
        return pattern("window", {{"width", 30}}, 200, true);
      },
      [] {
        return pattern("longformer", {{"width", 24}, {"global", 2}}, 150, false);
      },
      [] {
        return pattern("sparse_fixed", {{"stride", 16}, {"c", 2}}, 200, true);
      },
      [] { return pattern("full", {}, 1100, true); },
      [] { return zoo::split_row(3000, true); },
      [] { return zoo::random_graph(200, 2000, 1); },
  };
}

AttentionPlanOptions without(const AttentionRefinement& refinement) {
  AttentionPlanOptions options;
  options.*refinement.option = false;
  return options;
}

TEST(AttentionPlanOptions, ChangeNoResultWhenOneIsOff) {
  for (const std::function<Graph()>& make : graph_makers()) {
    for (const AttentionRefinement& refinement : attention_refinements) {
      const Graph graph = make();
      SCOPED_TRACE(testing::Message() << refinement.name << " off, " << graph.num_edges() << " edges");
      const bool relations = !graph.edge_types().empty();
      const auto plan = attention_plan(graph, relations, without(refinement));
      test::AttentionCase c = test::attention_case(graph, DType::float64, {1, 5, 3}, {.relation_keys = relations});
      c.options.kernel = AttentionKernel::tile;
      test::expect_close(test::attend(c), reference::graph_attention(graph, c.q, c.k, c.v, c.options).out);
      const std::vector<Tensor> actual = test::gradients_of(c);
      c.options.kernel = AttentionKernel::row;
      const std::vector<Tensor> expected = test::gradients_of(c);
      for (std::size_t i = 0; i < actual.size(); ++i) {
        test::expect_close(actual[i], expected[i], {.relative = 1e-9, .absolute = 1e-9});
      }
      EXPECT_EQ(attention_plan(graph, relations), plan) << "the calls used another plan";
    }
  }
}

TEST(AttentionPlanOptions, LeaveEverythingToRowsWithoutTiles) {
  const AttentionPlan plan = make_attention_plan(pattern("bpt", {{"k", 4}}, 300, true), true, {.tiles = false});
  EXPECT_FALSE(plan.has_tiles());
  EXPECT_EQ(plan.summary.tile_edges, 0);
}

TEST(AttentionPlanOptions, HaveNoSegmentTilesWhenAskedNotTo) {
  const Graph graph = pattern("bpt", {{"k", 4}}, 500, true);
  EXPECT_GT(make_attention_plan(graph, true).summary.segment_tiles, 0);
  EXPECT_EQ(make_attention_plan(graph, true, {.segment_tiles = false}).summary.segment_tiles, 0);
}

TEST(AttentionPlanOptions, NeedMoreColumnsWithoutPairs) {
  const Graph graph = pattern("window", {{"width", 7}}, 512, true);
  EXPECT_LT(make_attention_plan(graph, false).summary.columns,
            make_attention_plan(graph, false, {.pair_lane_groups = false}).summary.columns);
}

TEST(AttentionPlanOptions, FoldNoColumnWithoutFolding) {
  const Graph graph = pattern("bpt", {{"k", 4}}, 500, true);
  const AttentionPlan plan = make_attention_plan(graph, true, {.fold_relations = false});
  for (const std::int32_t relation : plan.column_relations) EXPECT_EQ(relation, -1);
}

TEST(AttentionPlanOptions, ListRelationsOfEveryTileWithoutADictionary) {
  const Graph graph = pattern("bpt", {{"k", 16}}, 1000, true);
  EXPECT_LT(make_attention_plan(graph, true).summary.dictionary_relations,
            make_attention_plan(graph, true, {.relation_dictionary = false}).summary.dictionary_relations);
}

TEST(AttentionPlanOptions, FoldEverythingWithoutRelationRuns) {
  const AttentionPlan plan = make_attention_plan(pattern("bpt", {{"k", 4}}, 500, true), true, {.relation_runs = false});
  EXPECT_EQ(plan.summary.dictionary_relations, 0);
}

TEST(AttentionPlanOptions, StageEveryTileAloneWithoutSharedBlocks) {
  const AttentionPlan plan = make_attention_plan(pattern("bpt", {{"k", 4}}, 500, true), true, {.stage_blocks = false});
  EXPECT_EQ(plan.work_items.size(), plan.tiles.size());
}

TEST(AttentionPlanOptions, SplitNoRowOfTheRowKernelWhenAskedNotTo) {
  const AttentionPlan plan =
      make_attention_plan(zoo::split_row(20000, true), false, {.tiles = false, .split_rows = false});
  EXPECT_TRUE(plan.rows.split_rows.empty());
}

}  // namespace
}  // namespace bough
