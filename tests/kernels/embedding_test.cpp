#include "bough/ops/embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bough/autograd/autograd.h"
#include "bough/ops/rows.h"
#include "kernels/reference/rows.h"
#include "tests/support/compare.h"
#include "tests/support/devices.h"
#include "tests/support/peak_memory.h"
#include "tests/support/random_tensor.h"
#include "tests/support/threads.h"

namespace bough {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor table_of(const Shape& shape, DType dtype = DType::float32) {
  Tensor table = random_tensor(shape, dtype);
  table.set_requires_grad(true);
  return table;
}

Tensor ints(const std::vector<std::int64_t>& values) {
  return Tensor::from_vector(values, {static_cast<std::int64_t>(values.size())});
}

class Embedding : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Embedding, testing::ValuesIn(every_device), device_name);

TEST_P(Embedding, LooksUpRowsUnderTheShapeOfTheIndex) {
  for (DType index_type : {DType::int32, DType::int64}) {
    for (const Shape& shape : {Shape{}, Shape{4}, Shape{3, 5}, Shape{2, 0}, Shape{2, 3, 4}}) {
      const Tensor table = here(random_tensor({7, 5})), index = here(random_indices(shape, 0, 7, index_type));
      const Tensor y = embedding(table, index);
      EXPECT_EQ(y.rank(), shape.rank() + 1);
      EXPECT_EQ(y.size(-1), 5);
      EXPECT_EQ(y.to_vector<double>(),
                reference::gather_rows(table.to_vector<double>(), 5, index.to_vector<std::int64_t>()));
    }
  }
  EXPECT_EQ(embedding(here(zeros({7, 2, 3})), here(zeros({4}, DType::int64))).shape(), (Shape{4, 2, 3}));
}

TEST(Embedding, SparseAndDenseGradientsAreTheSame) {
  for (std::int64_t width : {1, 3, 16, 40}) {
    const Tensor index = random_indices({50, 4}, 0, 90);
    const Tensor dense = table_of({90, width}), sparse = table_of({90, width});
    const Tensor seed = random_tensor({50, 4, width}, DType::float32, 3);
    embedding(dense, index).backward({.gradient = seed});
    embedding(sparse, index, {.sparse_gradient = true}).backward({.gradient = seed});
    EXPECT_FALSE(dense.row_grad().has_value());
    ASSERT_TRUE(sparse.row_grad().has_value());
    const std::vector<std::int64_t> rows = sparse.row_grad()->rows.to_vector<std::int64_t>();
    EXPECT_EQ(std::ranges::adjacent_find(rows, std::ranges::greater_equal{}), rows.end());
    expect_close(sparse.row_grad()->values, gather_rows(dense.grad(), sparse.row_grad()->rows));
    expect_close(sparse.grad(), dense.grad());
    expect_close(dense.grad(),
                 reference::scatter_add_rows(seed.to_vector<double>(), width, index.to_vector<std::int64_t>(), 90));
  }
}

TEST(Embedding, SparseRowsAreAscendingAndEachOnce) {
  const Tensor table = table_of({6, 2});
  embedding(table, ints({5, 1, 5, 5, 0}), {.sparse_gradient = true}).backward({.gradient = ones({5, 2})});
  EXPECT_EQ(table.row_grad()->rows.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 5}));
  EXPECT_EQ(table.row_grad()->values.to_vector<float>(), (std::vector<float>{1, 1, 1, 1, 3, 3}));
}

TEST_P(Embedding, PaddingIsLookedUpButGetsNoGradient) {
  for (bool sparse : {false, true}) {
    const Tensor table = here(table_of({4, 2}).detach()).set_requires_grad(true);
    const Tensor y = embedding(table, here(ints({2, 0, 2, 3})), {.sparse_gradient = sparse, .padding_index = 2});
    EXPECT_EQ(y.to_vector<float>()[0], table.to_vector<float>()[4]);
    y.backward({.gradient = here(ones({4, 2}))});
    if (sparse && on_cpu()) {  // a GPU's are always dense
      EXPECT_EQ(table.row_grad()->rows.to_vector<int>(), (std::vector<int>{0, 3}));
    }
    EXPECT_EQ(table.grad().to_vector<float>(), (std::vector<float>{1, 1, 0, 0, 0, 0, 1, 1}));
  }
}

