#include "tests/cuda/functors.h"

#include <gmock/gmock.h>

#include "bough/core/errors.h"
#include "bough/core/launch_trace.h"
#include "tests/cuda/same_as_cpu.h"
#include "tests/kernels/message_passing_cases.h"
#include "tests/support/errors.h"

/// message_reduce with functors of the user's own on a GPU, against the CPU.
namespace bough {
namespace {

using test::expect_same_as_cpu;
using test::features;
using testing::Contains;
using testing::HasSubstr;

class GpuFunctors : public test::GpuTest {};

using Columns = std::vector<std::int64_t>;

void check_distances(const Graph& graph, const Columns& u, const Columns& v) {
  const std::vector<Tensor> inputs{features(graph, Target::source, u, DType::float64, 1),
                                   features(graph, Target::destination, v, DType::float64, 2)};
  const auto check = [&](const auto& function) {
    expect_same_as_cpu(inputs, [&](const std::vector<Tensor>& x) {
      return function(graph, MessageOperands{.source = x[0], .destination = x[1]});
    });
  };
  check([](const Graph& g, const MessageOperands& x) { return test::mean_distance(g, x, {.empty_value = 7}); });
  check(test::largest_distance);
  check(test::root_of_distances);
}

void check_gated(const Graph& graph, const Columns& u, const Columns& v, const Columns& e) {
  constexpr DType dtype = DType::float32;
  expect_same_as_cpu({features(graph, Target::source, u, dtype, 1), features(graph, Target::destination, v, dtype, 2),
                      features(graph, Target::edge, e, dtype, 3)},
                     [&](const std::vector<Tensor>& x) {
                       return test::sum_of_gated(graph, {.source = x[0], .destination = x[1], .edge = x[2]});
                     });
}

TEST_F(GpuFunctors, MatchTheCpuOnEveryGraph) {
  for (const zoo::NamedGraph& named : test::message_passing_graphs()) {
    SCOPED_TRACE(named.name);
    check_distances(named.graph, {3}, {3});
    check_gated(named.graph, {2, 3}, {2, 3}, {2, 3});
    expect_same_as_cpu(
        {features(named.graph, Target::edge, {4}, DType::float32, 1)},
        [&](const std::vector<Tensor>& x) { return test::least_multiple(named.graph, {.edge = x[0]}, -1.5); });
  }
}

TEST_F(GpuFunctors, MatchTheCpuWithFeaturesThatBroadcast) {
  const Graph graph = zoo::random_bipartite(5, 6, 24, 2);
  check_gated(graph, {2, 3}, {3}, {2, 1});
  check_gated(graph, {1, 3}, {2, 1}, {2, 3});
  check_gated(graph, {2, 1}, {1}, {2, 40});
  check_gated(graph, {}, {}, {});
  check_distances(graph, {2, 1}, {2, 40});
}

TEST_F(GpuFunctors, SeeTheTypesOfEdgesAsOnTheCpu) {
  for (const Graph& graph : {zoo::random_graph(12, 60, 3, 4), zoo::random_graph(3, 900, 4, 3)}) {
    for (const Columns& v : {Columns{2, 3}, Columns{1}, Columns{2, 1}}) {
      const std::vector<Tensor> inputs{features(graph, Target::source, {2, 3}, DType::float32, 1),
                                       features(graph, Target::destination, v, DType::float32, 2)};
      for (const auto& function : {test::sum_by_type, test::largest_by_type}) {
        expect_same_as_cpu(inputs, [&](const std::vector<Tensor>& x) {
          return function(graph, {.source = x[0], .destination = x[1]});
        });
      }
    }
  }
  const Tensor x = test::random_tensor({5, 2}).to(Device::cuda());
  EXPECT_THAT(test::error_message<GraphError>(
                  [&] { test::sum_by_type(zoo::random_graph(5, 9, 1), {.source = x, .destination = x}); }),
              HasSubstr("needs a graph with edge types"));
}

TEST_F(GpuFunctors, RunOnTheGpuThroughTheOneLaunchFunction) {
  std::vector<std::string> kernels;
  {
    const LaunchTrace trace([&](const KernelLaunch& launch) { kernels.emplace_back(launch.kernel); });
    const Tensor x = test::random_tensor({20, 3}, DType::float64).to(Device::cuda());
    const Tensor result = test::mean_distance(zoo::random_graph(20, 150, 3), {.source = x, .destination = x});
    EXPECT_EQ(result.device(), Device::cuda());
  }
  EXPECT_THAT(kernels, Contains("message_reduce"));
}

TEST_F(GpuFunctors, SayWhatTheyLackAsOnTheCpu) {
  const Graph graph = zoo::random_graph(5, 9, 1);
  const Tensor x = test::random_tensor({5, 2}).to(Device::cuda()).set_requires_grad(true);
  EXPECT_THAT(
      test::error_message<AutogradError>([&] { test::sum_without_gradient(graph, {.source = x, .destination = x}); }),
      HasSubstr("gradient(values...)"));
  EXPECT_THAT(test::error_message<ShapeError>([&] { test::sum_of_gated(graph, {.source = x, .destination = x}); }),
              HasSubstr("2 operands"));
}

struct Copied {
  float operator()(float u) const { return u; }
};

TEST_F(GpuFunctors, CompiledForTheCpuAloneSayWhatToDo) {
  const Tensor x = test::random_tensor({5, 2}).to(Device::cuda());
  EXPECT_THAT(
      test::error_message<DeviceError>([&] { message_reduce<Copied>(zoo::random_graph(5, 9, 1), {.source = x}); }),
      HasSubstr("bough/cuda/message_reduce.h"));
}

}  // namespace
}  // namespace bough
