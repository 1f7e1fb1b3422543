#include <gtest/gtest.h>

#include <bit>
#include <nlohmann/json.hpp>
#include <string_view>

#include "bough/core/memory.h"
#include "bough/graph/graph_generator.h"
#include "bough/ops/activation.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/attention_plan.h"
#include "bough/ops/cast.h"
#include "bough/ops/dropout.h"
#include "bough/ops/edge_softmax.h"
#include "bough/ops/gsddmm.h"
#include "bough/ops/gspmm.h"
#include "bough/ops/layer_norm.h"
#include "bough/ops/matmul.h"
#include "tests/cuda/same_as_cpu.h"
#include "tests/kernels/graph_attention_cases.h"
#include "tests/support/errors.h"

/// Graph and dense operations on a GPU, against the CPU.
namespace bough {
namespace {

using test::all_extras;
using test::attention_case;
using test::AttentionCase;
using test::expect_same_as_cpu;
using test::with_types;

class Gpu : public test::GpuTest {};

void expect_same_as_cpu(AttentionCase c) {
  std::vector<Tensor> inputs;
  for (const Tensor* tensor : test::tensors_of(c)) inputs.push_back(*tensor);
  expect_same_as_cpu(inputs, [&](const std::vector<Tensor>& x) {
    AttentionCase here = c;
    const auto places = test::tensors_of(here);
    for (std::size_t i = 0; i < x.size(); ++i) *places[i] = x[i];
    return test::attend(here);
  });
}

TEST_F(Gpu, CopiesThereAndBack) {
  const Tensor x = test::random_tensor({1000, 7});
  test::expect_same_bits(x.to(Device::cuda()).to(Device::cpu()), x);
  EXPECT_GT(memory_statistics(Device::cuda()).bytes_peak, 0);
}

TEST_F(Gpu, TensorsAreFilled) {
  Tensor x = Tensor::empty({10}, DType::float32, Device::cuda());
  x.fill(3);
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(10, 3.0f));
}

TEST_F(Gpu, AttentionMatchesTheCpuOnEveryGraph) {
  for (const zoo::NamedGraph& named : zoo::all(300)) {
    SCOPED_TRACE(named.name);
    expect_same_as_cpu(attention_case(with_types(named.graph, 3), DType::float64, {2, 8, 8}, {.relation_keys = true}));
  }
}

TEST_F(Gpu, AttentionTakesEveryOption) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const auto& [name, extras] : all_extras()) {
      SCOPED_TRACE(name);
      expect_same_as_cpu(attention_case(with_types(zoo::random_graph(15, 150, 2), 4), dtype, {2, 64, 12}, extras));
    }
  }
}

/// A graph whose plan has tiles of every kind, and relations.
Graph partition_graph() {
  return generators().make("bpt", {{"k", 4}, {"alignment", "pair"}})->build({.length = 60, .causal = false}).graph;
}

TEST_F(Gpu, AttentionMatchesTheCpuWithTilesAndWithRows) {
  ASSERT_GT(attention_plan_summary(partition_graph(), true).tiles, 0);
  for (const AttentionKernel kernel : {AttentionKernel::automatic, AttentionKernel::tile, AttentionKernel::row}) {
    for (const bool deterministic : {true, false}) {
      for (const DType dtype : {DType::float32, DType::float64}) {
        AttentionCase c = attention_case(partition_graph(), dtype, {2, 12, 8}, {.relation_keys = true});
        c.options.kernel = kernel;
        c.options.deterministic = deterministic;
        expect_same_as_cpu(c);
      }
    }
  }
}

TEST_F(Gpu, AttentionOfBfloat16IsNearThatOfFloat) {
  for (const AttentionKernel kernel : {AttentionKernel::tile, AttentionKernel::row, AttentionKernel::unfused}) {
    AttentionCase c = attention_case(partition_graph(), DType::float32, {2, 8, 8}, {.relation_keys = true});
    c.options.kernel = kernel;
    for (Tensor* tensor : test::tensors_of(c)) *tensor = cast(cast(*tensor, DType::bfloat16), DType::float32);
    AttentionCase there = test::moved(c, Device::cuda());
    for (Tensor* tensor : test::tensors_of(there)) *tensor = cast(*tensor, DType::bfloat16);
    const Tensor out = test::attend(there), expected_out = test::attend(c);
    EXPECT_EQ(out.dtype(), DType::bfloat16);
    test::expect_close(out, expected_out, test::Tolerance{.relative = 0x1p-8, .absolute = 1e-6});
    const Tensor d_out = cast(test::random_tensor(out.shape(), DType::float32, 20), DType::bfloat16);
    const std::vector<Tensor> gradients = test::gradients_of(there, d_out.to(Device::cuda()));
    const std::vector<Tensor> expected = test::gradients_of(c, cast(d_out, DType::float32));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(gradients[i].dtype(), DType::bfloat16);
      test::expect_close(gradients[i], expected[i], test::Tolerance{.relative = 0x1p-8, .absolute = 0x1p-6});
    }
  }
}

