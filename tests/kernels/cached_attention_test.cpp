#include "kernels/ops/cached_attention.h"

#include <gtest/gtest.h>

#include <array>

#include "bough/ops/arrange.h"
#include "tests/support/compare.h"
#include "tests/support/random_tensor.h"
#include "tests/support/simd_targets.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using namespace bough::test;

constexpr std::int64_t heads = 4, dim = 40, cached = 50, relations = 7, distances = 5;

/// Destinations with none, few and many edges, some rows twice.
CachedEdges some_edges(std::uint64_t seed, std::initializer_list<std::int64_t> degrees = {3, 0, 1, 45, 100}) {
  CachedEdges edges;
  for (const std::int64_t degree : degrees) {
    ++seed;
    const auto rows = random_indices({degree}, 0, cached, DType::int32, 3 * seed).to_vector<std::int32_t>();
    const auto types = random_indices({degree}, 0, relations, DType::int32, 3 * seed + 1).to_vector<std::int32_t>();
    const auto far = random_indices({degree}, 0, distances, DType::int32, 3 * seed + 2).to_vector<std::int32_t>();
    for (std::size_t i = 0; i < rows.size(); ++i) edges.add(rows[i], types[i], far[i]);
    edges.end_destination();
  }
  return edges;
}

class CachedAttention : public testing::Test {
 protected:
  const Tensor queries = random_tensor({5, 3 * dim}, DType::float32, 1);
  const Tensor cache = random_tensor({cached, 2 * dim}, DType::float32, 2);
  const Tensor relation_keys = random_tensor({relations, dim / heads}, DType::float32, 3);
  const Tensor edge_weights = random_uniform({distances, heads}, 0, 1, DType::float32, 4);
};

TEST_F(CachedAttention, EqualsGraphAttentionOnAGraphOfTheStep) {
  on_every_simd_target(Device::cpu(), [&] {
    for (const Tensor& keys : {Tensor(), relation_keys}) {
      for (const Tensor& weights : {Tensor(), edge_weights}) {
        const std::array<CachedEdges, 2> both{some_edges(1), some_edges(9)};
        const CachedAttentionOptions options{
            .heads = heads, .scale = 0.3, .relation_keys = keys, .edge_weights = weights};
        const auto one = std::span(both).first(1);
        expect_close(cached_attention(one, queries, cache, options),
                     cached_attention_on_graph(one, queries, cache, options));
        if (weights.defined()) continue;
        expect_close(cached_attention(both, queries, cache, options),
                     cached_attention_on_graph(both, queries, cache, options));
      }
    }
  });
}

TEST_F(CachedAttention, OfTheFirstDestinationsIsThatOfAllOfThem) {
  const std::array<CachedEdges, 1> edges{some_edges(1)};
  CachedAttentionOptions options{.heads = heads, .scale = 0.3, .relation_keys = relation_keys};
  const Tensor all = cached_attention(edges, queries, cache, options);
  options.destinations = 4;
  expect_same_bits(cached_attention(edges, queries, cache, options), all.rows(0, 4));
  expect_close(cached_attention_on_graph(edges, queries, cache, options), all.rows(0, 4));
}

TEST_F(CachedAttention, ADestinationDoesNotSeeTheOthers) {
  const Tensor together = cached_attention(std::array{some_edges(1)}, queries, cache, {.heads = heads});
  CachedEdges last = some_edges(5, {100});
  const Tensor alone = cached_attention(std::array{last}, queries.rows(4, 5), cache, {.heads = heads});
  expect_same_bits(alone, together.rows(4, 5));
  last.clear();
  EXPECT_EQ(last.num_destinations(), 0);
  EXPECT_EQ(cached_attention(std::array{last}, queries, cache, {.heads = heads}).shape(), (Shape{0, dim}));
}

TEST_F(CachedAttention, IsTheSameForAnyNumberOfThreads) {
  CachedEdges many;
  for (int i = 0; i < 5; ++i) {
    for (std::int32_t e = 0; e < 5000; ++e) many.add((e * 7 + i) % cached, e % relations);
    many.end_destination();
  }
  expect_same_bits_for_threads([&] {
    return cached_attention(std::array{many}, queries, cache, {.heads = heads, .relation_keys = relation_keys});
  });
}

TEST_F(CachedAttention, StoresKeysAndValuesWhereTheyBelong) {
  Tensor target = zeros({6, 2 * dim});
  store_cached_rows(queries.rows(0, 2), dim, std::array{4, 1}, target);
  const Tensor nothing = zeros({1, 2 * dim}), stored = slice(queries, 1, dim, 3 * dim);
  expect_same_bits(target, concatenate({nothing, stored.rows(1, 2), nothing, nothing, stored.rows(0, 1), nothing}, 0));
}

}  // namespace
}  // namespace bough
