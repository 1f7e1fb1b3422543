#include "bough/graph/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/graph/attention_graph_builder.h"
#include "tests/graph/generators/edge_list.h"
#include "tests/support/errors.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Nodes = std::vector<std::int32_t>;

/// Every sequence of the batch is the graph of its length, shifted.
void expect_parts(const AttentionGraph& batch, const GraphGenerator& generator,
                  const std::vector<std::int64_t>& lengths, bool causal) {
  batch.validate();
  ASSERT_EQ(batch.sequences.size(), lengths.size());
  std::vector<test::NamedEdge> expected;
  Nodes levels, tokens, readout;
  std::int32_t shift = 0;
  std::int32_t source_shift = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const AttentionGraph one = generator.build({.length = lengths[i], .causal = causal});
    const bool bipartite = one.graph.is_bipartite();
    for (test::NamedEdge edge : test::named_edges(one)) {
      expected.push_back({edge.src + (bipartite ? source_shift : shift), edge.dst + shift, edge.relation});
    }
    levels.insert(levels.end(), one.levels.begin(), one.levels.end());
    for (const std::int32_t token : one.tokens) tokens.push_back(token + shift);
    for (const std::int32_t node : one.readout) readout.push_back(node + shift);
    EXPECT_EQ(batch.sequences[i].root, one.root < 0 ? -1 : one.root + shift);
    EXPECT_EQ(batch.sequences[i].token_end - batch.sequences[i].token_begin, lengths[i]);
    EXPECT_EQ(batch.sequences[i].node_begin, shift);
    shift += static_cast<std::int32_t>(one.graph.num_dst());
    source_shift += static_cast<std::int32_t>(one.graph.num_src());
    EXPECT_EQ(batch.sequences[i].node_end, shift);
  }
  EXPECT_EQ(test::named_edges(batch), expected);
  EXPECT_EQ(batch.levels, levels);
  EXPECT_EQ(batch.tokens, tokens);
  EXPECT_EQ(batch.readout, readout);
}

TEST(BuildBatch, PutsSequencesOfDifferentLengthSideBySide) {
  const std::vector<std::int64_t> lengths = {5, 1, 16, 5, 33, 16, 2};
  for (const json& specification :
       {json{{"kind", "bpt"}, {"k", 2}}, json{{"kind", "full"}}, json{{"kind", "memory"}, {"length", 3}},
        json{{"kind", "hierarchical"}, {"size", 4}}, json{{"kind", "union"}, {"of", {"bpt", "window"}}}}) {
    const auto generator = generators().make(specification);
    for (const bool causal : {false, true}) {
      expect_parts(build_batch(*generator, lengths, causal), *generator, lengths, causal);
    }
  }
}

TEST(BuildBatch, KeepsHeadGroupsAndStages) {
  const std::vector<std::int64_t> lengths = {7, 3};
  const AttentionGraph split =
      build_batch(*generators().make("sparse_strided", {{"stride", 2}, {"split_heads", true}}), lengths, true);
  ASSERT_EQ(split.head_groups.size(), 2u);
  EXPECT_EQ(test::sources_of(split.head_groups[1], 9), (Nodes{7, 9}));
  const AttentionGraph star = build_batch(*generators().make("star"), lengths, false);
  ASSERT_EQ(star.stages.size(), 2u);
  EXPECT_EQ(test::sources_of(star.stages[1], 15 + 3), (Nodes{15, 16, 17, 18}));
  EXPECT_EQ(star.root, 7);
  EXPECT_EQ(star.sequences[1].root, 18);
}

TEST(BuildBatch, NumbersRelationsAsTheLongestSequence) {
  const auto bpt = generators().make("bpt", {{"k", 1}});
  const AttentionGraph batch = build_batch(*bpt, std::vector<std::int64_t>{3, 40, 7}, true);
  EXPECT_EQ(batch.graph.num_edge_types(), bpt->num_relations(40));
  EXPECT_EQ(batch.relations, bpt->build({.length = 40}).relations);
}

TEST(BuildBatch, CoversCountThroughTheBatch) {
  const AttentionGraph batch = build_batch(*generators().make("bpt"), std::vector<std::int64_t>{4, 4}, false);
  EXPECT_EQ(batch.covers[7], (TokenRange{4, 5}));
  EXPECT_EQ(batch.covers[13], (TokenRange{4, 8}));
  EXPECT_EQ(batch.graph.num_graphs(), 2);
}

TEST(BuildBatch, TakesOptionsThatDifferInSentences) {
  const std::vector<BuildOptions> options = {{.length = 2, .source_sentences = {3}},
                                             {.length = 2, .sentences = {1, 1}, .source_sentences = {1, 2}}};
  const AttentionGraph batch = build_batch(*generators().make("cross"), options);
  EXPECT_EQ(test::rows_of(batch.graph), (std::vector<Nodes>{{0, 1, 2}, {0, 1, 2}, {3}, {4, 5}}));
  EXPECT_EQ(batch.sequences[1].source_begin, 3);
}

