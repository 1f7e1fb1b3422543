#include "bough/mp/message_reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bough/ops/gspmm.h"
#include "kernels/reference/message_passing.h"
#include "tests/kernels/message_passing_cases.h"
#include "tests/support/compare.h"
#include "tests/support/errors.h"
#include "tests/support/gradient.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using namespace test;
using testing::HasSubstr;

struct SquaredDistance {
  template <typename T>
  T operator()(T u, T v) const {
    return (u - v) * (u - v);
  }
  template <typename T>
  std::array<T, 2> gradient(T u, T v) const {
    return {2 * (u - v), 2 * (v - u)};
  }
};

struct Gated {
  template <typename T>
  T operator()(T u, T v, T e) const {
    return u > v ? u * e : v * e * e;
  }
  template <typename T>
  std::array<T, 3> gradient(T u, T v, T e) const {
    return u > v ? std::array<T, 3>{e, 0, u} : std::array<T, 3>{0, e * e, 2 * v * e};
  }
};

struct Product {
  template <typename T>
  T operator()(T u, T e) const {
    return u * e;
  }
};

struct Twice {
  float operator()(float u) const { return 2 * u; }
};

/// What an edge does depends on its type.
struct ByType {
  template <typename T>
  T operator()(mp::Edge edge, T u, T v) const {
    return edge.type == 0 ? u * v : static_cast<T>(edge.type) * u;
  }
  template <typename T>
  std::array<T, 2> gradient(mp::Edge edge, T u, T v) const {
    return edge.type == 0 ? std::array<T, 2>{v, u} : std::array<T, 2>{static_cast<T>(edge.type), 0};
  }
};

/// The same with the type as a feature of the edge.
struct ByFeature {
  template <typename T>
  T operator()(T u, T v, T type) const {
    return type == 0 ? u * v : type * u;
  }
  template <typename T>
  std::array<T, 3> gradient(T u, T v, T type) const {
    return type == 0 ? std::array<T, 3>{v, u, 0} : std::array<T, 3>{type, 0, u};
  }
};

struct TimesType {
  float operator()(mp::Edge edge, float e) const { return static_cast<float>(edge.type) * e; }
};

/// The square root of the sum of squares: a reduction with a last step and a derivative of its own.
struct Norm {
  template <typename T>
  static constexpr T identity() {
    return 0;
  }
  template <typename T>
  T operator()(T total, T message) const {
    return total + message;
  }
  bool has_finish() const { return true; }
  template <typename T>
  T finish(T total, std::int64_t) const {
    return std::sqrt(total);
  }
  template <typename T>
  T derivative(T, T result) const {
    return 1 / (2 * result);
  }
};

TEST(MessageReduce, RunsAFunctorOfTheUsers) {
  const Graph graph = Graph::from_edges({0, 1, 1}, {2, 2, 0}, {.num_nodes = 3});
  const Tensor x = Tensor::from_vector<float>({1, 5, 4}, {3, 1});
  expect_close(message_reduce<SquaredDistance, mp::Sum>(graph, {.source = x, .destination = x}), {16, 0, 9 + 1});
  expect_close(message_reduce<SquaredDistance, mp::Mean>(graph, {.source = x, .destination = x}), {16, 0, 5});
  expect_close(message_reduce<SquaredDistance, mp::Max>(graph, {.source = x, .destination = x}), {16, 0, 9});
  expect_close(message_reduce<SquaredDistance, Norm>(graph, {.source = x, .destination = x}), {4, 0, std::sqrt(10.0)});
  expect_close(message_reduce<Twice, mp::Min>(graph, {.source = x}, {.empty_value = -1}), {10, -1, 2});
}

TEST(MessageReduce, AgreesWithTheBuiltInToTheLastBitOnEveryGraph) {
  for (const zoo::NamedGraph& named : message_passing_graphs()) {
    SCOPED_TRACE(named.name);
    for (const std::int64_t columns : {1, 3}) {
      const Tensor u = features(named.graph, Target::source, {2, 3}, DType::float32, 1);
      const Tensor e = features(named.graph, Target::edge, {2, columns}, DType::float32, 2);
      expect_same_bits(message_reduce<Product, mp::Sum>(named.graph, {.source = u, .edge = e}),
                       gspmm(named.graph, BinaryOp::mul, ReduceOp::sum, u, e));
      expect_same_bits(message_reduce<Product, mp::Max>(named.graph, {.source = u, .edge = e}),
                       gspmm(named.graph, BinaryOp::mul, ReduceOp::max, u, e));
    }
  }
}

