#include "bough/core/shape.h"

#include <gtest/gtest.h>

#include "bough/core/errors.h"

namespace bough {
namespace {

TEST(Shape, CountsElements) {
  EXPECT_EQ(Shape({}).elements(), 1);
  EXPECT_EQ(Shape({3, 4}).elements(), 12);
  EXPECT_EQ(Shape({3, 0, 4}).elements(), 0);
}

TEST(Shape, ReadsAxesFromTheEnd) {
  const Shape shape{3, 4, 5};
  EXPECT_EQ(shape[-1], 5);
  EXPECT_EQ(shape[-3], 3);
  EXPECT_THROW(shape[3], ShapeError);
}

TEST(Shape, RefusesNegativeExtentsTooManyAxesAndOverflow) {
  EXPECT_THROW(Shape({-1}), ShapeError);
  EXPECT_THROW(Shape({1, 1, 1, 1, 1, 1, 1, 1, 1}), ShapeError);
  const std::int64_t big = std::int64_t{1} << 40;
  EXPECT_THROW(Shape({big, big}), ShapeError);
  EXPECT_EQ(Shape({big, 0, 1}).elements(), 0);
}

TEST(Shape, BroadcastsLikeNumPy) {
  EXPECT_EQ(broadcast_shapes("test", {3, 1, 5}, {4, 1}), Shape({3, 4, 5}));
  EXPECT_EQ(broadcast_shapes("test", {}, {2}), Shape({2}));
  EXPECT_EQ(broadcast_shapes("test", {1}, {0}), Shape({0}));
}

TEST(Shape, NamesBothShapesThatDoNotBroadcast) {
  try {
    broadcast_shapes("add", {3, 4}, {3, 5});
    FAIL();
  } catch (const ShapeError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("[add]"), std::string::npos);
    EXPECT_NE(text.find("[3, 4]"), std::string::npos);
    EXPECT_NE(text.find("[3, 5]"), std::string::npos);
  }
}

}  // namespace
}  // namespace bough