/// Tokens that attend to themselves, and a node that attends to all of them.
AttentionGraph summed_up(std::int64_t length, const char* relation = "up") {
  AttentionGraphBuilder builder({.length = length});
  const std::int32_t self = builder.add_relation("self");
  const std::int32_t up = builder.add_relation(relation);
  const std::int32_t root = builder.add_global();
  builder.add_rule([=](std::int32_t token, InEdges& in) { in.add(token, self); });
  builder.add_edges(0, root, root, up);
  builder.set_root(root);
  return builder.build();
}

TEST(BatchOfAttentionGraphs, PutsTheGraphsOfABuilderSideBySide) {
  const AttentionGraph both = batch({summed_up(2), summed_up(1)});
  both.validate();
  EXPECT_EQ(test::named_edges(both),
            (std::vector<test::NamedEdge>{
                {0, 0, "self"}, {1, 1, "self"}, {0, 2, "up"}, {1, 2, "up"}, {3, 3, "self"}, {3, 4, "up"}}));
  EXPECT_EQ(both.tokens, (Nodes{0, 1, 3}));
  EXPECT_EQ(both.readout, (Nodes{2, 4}));
  EXPECT_EQ(both.root, 2);
  EXPECT_EQ(both.covers[4], (TokenRange{2, 3}));
  ASSERT_EQ(both.sequences.size(), 2u);
  EXPECT_EQ(both.sequences[1].root, 4);
  EXPECT_EQ(both.sequences[1].readout_begin, 1);
  EXPECT_EQ(both.sequences[1].node_end, 5);
}

TEST(BatchOfAttentionGraphs, IsWhatAGeneratorsBatchIs) {
  const std::vector<std::int64_t> lengths = {5, 1, 16};
  for (const char* kind : {"bpt", "star", "memory", "hierarchical", "adaptive_span"}) {
    SCOPED_TRACE(kind);
    const auto generator = generators().make(json(kind));
    std::vector<AttentionGraph> graphs;
    for (const std::int64_t length : lengths) graphs.push_back(generator->build({.length = length}));
    const AttentionGraph expected = build_batch(*generator, lengths, false);
    const AttentionGraph given = batch(graphs);
    expect_parts(given, *generator, lengths, false);
    EXPECT_EQ(given.relations, expected.relations);
    EXPECT_EQ(given.stages.size(), expected.stages.size());
    EXPECT_EQ(given.soft_span, expected.soft_span);
    EXPECT_EQ(attention_form(given.graph), attention_form(graphs[0].graph));
    // A batch among the graphs counts as its sequences.
    expect_parts(batch({batch({graphs[0], graphs[1]}), graphs[2]}), *generator, lengths, false);
  }
}

TEST(BatchOfAttentionGraphs, RefusesGraphsThatAreNotAlike) {
  const auto error = [](std::initializer_list<AttentionGraph> graphs) {
    return test::graph_error([&] { batch(graphs); });
  };
  EXPECT_THAT(error({}), HasSubstr("at least one"));
  EXPECT_THAT(error({summed_up(2), summed_up(2, "down")}), HasSubstr("relation 1 is 'up' in one graph and 'down'"));
  const AttentionGraph star = generators().make("star")->build({.length = 4});
  EXPECT_THAT(error({summed_up(2), star}), HasSubstr("head groups and stages"));
  const auto bpt = generators().make("bpt");
  EXPECT_THAT(error({bpt->build({.length = 2}), bpt->build({.length = 2, .causal = true})}), HasSubstr("causal"));
  AttentionGraph spanned = summed_up(2);
  spanned.soft_span = SoftSpan{.max_span = 3};
  EXPECT_THAT(error({summed_up(2), spanned}), HasSubstr("soft span"));
  EXPECT_EQ(batch({}).num_nodes(), 0) << "of no graphs, not of no attention graphs";
}

TEST(BuildBatch, RefusesWhatMakesNoBatch) {
  const auto bpt = generators().make("bpt");
  EXPECT_THROW(build_batch(*bpt, std::vector<std::int64_t>{}, true), GraphError);
  EXPECT_THROW(build_batch(*bpt, std::vector<std::int64_t>{4, 0}, true), GraphError);
  EXPECT_THROW(build_batch(*bpt, std::vector<BuildOptions>{{.length = 2}, {.length = 2, .causal = true}}), GraphError);
  EXPECT_THROW(build_batch(*generators().make("full"), std::vector<std::int64_t>(5000, 1024), true), GraphError);
}

}  // namespace
}  // namespace bough
