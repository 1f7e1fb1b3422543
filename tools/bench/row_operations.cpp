#include <functional>

#include "bough/autograd/autograd.h"
#include "bough/core/random.h"
#include "bough/ops/arrange.h"
#include "bough/ops/cross_entropy.h"
#include "bough/ops/dropout.h"
#include "bough/ops/layer_norm.h"
#include "bough/ops/rows.h"
#include "bough/ops/softmax.h"
#include "tools/bench/against_copy.h"

namespace bough::bench {
namespace {

/// Whole numbers 0..limit-1 in no order.
Tensor scrambled(std::int64_t count, std::int64_t limit) {
  const RandomStream stream{1, 0};
  Tensor index = Tensor::empty({count}, DType::int64);
  for (std::int64_t i = 0; i < count; ++i) {
    index.data<std::int64_t>()[i] = stream(static_cast<std::uint64_t>(i)) % limit;
  }
  return index;
}

/// Runs the backward of one result again and again.
std::function<void()> backward_of(Tensor y, Tensor seed, std::vector<Tensor> leaves) {
  return [=]() mutable {
    for (Tensor& leaf : leaves) leaf.clear_grad();
    y.backward({.gradient = seed, .retain_graph = true});
  };
}

}  // namespace

void run_row_operations(const Options& options, const Report& report) {
  constexpr std::int64_t rows = AgainstCopy::rows, width = AgainstCopy::width;
  const AgainstCopy bench(options, report);
  Tensor x = randn({rows, width}), weight = randn({width}), bias = randn({width});
  const Tensor other = randn({rows, width}), classes = scrambled(rows, width), index = scrambled(rows, rows);
  const Tensor narrow = x.reshape({rows * width / 64, 64}), many = scrambled(rows * width / 64, rows);

  bench.run("layer_norm", 2, [&] { layer_norm(x, weight, bias); });
  bench.run("add_layer_norm", 4, [&] { add_layer_norm(x, other, weight, bias); });
  bench.run("softmax", 2, [&] { softmax(x); });
  bench.run("softmax of columns", 2, [&] { softmax(x.reshape({256, 64, width}), 1); });
  bench.run("log_softmax", 2, [&] { log_softmax(x); });
  bench.run("cross_entropy", 1, [&] { cross_entropy(x, classes); });
  bench.run("dropout", 2, [&] { dropout(x, 0.1); });
  bench.run("gather_rows", 2, [&] { gather_rows(x, index); });
  bench.run("gather_rows of 64", 2, [&] { gather_rows(narrow, many); });
  bench.run("scatter_add_rows", 2, [&] { scatter_add_rows(x, index, rows); });
  bench.run("scatter_add_rows of 64", 1.125, [&] { scatter_add_rows(narrow, many, rows); });
  bench.run("transpose", 2, [&] { transpose(x); });
  bench.run("concatenate", 4, [&] { concatenate({x, other}, 1); });

  for (Tensor* leaf : {&x, &weight, &bias}) leaf->set_requires_grad(true);
  bench.run("layer_norm backward", 3, backward_of(layer_norm(x, weight, bias), other, {x, weight, bias}));
  bench.run("softmax backward", 3, backward_of(softmax(x), other, {x}));
  bench.run("cross_entropy backward", 2, backward_of(cross_entropy(x, classes), {}, {x}));
}

}  // namespace bough::bench