TEST_F(Gpu, AttentionOnTensorCoresIsNearThatOfFloat) {
  AttentionCase c = attention_case(partition_graph(), DType::float32, {2, 16, 16}, {.relation_keys = true});
  c.options.kernel = AttentionKernel::tile;
  for (Tensor* tensor : test::tensors_of(c)) *tensor = cast(cast(*tensor, DType::bfloat16), DType::float32);
  AttentionCase there = test::moved(c, Device::cuda());
  for (Tensor* tensor : test::tensors_of(there)) *tensor = cast(*tensor, DType::bfloat16);
  there.options.tensor_cores = true;
  try {
    test::expect_close(test::attend(there), test::attend(c), test::Tolerance{.relative = 0x1p-8, .absolute = 0x1p-8});
  } catch (const DeviceError& error) {
    // Only a GPU or a build without such cores is a reason; any other error is a failure.
    if (std::string_view(error.what()).find("has no tensor cores") == std::string_view::npos) throw;
    GTEST_SKIP() << error.what();
  }
  const Tensor d_out = cast(test::random_tensor(c.v.shape(), DType::float32, 20), DType::bfloat16);
  const std::vector<Tensor> gradients = test::gradients_of(there, d_out.to(Device::cuda()));
  const std::vector<Tensor> expected = test::gradients_of(c, cast(d_out, DType::float32));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    test::expect_close(gradients[i], expected[i], test::Tolerance{.relative = 0x1p-7, .absolute = 0x1p-5});
  }
}

TEST_F(Gpu, CastsToBfloat16AsTheCpuDoes) {
  std::vector<float> values;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    for (const std::uint32_t low : {0u, 1u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      values.push_back(std::bit_cast<float>(bits << 16 | low));
    }
  }
  const Tensor x = Tensor::from_vector(values, {static_cast<std::int64_t>(values.size())});
  const Tensor here = cast(x, DType::bfloat16), there = cast(x.to(Device::cuda()), DType::bfloat16);
  test::expect_same_bits(there.to(Device::cpu()), here);
  test::expect_same_bits(cast(there, DType::float32).to(Device::cpu()), cast(here, DType::float32));
}

TEST_F(Gpu, ArrangesAndAddsUpBfloat16) {
  const Tensor x = cast(test::random_tensor({6, 5}, DType::float32, 1), DType::bfloat16);
  const Tensor there = x.to(Device::cuda());
  test::expect_same_bits(transpose(there, 0, 1).to(Device::cpu()), transpose(x, 0, 1));
  test::expect_same_bits(there.clone().accumulate(there, 0.3).to(Device::cpu()), x.clone().accumulate(x, 0.3));
  test::expect_same_bits(zeros({3}, DType::bfloat16, Device::cuda()).fill(1.5).to(Device::cpu()),
                         full({3}, 1.5, DType::bfloat16));
}

TEST_F(Gpu, AttentionTilesNameTheirWidestHeads) {
  AttentionCase c = attention_case(partition_graph(), DType::float64, {1, 33, 8});
  for (Tensor* tensor : test::tensors_of(c)) *tensor = tensor->to(Device::cuda());
  EXPECT_NO_THROW(test::attend(c)) << "rows take them";
  c.options.kernel = AttentionKernel::tile;
  EXPECT_EQ(test::error_message<DeviceError>([&] { test::attend(c); }),
            "[graph_attention] tiles take heads of up to 32 features on a GPU, these have 33; leave the choice to "
            "AttentionKernel::automatic, computing with float64 [120, 1, 33] on cuda:0");
}

TEST_F(Gpu, UnfusedAttentionAndItsWeightsMatchTheCpu) {
  for (const auto& [name, extras] : all_extras()) {
    SCOPED_TRACE(name);
    AttentionCase c = attention_case(with_types(zoo::random_graph(9, 40, 2), 4), DType::float64, {2, 8, 6}, extras);
    c.options.kernel = AttentionKernel::unfused;
    expect_same_as_cpu(c);
    AttentionCase there = c;
    for (Tensor* tensor : test::tensors_of(there)) *tensor = tensor->to(Device::cuda());
    const auto weights = [](const AttentionCase& on) {
      return attention_weights(on.graph, on.q, on.k, on.options).to(Device::cpu());
    };
    test::expect_close(weights(there), weights(c));
  }
}