TEST(Embedding, OnlyPaddingOrNothingLookedUpGivesAnEmptyGradient) {
  for (const Tensor& index : {ints({1, 1}), ints({})}) {
    const Tensor table = table_of({3, 2});
    const Tensor y = embedding(table, index, {.sparse_gradient = true, .padding_index = 1});
    y.backward({.gradient = ones(y.shape())});
    EXPECT_EQ(table.row_grad()->values.shape(), (Shape{0, 2}));
    expect_same_bits(table.grad(), zeros({3, 2}));
  }
}

TEST(Embedding, SparseAndDenseLookUpsOfOneTableMixInAnyOrder) {
  const std::vector<Tensor> indices = {ints({4, 1, 4}), ints({0, 1, 2}), ints({3, 3, 1})};
  const Tensor expected = [&] {
    const Tensor table = table_of({5, 3});
    for (const Tensor& index : indices) embedding(table, index).backward({.gradient = ones({3, 3})});
    return table.grad();
  }();
  for (int kinds = 0; kinds < 8; ++kinds) {
    const Tensor table = table_of({5, 3});
    for (int i = 0; i < 3; ++i) {
      const bool sparse = (kinds >> i & 1) != 0;
      embedding(table, indices[i], {.sparse_gradient = sparse}).backward({.gradient = ones({3, 3})});
    }
    EXPECT_EQ(table.row_grad().has_value(), kinds == 7);
    expect_same_bits(table.grad(), expected);
  }
}

TEST_P(Embedding, ASparseGradientFlowsThroughATableThatWasComputed) {
  const Tensor leaf = here(table_of({5, 3}).detach()).set_requires_grad(true);
  embedding(leaf.reshape({5, 3}), here(ints({4, 1, 4})), {.sparse_gradient = true})
      .backward({.gradient = here(ones({3, 3}))});
  EXPECT_EQ(leaf.grad().to_vector<float>(), (std::vector<float>{0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 2, 2, 2}));
}

TEST_P(Embedding, GradientMatchesFiniteDifferences) {
  const Tensor table = random_tensor({5, 3}, DType::float64), index = random_indices({2, 4}, 0, 5);
  for (bool sparse : {false, true}) {
    expect_gradient([&](const auto& in) { return embedding(in[0], in[1], {.sparse_gradient = sparse}); },
                    {table, index});
  }
}

TEST(Embedding, IsBitwiseEqualForOneTwoAndSevenThreads) {
  const Tensor index = random_indices({30000}, 0, 500);
  const Tensor seed = random_tensor({30000, 20});
  expect_same_bits_for_threads([&] {
    const Tensor table = table_of({500, 20});
    const Tensor y = embedding(table, index, {.sparse_gradient = true});
    y.backward({.gradient = seed});
    return std::vector<Tensor>{y.detach(), table.row_grad()->values};
  });
}

TEST(Embedding, ASparseGradientOfAHugeTableNeedsMemoryForItsRowsOnly) {
  const Tensor table = table_of({1 << 22, 1});
  const std::int64_t peak = peak_bytes([&] {
    const Tensor y = embedding(table, ints({1 << 21, 3}), {.sparse_gradient = true});
    y.backward({.gradient = ones({2, 1})});
  });
  EXPECT_LT(peak, 100'000);
  EXPECT_EQ(table.row_grad()->rows.to_vector<int>(), (std::vector<int>{3, 1 << 21}));
}

TEST(Embedding, NamesWhatDoesNotFit) {
  EXPECT_THAT(
      [] {
        embedding(zeros({4, 2}), ints({1, 4}));
      },
      ThrowsMessage<IndexError>(AllOf(HasSubstr("[embedding] index 4 at position 1"), HasSubstr("4 rows"))));
  EXPECT_THAT(
      [] {
        embedding(zeros({4, 2}), ints({1}), {.padding_index = -1});
      },
      ThrowsMessage<IndexError>(AllOf(HasSubstr("-1"), HasSubstr("4 rows"))));
  EXPECT_THAT([] { embedding(zeros({4, 2}), zeros({3})); }, ThrowsMessage<TypeError>(HasSubstr("float32")));
  EXPECT_THAT([] { embedding(arange(4), ints({1})); }, ThrowsMessage<TypeError>(HasSubstr("int64")));
  EXPECT_THAT([] { embedding(zeros({}), ints({0})); }, ThrowsMessage<ShapeError>(HasSubstr("[]")));
  EXPECT_THROW(embedding(zeros({1, 1, 1, 1, 1}), zeros({1, 1, 1, 1, 1}, DType::int64)), ShapeError);
}

}  // namespace
}  // namespace bough
