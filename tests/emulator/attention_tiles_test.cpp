#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "bough/graph/batch.h"
#include "bough/graph/graph_generator.h"
#include "bough/ops/attention_plan.h"
#include "kernels/attention/simt/cost.h"
#include "tests/emulator/emulated_attention.h"
#include "tests/support/graph_zoo.h"

/// The tile kernels of a GPU on the emulator, against the definition and the CPU.
namespace bough {
namespace {

using emulator::Order;
using emulator::Queue;
using test::attention_case;
using test::AttentionCase;
using test::AttentionSizes;
using test::EmulatedAttention;
using test::expect_right;
using test::with_types;

Graph pattern(const char* kind, const nlohmann::json& parameters, std::int64_t length, bool causal) {
  return generators().make(kind, parameters)->build({.length = length, .causal = causal}).graph;
}

AttentionCase tile_case(const Graph& graph, DType dtype, AttentionSizes sizes, test::AttentionExtras extras = {}) {
  AttentionCase c = attention_case(graph, dtype, sizes, extras);
  c.options.kernel = AttentionKernel::tile;
  return c;
}

TEST(EmulatedAttentionTiles, MatchTheReferenceAndTheGradientsOfTheCpuOnEveryKindOfTile) {
  const Graph tree = pattern("bpt", {{"k", 2}}, 30, false), other = pattern("bpt", {{"k", 2}}, 50, false);
  const std::vector<std::pair<std::string, Graph>> graphs = {
      {"partition", pattern("bpt", {{"k", 4}}, 90, true)},
      {"partition in both directions", pattern("bpt", {{"k", 4}, {"alignment", "pair"}}, 70, false)},
      {"full", pattern("full", {{"max_distance", 20}}, 40, false)},
      {"window", pattern("window", {{"width", 30}}, 70, true)},
      {"longformer", pattern("longformer", {{"width", 24}, {"global", 2}}, 70, false)},
      {"a batch", batch({tree, other, tree})},
  };
  for (const auto& [name, graph] : graphs) {
    SCOPED_TRACE(name);
    for (const bool relations : {false, true}) {
      ASSERT_GT(attention_plan_summary(graph, relations).tiles, 0);
      expect_right(tile_case(graph, DType::float64, {2, 8, 4}, {.relation_keys = relations}));
    }
  }
}

TEST(EmulatedAttentionTiles, LeaveToRowsWhatThePlanDoes) {
  for (const zoo::NamedGraph& named : zoo::all(100)) {
    SCOPED_TRACE(named.name);
    expect_right(tile_case(with_types(named.graph, 3), DType::float64, {1, 4, 4}, {.relation_keys = true}));
  }
}

TEST(EmulatedAttentionTiles, TakeWidthsOfEveryKernel) {
  const Graph graph = pattern("full", {{"max_distance", 5}}, 20, true);
  for (const auto& [width, value_width] : {std::pair{1, 1}, {3, 5}, {64, 12}, {20, 32}, {100, 128}, {128, 7}}) {
    for (const DType dtype : {DType::float32, DType::float64}) {
      if (dtype == DType::float64 && std::max(width, value_width) > 32) continue;
      SCOPED_TRACE(width);
      expect_right(tile_case(graph, dtype, {1, width, value_width}, {.relation_keys = true}));
    }
  }
}

TEST(EmulatedAttentionTiles, OfBfloat16AreThoseOfFloatRounded) {
  const Graph tree = pattern("bpt", {{"k", 4}}, 60, true), full = pattern("full", {{"max_distance", 20}}, 40, false);
  for (const Graph& graph : {tree, full}) {
    for (const auto& [width, value_width] : {std::pair{8, 12}, {5, 3}, {100, 128}}) {
      SCOPED_TRACE(width);
      AttentionCase c =
          test::in_bfloat16(tile_case(graph, DType::float32, {2, width, value_width}, {.relation_keys = true}));
      expect_right(c);
      test::expect_as_in_float(c);
      c.options.deterministic = false;
      test::expect_as_in_float(c);
    }
  }
}

TEST(EmulatedAttentionTiles, OfBfloat16LeaveToRowsWhatThePlanDoes) {
  for (const zoo::NamedGraph& named : zoo::all(100)) {
    SCOPED_TRACE(named.name);
    test::expect_as_in_float(
        test::in_bfloat16(tile_case(with_types(named.graph, 3), DType::float32, {1, 4, 4}, {.relation_keys = true})));
  }
}

TEST(EmulatedAttentionTiles, TakeTablesOfEachHeadAndOfAllTogether) {
  const Graph graph = pattern("bpt", {{"k", 4}}, 60, false);
  for (const bool per_head : {false, true}) {
    expect_right(tile_case(graph, DType::float32, {3, 8, 8}, {.relation_keys = true, .keys_per_head = per_head}));
  }
}

TEST(EmulatedAttentionTiles, AddUpTheSameGradientsAtomically) {
  for (const auto& [width, value_width] : {std::pair{8, 4}, {6, 3}, {4, 70}}) {
    AttentionCase c =
        tile_case(pattern("bpt", {{"k", 4}}, 60, false), value_width > 32 ? DType::float32 : DType::float64,
                  {2, width, value_width}, {.relation_keys = true});
    c.options.deterministic = false;
    expect_right(c);
  }
}

TEST(EmulatedAttentionTiles, DropTheSameEdgesAsTheCpu) {
  AttentionCase c = tile_case(pattern("bpt", {{"k", 4}}, 60, true), DType::float64, {2, 4, 4}, {.relation_keys = true});
  c.options.dropout = 0.4;
  RandomGenerator gpu(11), cpu(11), again(11);
  c.options.generator = &gpu;
  Queue queue;
  EmulatedAttention emulated(queue, c);
  const std::vector<Tensor> gradients =
      emulated.gradients(test::random_tensor(emulated.out.shape(), DType::float64, 20));
  c.options.generator = &cpu;
  const std::vector<Tensor> expected = test::gradients_of(c);
  for (std::size_t i = 0; i < expected.size(); ++i) test::expect_close(gradients[i], expected[i]);
  c.options.generator = &again;
  test::expect_close(emulated.out, test::attend(c));
}

TEST(EmulatedAttentionTiles, KeepAnInfiniteValueFromRowsThatDoNotHaveIt) {
  AttentionCase c = tile_case(pattern("full", nlohmann::json::object(), 40, true), DType::float32, {1, 8, 8});
  ASSERT_GT(attention_plan_summary(c.graph).tiles, 0);
  c.v.data<float>()[20 * 8 + 3] = INFINITY;
  Queue queue;
  EmulatedAttention emulated(queue, c);
  test::expect_close(emulated.out, reference::graph_attention(c.graph, c.q, c.k, c.v, c.options).out);
  EXPECT_TRUE(std::isfinite(emulated.out.data<float>()[19 * 8 + 3]));
  EXPECT_EQ(emulated.out.data<float>()[20 * 8 + 3], INFINITY);
}

TEST(EmulatedAttentionTiles, DoNotDependOnWhichThreadRunsFirst) {
  const AttentionCase c =
      tile_case(pattern("bpt", {{"k", 4}}, 90, true), DType::float32, {2, 8, 8}, {.relation_keys = true});
  const Tensor d_out = test::random_tensor({c.graph.num_dst(), 2, 8}, DType::float32, 20);
  Queue forwards(Order::ascending), backwards(Order::descending);
  EmulatedAttention one(forwards, c), other(backwards, c);
  test::expect_same_bits(one.out, other.out);
  const std::vector<Tensor> gradients = one.gradients(d_out), others = other.gradients(d_out);
  for (std::size_t i = 0; i < gradients.size(); ++i) test::expect_same_bits(gradients[i], others[i]);
}

/// Sectors that forward and backward of a case move, one after the other.
struct MeasuredTraffic {
  emulator::Traffic forward, backward;
};

MeasuredTraffic traffic_of(const AttentionCase& c) {
  Queue queue;
  EmulatedAttention emulated(queue, c, 1 << 17);
  MeasuredTraffic result{queue.traffic(), {}};
  emulated.gradients(cast(test::random_tensor(emulated.out.shape(), DType::float32, 20), c.q.dtype()));
  result.backward = queue.traffic();
  result.backward.load_sectors -= result.forward.load_sectors;
  result.backward.store_sectors -= result.forward.store_sectors;
  return result;
}

simt::TileCounts counts_of(const Graph& graph, bool relations) {
  return count_tiles(simt::make_attention_tile_plan(*attention_plan(graph, relations), 1 << 17));
}

TEST(EmulatedTileTraffic, OfAFullGraphIsOneKeyAndOneValueForSixteenEdges) {
  constexpr std::int64_t nodes = 64;
  const Graph graph = pattern("full", nlohmann::json::object(), nodes, false);
  const simt::TileCounts counts = counts_of(graph, false);
  ASSERT_EQ(counts.columns, nodes / 16 * nodes);
  const simt::AttentionSize size{.rows = nodes, .edges = nodes * nodes};
  const MeasuredTraffic traffic = traffic_of(tile_case(graph, DType::float32, {1, 64, 64}));
  const simt::AttentionCost forward = tile_forward_cost(counts, size);
  EXPECT_EQ(traffic.forward.load_sectors, forward.load_sectors);
  EXPECT_EQ(traffic.forward.store_sectors, forward.store_sectors);
  EXPECT_EQ(forward.load_sectors, counts.columns * (8 + 8 + 0.5) + nodes * 8 + 4 * (4 * 3 + 2 * 4))
      << "64 floats are 8 sectors";
  EXPECT_LT(forward.load_sectors, forward_cost(size).load_sectors / 12);
  double loads = 0, stores = 0, loads_of_rows = 0;
  for (const simt::AttentionCost& cost : {delta_cost(size), tile_backward_cost(counts, size),
                                          simt::to_sources_cost({.rows = nodes}), tile_sums_cost(counts, size)}) {
    loads += cost.load_sectors;
    stores += cost.store_sectors;
  }
  EXPECT_EQ(traffic.backward.load_sectors, loads);
  EXPECT_EQ(traffic.backward.store_sectors, stores);
  for (const simt::AttentionCost& cost : {delta_cost(size), to_destinations_cost(size), to_sources_cost(size)}) {
    loads_of_rows += cost.load_sectors;
  }
  EXPECT_LT(loads + stores, loads_of_rows / 7);
  EXPECT_GT(traffic.backward.shared_requests, 0);
  EXPECT_EQ(traffic.backward.bank_conflicts, 0);
}

TEST(EmulatedTileTraffic, OfBfloat16IsHalfAKeyAndHalfAValueForSixteenEdges) {
  constexpr std::int64_t nodes = 64;
  const Graph graph = pattern("full", nlohmann::json::object(), nodes, false);
  const simt::TileCounts counts = counts_of(graph, false);
  const simt::AttentionSize size{.rows = nodes, .edges = nodes * nodes, .element_bytes = 2};
  const MeasuredTraffic traffic = traffic_of(test::in_bfloat16(tile_case(graph, DType::float32, {1, 64, 64})));
  const simt::AttentionCost forward = tile_forward_cost(counts, size);
  EXPECT_EQ(traffic.forward.load_sectors, forward.load_sectors);
  EXPECT_EQ(traffic.forward.store_sectors, forward.store_sectors);
  EXPECT_EQ(forward.load_sectors, counts.columns * (4 + 4 + 0.5) + nodes * 4 + 4 * (4 * 3 + 2 * 4));
  double loads = 0, stores = 0;
  for (const simt::AttentionCost& cost :
       {delta_cost(size), tile_backward_cost(counts, size), simt::to_sources_cost({.rows = nodes, .element_bytes = 2}),
        tile_sums_cost(counts, size)}) {
    loads += cost.load_sectors;
    stores += cost.store_sectors;
  }
  EXPECT_EQ(traffic.backward.load_sectors, loads);
  EXPECT_EQ(traffic.backward.store_sectors, stores);
  EXPECT_EQ(traffic.backward.bank_conflicts, 0);
}

/// How many times more sectors rows move than tiles do on the same graph, at least.
void expect_fraction_of_rows(AttentionCase c, std::int64_t forward, std::int64_t backward) {
  c.options.kernel = AttentionKernel::tile;
  const MeasuredTraffic tiles = traffic_of(c);
  c.options.kernel = AttentionKernel::row;
  const MeasuredTraffic rows = traffic_of(c);
  EXPECT_LT(forward * tiles.forward.load_sectors, rows.forward.load_sectors);
  EXPECT_LT(backward * (tiles.backward.load_sectors + tiles.backward.store_sectors), rows.backward.load_sectors);
}

TEST(EmulatedTileTraffic, OfAPartitionGraphIsAFractionOfThatOfRows) {
  const Graph graph = pattern("bpt", {{"k", 64}}, 100, true);
  ASSERT_EQ(attention_plan_summary(graph).row_edges, 0);
  const AttentionCase c = tile_case(graph, DType::float32, {1, 64, 64});
  const MeasuredTraffic traffic = traffic_of(c);
  const double expected = tile_forward_cost(counts_of(graph, false), {.rows = graph.num_dst()}).load_sectors;
  EXPECT_NEAR(static_cast<double>(traffic.forward.load_sectors), expected, 0.05 * expected)
      << "steps that are not full touch a few sectors more than their share";
  EXPECT_EQ(traffic.backward.bank_conflicts, 0);
  expect_fraction_of_rows(c, 4, 4);
}

/// Passes beyond the first that a warp needs to read the products of its columns' relations, for one of its four rows.
std::int64_t conflicts_of_read(const simt::AttentionTilePlan& plan, const simt::TileStep& step, int quad, int row) {
  constexpr std::uint32_t banks = 32;
  std::set<std::uint32_t> places;
  for (int column = 0; column < step.num_columns; ++column) {
    const std::int64_t word = std::int64_t{4} * step.column_begin + std::int64_t{quad} * step.num_columns + column;
    const simt::RelationPlaces place = simt::place_of_lane(plan.relation_places[static_cast<std::size_t>(word)], row);
    if (place < simt::step_relations) places.insert(place);
  }
  std::map<std::uint32_t, std::int64_t> passes;
  for (const std::uint32_t place : places) ++passes[place % banks];
  std::int64_t most = 1;
  for (const auto& [bank, count] : passes) most = std::max(most, count);
  return most - 1;
}

// Not by the emulator's count: it takes the n-th read of each lane for one request, and lanes whose column has no
// relation in a row skip reads that others make.
TEST(EmulatedTileTraffic, NoReadOfRelationsOfAPartitionGraphMeetsABankTwice) {
  for (const std::int64_t length : {100, 200}) {
    const Graph graph = pattern("bpt", {{"k", 64}}, length, true);
    const simt::AttentionTilePlan plan = simt::make_attention_tile_plan(*attention_plan(graph, true), 1 << 17);
    std::int64_t listed = 0, conflicts = 0;
    for (const simt::TileStep& step : plan.steps) {
      listed += step.num_relations;
      for (int read = 0; read < 16; ++read) conflicts += conflicts_of_read(plan, step, read / 4, read % 4);
    }
    EXPECT_GT(listed, 0);
    EXPECT_EQ(conflicts, 0);
  }
}

TEST(EmulatedTileTraffic, OfRelationsIsAFractionOfThatOfRows) {
  const Graph graph = pattern("full", {{"max_distance", 20}}, 64, false);
  ASSERT_EQ(attention_plan_summary(graph, true).row_edges, 0);
  const AttentionCase c = tile_case(graph, DType::float32, {1, 64, 64}, {.relation_keys = true});
  EXPECT_EQ(traffic_of(c).backward.bank_conflicts, 0);
  // Every step reads the relations of its list, in backward twice.
  expect_fraction_of_rows(c, 3, 2);
}

}  // namespace
}  // namespace bough