TEST_F(Gpu, AttentionIsBitwiseEqualFromRunToRun) {
  AttentionCase c = attention_case(zoo::power_law(200, 2000, 4), DType::float32, {2, 64, 64});
  for (Tensor* tensor : test::tensors_of(c)) *tensor = tensor->to(Device::cuda());
  test::expect_same_bits(test::attend(c).to(Device::cpu()), test::attend(c).to(Device::cpu()));
}

TEST_F(Gpu, MessagesMatchTheCpuForEveryOperator) {
  const Graph graph = zoo::random_graph(20, 150, 3);
  for (const BinaryOp op : {BinaryOp::add, BinaryOp::sub, BinaryOp::mul, BinaryOp::dot}) {
    SCOPED_TRACE(name_of(op));
    const Tensor u = test::random_distinct({20, 3, 4}, DType::float64, 1),
                 e = test::random_distinct({150, 1, 4}, DType::float64, 2);
    expect_same_as_cpu({u, e}, [&](const std::vector<Tensor>& x) {
      return gsddmm(graph, op, x[0], x[1], {.lhs = Target::source, .rhs = Target::edge});
    });
    for (const ReduceOp reduce : {ReduceOp::sum, ReduceOp::max, ReduceOp::min}) {
      expect_same_as_cpu({u, e}, [&](const std::vector<Tensor>& x) {
        return gspmm(graph, op, reduce, x[0], x[1], {.lhs = Target::source, .rhs = Target::edge});
      });
    }
  }
}

TEST_F(Gpu, CopiesAndSoftmaxMatchTheCpuOnEveryGraph) {
  for (const zoo::NamedGraph& named : zoo::all(300)) {
    SCOPED_TRACE(named.name);
    const Graph& graph = named.graph;
    expect_same_as_cpu(
        {test::random_tensor({graph.num_src(), 5}, DType::float64, 1)},
        [&](const std::vector<Tensor>& x) { return gspmm(graph, BinaryOp::copy_lhs, ReduceOp::sum, x[0], Tensor()); });
    for (const Target by : {Target::destination, Target::source}) {
      expect_same_as_cpu({test::random_tensor({graph.num_edges(), 3}, DType::float64, 1)},
                         [&](const std::vector<Tensor>& x) { return edge_softmax(graph, x[0], {.by = by}); });
    }
  }
}

TEST_F(Gpu, RowsAndElementsMatchTheCpu) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor x = test::random_tensor({9, 40}, dtype, 1), residual = test::random_tensor({9, 40}, dtype, 2);
    const Tensor weight = test::random_tensor({40}, dtype, 3), bias = test::random_tensor({40}, dtype, 4);
    expect_same_as_cpu({x, weight, bias}, [](const std::vector<Tensor>& t) { return layer_norm(t[0], t[1], t[2]); });
    expect_same_as_cpu({x, residual, weight, bias},
                       [](const std::vector<Tensor>& t) { return add_layer_norm(t[0], t[1], t[2], t[3]).normalized; });
    expect_same_as_cpu({x, residual}, [](const std::vector<Tensor>& t) { return t[0] * t[1] - t[1] / square(t[0]); });
    const Tensor layer = test::random_tensor({70, 40}, dtype, 5), offset = test::random_tensor({70}, dtype, 6);
    for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu}) {
      expect_same_as_cpu({x, layer, offset},
                         [&](const std::vector<Tensor>& t) { return linear(t[0], t[1], t[2], activation); });
    }
    expect_same_as_cpu({x, layer, offset}, [&](const std::vector<Tensor>& t) {
      const std::vector<Tensor> parts = linear_parts(t[0], {{t[1], t[2]}, {t[1], Tensor()}});
      return parts[0] * parts[1];
    });
    expect_same_as_cpu({x}, [](const std::vector<Tensor>& t) { return gelu(t[0]); });
    expect_same_as_cpu({x}, [](const std::vector<Tensor>& t) { return relu(t[0]); });
    expect_same_as_cpu({x}, [](const std::vector<Tensor>& t) {
      RandomGenerator generator(5);
      return dropout(t[0], 0.3, {.generator = &generator});
    });
  }
}

}  // namespace
}  // namespace bough
