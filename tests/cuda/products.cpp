#include "tests/cuda/products.h"

#include "bough/ops/arithmetic.h"
#include "tests/cuda/same_as_cpu.h"

namespace bough::test {
namespace {

using Tensors = std::vector<Tensor>;

void expect_product(const Shape& a, const Shape& b, const MatmulOptions& options, DType dtype) {
  SCOPED_TRACE(to_string(a) + " by " + to_string(b) + (options.transpose_a ? " T" : " N") +
               (options.transpose_b ? "T" : "N"));
  expect_same_as_cpu({random_tensor(a, dtype, 1), random_tensor(b, dtype, 2)},
                     [&](const Tensors& t) { return matmul(t[0], t[1], options); });
}

/// [..., rows, columns], or with the last two exchanged.
Shape matrices(std::vector<std::int64_t> leading, std::int64_t rows, std::int64_t columns, bool transposed) {
  leading.push_back(transposed ? columns : rows);
  leading.push_back(transposed ? rows : columns);
  return Shape(leading);
}

}  // namespace

void expect_matmul_same_as_cpu() {
  struct Sizes {
    std::int64_t m, n, k;
  };
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const auto& [m, n, k] : {Sizes{3, 4, 5}, {1, 7, 3}, {7, 1, 3}, {1, 1, 6}, {5, 6, 1}, {0, 3, 4}, {3, 4, 0}}) {
      for (const bool transpose_a : {false, true}) {
        for (const bool transpose_b : {false, true}) {
          const MatmulOptions options{transpose_a, transpose_b};
          using Leading = std::vector<std::int64_t>;
          for (const auto& [lead_a, lead_b] :
               {std::pair<Leading, Leading>{{}, {}}, {{2, 3}, {2, 3}}, {{3}, {}}, {{}, {3}}, {{0}, {}}}) {
            expect_product(matrices(lead_a, m, k, transpose_a), matrices(lead_b, k, n, transpose_b), options, dtype);
          }
        }
      }
    }
    expect_product({5}, {5, 3}, {}, dtype);
    expect_product({3, 5}, {5}, {}, dtype);
    expect_product({5}, {5}, {}, dtype);
    expect_product({70, 33}, {33, 130}, {}, dtype);
  }
}

void expect_linear_same_as_cpu() {
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu}) {
      for (const std::int64_t rows : {0, 1, 19}) {
        const Tensor x = random_tensor({rows, 6}, dtype, 1), weight = random_tensor({5, 6}, dtype, 2);
        const Tensor bias = random_tensor({5}, dtype, 3);
        expect_same_as_cpu({x, weight, bias}, [&](const Tensors& t) { return linear(t[0], t[1], t[2], activation); });
        expect_same_as_cpu({x, weight}, [&](const Tensors& t) { return linear(t[0], t[1], {}, activation); });
      }
    }
    expect_same_as_cpu(
        {random_tensor({4, 3, 6}, dtype, 1), random_tensor({5, 6}, dtype, 2), random_tensor({5}, dtype, 3)},
        [](const Tensors& t) {
          const Tensors parts = linear_parts(t[0], {{t[1], t[2]}, {t[1]}});
          return parts[0] * parts[1];
        });
  }
}

}  // namespace bough::test
