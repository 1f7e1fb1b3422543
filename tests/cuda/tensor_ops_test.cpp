#include "bough/core/errors.h"
#include "bough/ops/activation.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/cast.h"
#include "bough/ops/compare.h"
#include "bough/ops/cross_entropy.h"
#include "bough/ops/embedding.h"
#include "bough/ops/gspmm.h"
#include "bough/ops/reduce.h"
#include "bough/ops/rows.h"
#include "bough/ops/segment.h"
#include "bough/ops/softmax.h"
#include "kernels/on_device.h"
#include "tests/cuda/same_as_cpu.h"
#include "tests/support/graph_zoo.h"

/// Operations on tensors on a GPU, against the CPU.
namespace bough {
namespace {

using test::expect_same_as_cpu;
using Tensors = std::vector<Tensor>;

class GpuTensors : public test::GpuTest {};

/// Most entries in one row, so that its sum crosses many partitions; some rows without any.
Tensor uneven_index(std::int64_t count, std::int64_t num_rows, DType dtype) {
  Tensor index = test::random_indices({count}, 0, num_rows, DType::int64, 7);
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % 3 != 0) index.data<std::int64_t>()[i] = num_rows / 2;
  }
  return cast(index, dtype);
}

TEST_F(GpuTensors, AreFilledWithEveryType) {
  for (const DType dtype : {DType::float32, DType::float64, DType::int32, DType::int64, DType::boolean}) {
    EXPECT_EQ(full({300}, 1, dtype, Device::cuda()).to_vector<double>(), std::vector<double>(300, 1.0));
    EXPECT_EQ(zeros({7}, dtype, Device::cuda()).to_vector<double>(), std::vector<double>(7, 0.0));
  }
  EXPECT_EQ(zeros({0, 3}, DType::float32, Device::cuda()).elements(), 0);
}

TEST_F(GpuTensors, RowsArePickedAndAddedUp) {
  for (const DType index_type : {DType::int32, DType::int64}) {
    for (const std::int64_t width : {1, 3, 40}) {
      SCOPED_TRACE(width);
      const Tensor index = uneven_index(150, 20, index_type);
      expect_same_as_cpu({test::random_tensor({20, width}), index},
                         [](const Tensors& t) { return gather_rows(t[0], t[1]); });
      expect_same_as_cpu({test::random_tensor({150, width}), index},
                         [](const Tensors& t) { return scatter_add_rows(t[0], t[1], 20); });
      expect_same_as_cpu(
          {test::random_tensor({20, width}), test::random_tensor({150, width}, DType::float32, 2), index},
          [](const Tensors& t) { return index_add_rows(t[0], t[2], t[1]); });
    }
  }
  const Tensor nothing = Tensor::empty({0}, DType::int64);
  expect_same_as_cpu({test::random_tensor({5, 4}), nothing}, [](const Tensors& t) { return gather_rows(t[0], t[1]); });
  expect_same_as_cpu({Tensor::empty({0, 4}), nothing},
                     [](const Tensors& t) { return scatter_add_rows(t[0], t[1], 3); });
}

TEST_F(GpuTensors, EveryElementTypeIsPicked) {
  const Tensor index = test::random_indices({9}, 0, 5).to(Device::cuda());
  for (const DType dtype : {DType::float64, DType::int32, DType::boolean}) {
    const Tensor x = test::random_tensor({5, 3}, dtype);
    test::expect_same_bits(gather_rows(x.to(Device::cuda()), index).to(Device::cpu()),
                           gather_rows(x, index.to(Device::cpu())));
  }
}

TEST_F(GpuTensors, SumsOfRowsAreBitwiseEqualFromRunToRun) {
  const Tensor values = test::random_tensor({500, 5}).to(Device::cuda());
  const Tensor index = uneven_index(500, 9, DType::int64).to(Device::cuda());
  test::expect_same_bits(scatter_add_rows(values, index, 9).to(Device::cpu()),
                         scatter_add_rows(values, index, 9).to(Device::cpu()));
}

TEST_F(GpuTensors, AnIndexOutsideIsNamed) {
  const Tensor x = test::random_tensor({5, 4}).to(Device::cuda());
  const Tensor index = Tensor::from_vector<std::int64_t>({0, 5}, {2}, Device::cuda());
  EXPECT_THROW(gather_rows(x, index), IndexError);
  EXPECT_THROW(scatter_add_rows(x.rows(0, 2), index, 5), IndexError);
  EXPECT_THROW(gather_rows(x, index.to(Device::cpu())), DeviceError);
}