Tensor types_as_features(const Graph& graph) {
  const std::vector<float> types(graph.edge_types().begin(), graph.edge_types().end());
  return Tensor::from_vector(types, {graph.num_edges(), 1});
}

TEST(MessageReduce, AMessageMayDependOnTheTypeOfItsEdge) {
  const Graph graph = Graph::from_edges({0, 1, 1}, {2, 2, 0}, {.num_nodes = 3, .edge_types = {0, 3, 5}});
  const Tensor x = Tensor::from_vector<float>({1, 5, 4}, {3, 1});
  expect_close(message_reduce<ByType, mp::Sum>(graph, {.source = x, .destination = x}), {25, 0, 1 * 4 + 3 * 5});
  expect_close(message_reduce<TimesType, mp::Max>(graph, {.edge = Tensor::from_vector<float>({7, 1, -1}, {3})}),
               {-5, 0, 3});
  const auto lambda = [](mp::Edge edge, auto u) { return edge.type == 3 ? u : -u; };
  expect_close(message_reduce(graph, {.source = x}, {}, lambda, mp::Sum{}), {-5, 0, 5 - 1});
}

template <typename Reduce>
void expect_types_to_act_as_features(const Graph& graph, const std::vector<std::int64_t>& u,
                                     const std::vector<std::int64_t>& v) {
  const auto run = [&](const auto& function) {
    Tensor source = features(graph, Target::source, u, DType::float32, 1).set_requires_grad(true);
    Tensor destination = features(graph, Target::destination, v, DType::float32, 2).set_requires_grad(true);
    const Tensor result = function(MessageOperands{.source = source, .destination = destination});
    result.backward({.gradient = random_tensor(result.shape())});
    return std::vector<Tensor>{result, source.grad(), destination.grad()};
  };
  const auto typed = run([&](const MessageOperands& x) { return message_reduce<ByType, Reduce>(graph, x); });
  const auto feature = run([&](const MessageOperands& x) {
    return message_reduce<ByFeature, Reduce>(
        graph, {.source = x.source, .destination = x.destination, .edge = types_as_features(graph)});
  });
  for (std::size_t i = 0; i < typed.size(); ++i) expect_close(typed[i], feature[i]);
}

TEST(MessageReduce, TypesOfEdgesActAsFeaturesOfEdgesDoWithGradients) {
  const Graph small = zoo::random_graph(9, 60, 3, 4), split = zoo::random_graph(3, 5000, 4, 3);
  for (const Graph& graph : {small, small.reverse(), split}) {
    expect_types_to_act_as_features<mp::Sum>(graph, {5}, {5});
    expect_types_to_act_as_features<mp::Mean>(graph, {2, 3}, {2, 1});
    expect_types_to_act_as_features<mp::Max>(graph, {2, 1}, {3});
    expect_types_to_act_as_features<Norm>(graph, {}, {3});
  }
  expect_gradient(
      [&](const std::vector<Tensor>& x) {
        return message_reduce<ByType, mp::Sum>(small, {.source = x[0], .destination = x[1]});
      },
      {features(small, Target::source, {2, 3}, DType::float64, 1),
       features(small, Target::destination, {3}, DType::float64, 2)});
}

TEST(MessageReduce, RefusesAMessageThatAsksForTypesOfAGraphWithoutThem) {
  const Graph graph = zoo::chain(3);
  EXPECT_EQ(
      error_message<GraphError>([&] { message_reduce<TimesType>(graph, {.edge = ones({2})}); }),
      "[message_reduce] the message needs a graph with edge types, and this one has none; give edge_types when it "
      "is made");
  EXPECT_EQ(message_reduce<TimesType>(Graph::from_edges({}, {}, {.num_nodes = 2}), {.edge = zeros({0, 3})}).shape(),
            (Shape{2, 3}));
}

TEST(MessageReduce, TakesALambdaOfAnyTypes) {
  const Graph graph = zoo::chain(3);
  const Tensor x = Tensor::from_vector<float>({1, 5, 4}, {3, 1});
  const auto difference = [](auto u, auto v) { return u - v; };
  expect_close(message_reduce(graph, {.source = x, .destination = x}, {}, difference, mp::Sum{}), {0, -4, 1});
}

