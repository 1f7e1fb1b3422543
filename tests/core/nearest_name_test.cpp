#include "src/core/nearest_name.h"

#include <gtest/gtest.h>

#include <vector>

namespace bough {
namespace {

const std::vector<std::string> known = {"version", "run", "graph", "generators", "bench"};

TEST(NearestName, FindsTheNameBehindATypo) {
  EXPECT_EQ(nearest_name("verison", known), "version");
  EXPECT_EQ(nearest_name("grpah", known), "graph");
  EXPECT_EQ(nearest_name("generator", known), "generators");
  EXPECT_EQ(nearest_name("rn", known), "run");
}

TEST(NearestName, SaysNothingWhenNothingIsClose) {
  EXPECT_EQ(nearest_name("transformer", known), "");
  EXPECT_EQ(nearest_name("", known), "");
  EXPECT_EQ(nearest_name("x", known), "");
  EXPECT_EQ(nearest_name("run", {}), "");
}

TEST(NearestName, KnowsCapitalsInitialsAndWordsBeforeAName) {
  const std::vector<std::string> keys = {"k", "bpt", "heads", "steps", "learning_rate", "weight_decay"};
  EXPECT_EQ(nearest_name("K", keys), "k");
  EXPECT_EQ(nearest_name("BPT", keys), "bpt");
  EXPECT_EQ(nearest_name("lr", keys), "learning_rate");
  EXPECT_EQ(nearest_name("LR", keys), "learning_rate");
  EXPECT_EQ(nearest_name("num_heads", keys), "heads");
  EXPECT_EQ(nearest_name("max_steps", keys), "steps");
  EXPECT_EQ(nearest_name("batch_size", keys), "");
  EXPECT_EQ(nearest_name("w", keys), "");
  EXPECT_EQ(nearest_name("BPT", keys, 1), "") << "where only slips of so many letters count";
}

TEST(NearestName, CountsASwapOfNeighboursOnce) {
  const std::vector<std::string> names = {"abc"};
  EXPECT_EQ(nearest_name("acb", names), "abc");
}

TEST(NearestName, AllowsNoMoreEditsThanItIsTold) {
  const std::vector<std::string> names = {"edge_types"};
  EXPECT_EQ(nearest_name("node_types", names), "edge_types");
  EXPECT_EQ(nearest_name("node_types", names, 1), "");
  EXPECT_EQ(nearest_name("edge_type", names, 1), "edge_types");
}

TEST(NearestName, TakesTheFirstOfEquals) {
  const std::vector<std::string> names = {"cat", "bat"};
  EXPECT_EQ(nearest_name("hat", names), "cat");
}

TEST(NearestName, IsAHintAtTheEndOfAnErrorOrNothing) {
  const std::vector<std::string> names{"graph", "run"};
  EXPECT_EQ(did_you_mean("grpah", names), ", did you mean 'graph'?");
  EXPECT_EQ(did_you_mean("transformer", names), "");
}

}  // namespace
}  // namespace bough