TEST_F(GpuTensors, EmbeddingsAreLookedUpAndTheirGradientsAddedUp) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor table = test::random_tensor({30, 12}, dtype), index = uneven_index(200, 30, DType::int32);
    for (const bool sparse : {false, true}) {
      expect_same_as_cpu({table, index.reshape({10, 20})}, [&](const Tensors& t) {
        return embedding(t[0], t[1], {.sparse_gradient = sparse}) + embedding(t[0], t[1]);
      });
    }
    expect_same_as_cpu({table, index}, [](const Tensors& t) { return embedding(t[0], t[1], {.padding_index = 15}); });
  }
}

TEST_F(GpuTensors, CrossEntropyMatchesTheCpu) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor logits = test::random_tensor({3, 7, 50}, dtype);
    Tensor targets = test::random_indices({3, 7}, 0, 50, DType::int32, 3);
    targets.data<std::int32_t>()[4] = -100;
    for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
      for (const double smoothing : {0.0, 0.1}) {
        expect_same_as_cpu({logits, targets}, [&](const Tensors& t) {
          return cross_entropy(t[0], t[1], {.label_smoothing = smoothing, .reduction = reduction});
        });
      }
    }
  }
  expect_same_as_cpu({Tensor::empty({0, 5}), Tensor::empty({0}, DType::int64)},
                     [](const Tensors& t) { return cross_entropy(t[0], t[1]); });
  EXPECT_THROW(cross_entropy(test::random_tensor({1, 5}).to(Device::cuda()),
                             Tensor::from_vector<std::int64_t>({5}, {1}, Device::cuda())),
               IndexError);
}

TEST_F(GpuTensors, OperandsBroadcastAndTheirGradientsAreSummedBack) {
  const Tensor matrix = test::random_tensor({6, 5, 4}, DType::float64, 1),
               row = test::random_tensor({4}, DType::float64, 2),
               column = test::random_tensor({5, 1}, DType::float64, 3),
               number = test::random_tensor({}, DType::float64, 4);
  expect_same_as_cpu({matrix, row, column, number}, [](const Tensors& t) {
    return (t[0] + t[1]) * (t[2] - t[3]) / square(t[1]) + maximum(t[0], t[2]) - minimum(t[1], t[0]) * 3.0;
  });
  for (const DType dtype : {DType::int32, DType::int64}) {
    expect_same_as_cpu({test::random_tensor({6, 4}, dtype, 1), test::random_tensor({4}, dtype, 2)},
                       [](const Tensors& t) { return maximum(t[0] * 2.0 - t[1], t[1]); });
  }
  expect_same_as_cpu({column}, [](const Tensors& t) { return broadcast_to(t[0], {3, 5, 4}); });
}

TEST_F(GpuTensors, ElementsAreMoved) {
  const Tensor a = test::random_tensor({4, 3, 5}, DType::float32, 1),
               b = test::random_tensor({4, 2, 5}, DType::float32, 2);
  expect_same_as_cpu({a, b}, [](const Tensors& t) { return concatenate(t, 1); });
  expect_same_as_cpu({a, a}, [](const Tensors& t) { return concatenate(t, 0); });
  expect_same_as_cpu({a, a}, [](const Tensors& t) { return stack(t, 2); });
  expect_same_as_cpu({a}, [](const Tensors& t) { return slice(t[0], 2, 1, 5, 2); });
  expect_same_as_cpu({a}, [](const Tensors& t) { return permute(t[0], {2, 0, 1}); });
  expect_same_as_cpu({a}, [](const Tensors& t) { return repeat(t[0], 1, 3); });
  expect_same_as_cpu({a}, [](const Tensors& t) { return t[0].rows(1, 3); });
  expect_same_as_cpu({a}, [](const Tensors& t) {
    const Tensors parts = split(t[0], 2, {2, 3});
    return concatenate({parts[1], parts[0] * 2.0}, 2);
  });
}

TEST_F(GpuTensors, AreReducedOverAnyAxes) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor x = test::random_distinct({5, 70, 6}, dtype);
    const Tensor line = test::random_distinct({9000}, dtype);
    for (const Axes& axes : {Axes{0}, Axes{1}, Axes{2}, Axes{0, 2}, Axes{0, 1, 2}}) {
      expect_same_as_cpu({x}, [&](const Tensors& t) { return sum(t[0] + 1.0, axes); });
      expect_same_as_cpu({x}, [&](const Tensors& t) { return mean(t[0] + 1.0, axes, {.keepdim = true}); });
      expect_same_as_cpu({x}, [&](const Tensors& t) { return max(t[0], axes) - min(t[0], axes); });
    }
    expect_same_as_cpu({line}, [](const Tensors& t) { return sum(square(t[0])) + max(t[0]); });
    expect_same_as_cpu({test::random_uniform({100, 90}, 0.9, 1.1, dtype)},
                       [](const Tensors& t) { return prod(t[0], 0); });
    expect_same_as_cpu({x}, [](const Tensors& t) { return argmax(t[0], 1); });
    expect_same_as_cpu({Tensor::empty({3, 0, 2}, dtype)}, [](const Tensors& t) { return sum(t[0], 1); });
  }
  for (const DType dtype : {DType::int32, DType::int64}) {
    const Tensor x = test::random_tensor({5, 300}, dtype);
    expect_same_as_cpu({x}, [](const Tensors& t) { return sum(t[0], 1); });
    expect_same_as_cpu({x}, [](const Tensors& t) { return max(t[0], 0); });
  }
}

