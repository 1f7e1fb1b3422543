#include "bough/nn/input_layer.h"

#include <gtest/gtest.h>

#include "bough/core/errors.h"
#include "bough/core/random.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/arrange.h"
#include "bough/ops/cast.h"
#include "bough/ops/dropout.h"
#include "bough/ops/layer_norm.h"
#include "tests/support/compare.h"
#include "tests/support/gradient.h"
#include "tests/support/random_tensor.h"

namespace bough::nn {
namespace {

using test::random_tensor;

constexpr std::int64_t length = 6, dim = 4;

InputLayerOptions everything(Positions positions) {
  return {.dim = dim, .max_length = 8, .positions = positions, .block_positions = 4, .dropout = 0.25, .norm = true};
}

TEST(InputLayer, GivesBackWhatItGetsUnlessAskedForMore) {
  for (const Positions positions : {Positions::relations, Positions::none}) {
    const InputLayer layer({.dim = dim, .positions = positions});
    const Tensor x = random_tensor({2 * length, dim}, DType::float32);
    EXPECT_TRUE(layer.forward(x, length).same_as(x));
    EXPECT_TRUE(layer.forward_from(x, 3).same_as(x));
    EXPECT_TRUE(layer.state().empty());
  }
}

TEST(InputLayer, IsTheNormOfTheDroppedSumOfEmbeddingsAndPositions) {
  for (const Positions kind : {Positions::sinusoidal, Positions::both, Positions::learned, Positions::none}) {
    const InputLayer layer(everything(kind));
    const Tensor x = random_tensor({2 * length, dim}, DType::float32);
    Tensor positions = layer.blocks->forward(0, length);
    if (kind == Positions::learned) positions = layer.learned->forward(length) + positions;
    if (uses_sinusoids(kind)) positions = sinusoidal_positions(length, dim) + positions;
    manual_seed(5);
    const Tensor expected = layer_norm(dropout(x + concatenate({positions, positions}, 0), 0.25), {}, {});
    manual_seed(5);
    test::expect_close(layer.forward(x, length), expected);
  }
}

TEST(InputLayer, KnowsPositionsAlsoInAnyOrderAndOneByOne) {
  InputLayer layer(everything(Positions::sinusoidal));
  layer.eval();
  const Tensor x = random_tensor({length, dim}, DType::float32), whole = layer.forward(x, length);
  for (std::int64_t i = 0; i < length; ++i) {
    test::expect_same_bits(layer.forward_from(x.rows(i, i + 1), i), whole.rows(i, i + 1));
  }
  const Tensor order = Tensor::from_vector(std::vector<std::int32_t>{4, 5, 0}, {3});
  const Tensor rows = concatenate({x.rows(4, 6), x.rows(0, 1)}, 0);
  test::expect_same_bits(layer.forward(rows, order), concatenate({whole.rows(4, 6), whole.rows(0, 1)}, 0));
}

TEST(InputLayer, HasTheGradientsOfFiniteDifferences) {
  InputLayerOptions options = everything(Positions::learned);
  options.dropout = 0;
  InputLayer layer(options);
  test::expect_gradient(
      [&](const std::vector<Tensor>& in) {
        layer.learned->weight = in[1];
        layer.blocks->blocks = in[2];
        layer.blocks->places = in[3];
        layer.norm->weight = in[4];
        layer.norm->bias = in[5];
        return layer.forward(in[0], length);
      },
      {random_tensor({2 * length, dim}, DType::float64, 1), random_tensor({8, dim}, DType::float64, 2),
       random_tensor({2, dim}, DType::float64, 3), random_tensor({4, dim}, DType::float64, 4),
       random_tensor({dim}, DType::float64, 5), random_tensor({dim}, DType::float64, 6)});
}

TEST(InputLayer, RefusesWhatMakesNoSense) {
  const Tensor x = random_tensor({2 * length, dim}, DType::float32);
  EXPECT_THROW(InputLayer({.dim = dim, .positions = Positions::sinusoidal}), ConfigError) << "needs max_length";
  EXPECT_THROW(InputLayer({.dim = dim, .max_length = 4, .block_positions = -1}), ConfigError);
  EXPECT_THROW(InputLayer({.dim = dim, .dropout = 1}), ConfigError);
  const InputLayer layer({.dim = dim, .max_length = 5, .positions = Positions::sinusoidal});
  EXPECT_THROW(layer.forward(x, length), ConfigError) << "longer than max_length";
  EXPECT_THROW(layer.forward(x, 5), ShapeError) << "12 rows are no sequences of 5";
  EXPECT_THROW(layer.forward_from(x.rows(0, 1), 5), ConfigError);
}

}  // namespace
}  // namespace bough::nn
