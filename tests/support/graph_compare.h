#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bough/graph/graph.h"

namespace bough::test {

/// Same kind, counts, edges in the same order, types and parts.
inline void expect_same_graph(const Graph& actual, const Graph& expected) {
  using testing::ElementsAreArray;
  EXPECT_EQ(actual.is_bipartite(), expected.is_bipartite());
  EXPECT_EQ(actual.num_src(), expected.num_src());
  EXPECT_EQ(actual.num_dst(), expected.num_dst());
  EXPECT_EQ(actual.num_edge_types(), expected.num_edge_types());
  EXPECT_THAT(actual.coo().src, ElementsAreArray(expected.coo().src));
  EXPECT_THAT(actual.coo().dst, ElementsAreArray(expected.coo().dst));
  EXPECT_THAT(actual.edge_types(), ElementsAreArray(expected.edge_types()));
  EXPECT_THAT(actual.src_offsets(), ElementsAreArray(expected.src_offsets()));
  EXPECT_THAT(actual.dst_offsets(), ElementsAreArray(expected.dst_offsets()));
  EXPECT_THAT(actual.edge_offsets(), ElementsAreArray(expected.edge_offsets()));
}

}  // namespace bough::test