TEST_F(GpuTensors, NaNIsTheLargestAndTheSmallest) {
  Tensor x = test::random_tensor({3, 80});
  x.data<float>()[100] = std::numeric_limits<float>::quiet_NaN();
  const Tensor there = x.to(Device::cuda());
  for (const auto& extreme : {max(there, 1), min(there, 1)}) {
    const std::vector<float> values = extreme.to_vector<float>();
    EXPECT_EQ(std::isnan(values[0]), false);
    EXPECT_EQ(std::isnan(values[1]), true);
  }
  EXPECT_EQ(argmax(there, 1).to_vector<std::int64_t>()[1], 20);
}

TEST_F(GpuTensors, AreConvertedComparedAndChosen) {
  const Tensor a = test::random_tensor({8, 9}, DType::float32, 1), b = test::random_tensor({9}, DType::float32, 2);
  for (const DType to : {DType::float64, DType::int32, DType::int64, DType::boolean}) {
    expect_same_as_cpu({a}, [&](const Tensors& t) { return cast(t[0] * 3.0, to); });
    expect_same_as_cpu({cast(a * 3.0, to)}, [&](const Tensors& t) { return cast(t[0], DType::float32); });
  }
  const auto same_bits = [&](const test::Function& f) {
    test::expect_same_bits(f({a.to(Device::cuda()), b.to(Device::cuda())}).to(Device::cpu()), f({a, b}));
  };
  same_bits([](const Tensors& t) { return less(t[0], t[1]); });
  same_bits([](const Tensors& t) { return greater_equal(t[0], 0.5); });
  same_bits([](const Tensors& t) { return equal(t[0], t[0]); });
  expect_same_as_cpu({a, b}, [](const Tensors& t) { return where(less(t[0], 0.2), t[0], t[1]); });
}

TEST_F(GpuTensors, SoftmaxMatchesTheCpuAlongEveryAxis) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (int axis = 0; axis < 3; ++axis) {
      const Tensor x = test::random_tensor({4, 50, 3}, dtype);
      expect_same_as_cpu({x}, [&](const Tensors& t) { return softmax(t[0], axis); });
      expect_same_as_cpu({x}, [&](const Tensors& t) { return log_softmax(t[0], axis); });
    }
    const Tensor masked = full({2, 5}, -std::numeric_limits<double>::infinity(), dtype);
    expect_same_as_cpu({masked}, [](const Tensors& t) { return softmax(t[0]); });
    expect_same_as_cpu({masked}, [](const Tensors& t) { return exp(log_softmax(t[0])); });
  }
}

TEST_F(GpuTensors, SegmentsAreReducedAndNormalised) {
  const Tensor offsets = Tensor::from_vector<std::int64_t>({0, 3, 3, 4, 400}, {5});
  const Tensor values = test::random_uniform({400, 3}, 0.98, 1.02, DType::float64);
  for (const ReduceOp reduce : {ReduceOp::sum, ReduceOp::mean, ReduceOp::max, ReduceOp::min, ReduceOp::prod}) {
    SCOPED_TRACE(name_of(reduce));
    expect_same_as_cpu({values, offsets},
                       [&](const Tensors& t) { return segment_reduce(t[0], t[1], reduce, {.empty_value = 7}); });
  }
  expect_same_as_cpu({values, offsets}, [](const Tensors& t) { return segment_softmax(t[0], t[1]); });
  EXPECT_THROW(segment_softmax(values.rows(0, 9).to(Device::cuda()), offsets.to(Device::cuda())), ShapeError);
}

TEST_F(GpuTensors, MeansAndProductsOfMessagesHaveGradients) {
  const Graph graph = zoo::random_graph(12, 60, 3);
  for (const ReduceOp reduce : {ReduceOp::mean, ReduceOp::prod}) {
    expect_same_as_cpu(
        {test::random_tensor({12, 2, 3}, DType::float64, 1), test::random_tensor({60, 2, 1}, DType::float64, 2)},
        [&](const Tensors& t) { return gspmm(graph, BinaryOp::mul, reduce, t[0], t[1], {.rhs = Target::edge}); });
  }
}

TEST_F(GpuTensors, AnOperationWithoutAKernelNamesItselfAndTheWayOut) {
  const Tensor x = Tensor::empty({4, 0}, DType::float32, Device::cuda());
  try {
    on_cpu("wonder", x, [](auto, auto) {});
    FAIL() << "nothing was thrown";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("[wonder]"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("Device::cpu()"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace bough