void check_sum_of_three(const Graph& graph, const std::vector<std::int64_t>& u, const std::vector<std::int64_t>& v,
                        const std::vector<std::int64_t>& e) {
  expect_gradient(
      [&](const std::vector<Tensor>& x) {
        return message_reduce<Gated, mp::Sum>(graph, {.source = x[0], .destination = x[1], .edge = x[2]});
      },
      {features(graph, Target::source, u, DType::float64, 1),
       features(graph, Target::destination, v, DType::float64, 2),
       features(graph, Target::edge, e, DType::float64, 3)});
}

template <typename Reduce>
void check_distance(const Graph& graph, const std::vector<std::int64_t>& u, const std::vector<std::int64_t>& v) {
  expect_gradient(
      [&](const std::vector<Tensor>& x) {
        return message_reduce<SquaredDistance, Reduce>(graph, {.source = x[0], .destination = x[1]});
      },
      {random_tensor(features_for(graph, Target::source, u), DType::float64, 1),
       random_tensor(features_for(graph, Target::destination, v), DType::float64, 2)});
}

TEST(MessageReduce, GradientMatchesFiniteDifferences) {
  const Graph graph = zoo::random_bipartite(5, 6, 24, 1);
  check_sum_of_three(graph, {2, 3}, {2, 3}, {2, 3});
  check_distance<mp::Max>(graph, {2, 3}, {2, 3});
}

TEST(MessageReduce, GradientMatchesFiniteDifferencesForReductionsWithALastStep) {
  const Graph graph = zoo::random_bipartite(5, 6, 24, 1);
  check_distance<mp::Mean>(graph, {3}, {3});
  check_distance<mp::Mean>(graph, {3}, {1});
  check_distance<Norm>(graph, {3}, {3});
  check_distance<Norm>(graph, {1}, {3});
}

TEST(MessageReduce, GradientIsSummedOverBroadcastAxes) {
  const Graph graph = zoo::random_bipartite(5, 6, 24, 2);
  check_sum_of_three(graph, {2, 3}, {3}, {2, 1});
  check_sum_of_three(graph, {1, 3}, {2, 1}, {2, 3});
  check_sum_of_three(graph, {2, 1}, {1}, {2, 17});
  check_sum_of_three(graph, {}, {}, {});
  check_distance<mp::Max>(graph, {1, 3}, {2, 1});
}

TEST(MessageReduce, IsBitwiseEqualForOneTwoAndSevenThreads) {
  const Graph graph = zoo::power_law(2000, 30000, 1);
  expect_same_bits_for_threads([&] {
    Tensor x = features(graph, Target::source, {37}, DType::float32, 1).set_requires_grad(true);
    Tensor w = features(graph, Target::edge, {1}, DType::float32, 2).set_requires_grad(true);
    const Tensor result = message_reduce<Gated, mp::Sum>(graph, {.source = x, .destination = x, .edge = w});
    result.backward({.gradient = random_tensor(result.shape())});
    return std::vector<Tensor>{result, x.grad(), w.grad()};
  });
}

TEST(MessageReduce, SaysWhatTheFunctorLacks) {
  const Graph graph = zoo::chain(3);
  Tensor x = ones({3, 2});
  EXPECT_THAT(error_message<ShapeError>([&] { message_reduce<SquaredDistance>(graph, {.source = x}); }),
              HasSubstr("1 operands"));
  EXPECT_THAT(error_message<TypeError>([&] { message_reduce<Twice>(graph, {.source = ones({3}, DType::float64)}); }),
              HasSubstr("float64"));
  EXPECT_THROW(message_reduce<Twice>(graph, {}), ShapeError);
  EXPECT_THROW(message_reduce<Twice>(graph, {.source = ones({4})}), ShapeError);
  x.set_requires_grad(true);
  EXPECT_THAT(error_message<AutogradError>([&] { message_reduce<Twice>(graph, {.source = x}); }),
              HasSubstr("gradient"));
  EXPECT_THAT(error_message<AutogradError>(
                  [&] { message_reduce<SquaredDistance, mp::Product>(graph, {.source = x, .destination = x}); }),
              HasSubstr("derivative"));
}

TEST(MessageReduce, WorksWithoutNodesEdgesOrFeatures) {
  EXPECT_EQ(message_reduce<Twice>(Graph(), {.source = zeros({0, 4})}).shape(), (Shape{0, 4}));
  EXPECT_EQ(message_reduce<Twice>(zoo::chain(3), {.source = zeros({3, 0})}).shape(), (Shape{3, 0}));
}

}  // namespace
}  // namespace bough
