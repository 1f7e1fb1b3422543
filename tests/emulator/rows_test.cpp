#include "kernels/reference/rows.h"

#include <gtest/gtest.h>

#include "kernels/simt/gspmm.h"
#include "kernels/simt/rows.h"
#include "tests/emulator/engine/queue.h"
#include "tests/support/compare.h"
#include "tests/support/random_tensor.h"

namespace bough {
namespace {

using emulator::Queue;

TEST(EmulatedRows, AreGatheredInWholeSectors) {
  const std::int64_t rows = 7, width = 32, picked = 20;
  const Tensor x = test::random_tensor({rows, width});
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < picked; ++i) numbers.push_back(i % rows);
  const Tensor index = Tensor::from_vector(numbers, {picked});
  Tensor y = Tensor::empty({picked, width});
  Queue queue;
  simt::gather_rows(queue, reinterpret_cast<const std::byte*>(x.data<float>()), index.data<std::int64_t>(),
                    reinterpret_cast<std::byte*>(y.data<float>()), picked, width * 4);
  EXPECT_EQ(queue.traffic().load_sectors, picked * 4 + picked / 4) << "a warp reads four rows and their numbers";
  EXPECT_EQ(queue.traffic().store_sectors, picked * 4);
}

TEST(EmulatedRows, AreGatheredInUnitsOfAnySize) {
  for (const DType dtype : {DType::float32, DType::float64, DType::boolean}) {
    for (const std::int64_t width : {1, 3, 4, 32}) {
      const Tensor x = test::random_tensor({7, width}, dtype, 1),
                   index = test::random_indices({20}, 0, 7, DType::int64, 2);
      Tensor y = Tensor::empty({20, width}, dtype);
      Queue queue;
      visit_dtype(dtype, [&]<typename T>(TypeTag<T>) {
        simt::gather_rows(queue, reinterpret_cast<const std::byte*>(x.data<T>()), index.data<std::int64_t>(),
                          reinterpret_cast<std::byte*>(y.data<T>()), 20, width * std::int64_t{sizeof(T)});
      });
      EXPECT_EQ(y.to_vector<double>(),
                reference::gather_rows(x.to_vector<double>(), width, index.to_vector<std::int64_t>()));
    }
  }
}

/// The gradient of an embedding: rows by a sorted index, long ones (frequent words) split and merged in order.
TEST(EmulatedRows, AreAddedUpByASortedIndex) {
  const std::int64_t count = 300, num_rows = 9, width = 5;
  const Tensor values = test::random_tensor({count, width}, DType::float64, 1);
  std::vector<std::int64_t> index;
  for (std::int64_t i = 0; i < count; ++i) index.push_back(i % 3 == 0 ? 4 : i * 7 % num_rows);
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  std::ranges::stable_sort(order, {}, [&](std::int32_t i) { return index[static_cast<std::size_t>(i)]; });
  std::vector<std::int64_t> offsets(1, 0);
  for (std::int64_t row = 0; row < num_rows; ++row) offsets.push_back(offsets.back() + std::ranges::count(index, row));

  Queue queue;
  const simt::RowItems plan = simt::make_row_items(offsets, 24);
  EXPECT_GE(plan.split_rows.size(), 1u);
  const auto items = queue.upload(std::span<const simt::RowItem>(plan.items));
  const auto split_rows = queue.upload(std::span<const simt::SplitRowItem>(plan.split_rows));
  const std::vector<Shape> shapes(2, Shape{width});
  const mp::FeatureLayout layout = mp::broadcast_layout({width}, shapes);
  Tensor sums = Tensor::empty({num_rows, width}, DType::float64);
  simt::gspmm(queue,
              {items.data(), static_cast<std::int64_t>(plan.items.size()), split_rows.data(),
               static_cast<std::int64_t>(plan.split_rows.size()), plan.num_partials},
              {.offsets = offsets.data(), .edge_ids = order.data()},
              simt::MessageCall<double>{.lhs = values.data<double>(), .layout = &layout}, ReduceOp::sum,
              simt::GspmmResults<double>{.rows = sums.data<double>()});
  test::expect_close(sums, reference::scatter_add_rows(values.to_vector<double>(), width, index, num_rows));
}

}  // namespace
}  // namespace bough
