#include <gtest/gtest.h>

#include "bough/ops/matmul.h"

namespace bough {
namespace {

/// Needs no GPU: only the library that this build was made for, with every function that is asked of it.
TEST(CublasLibrary, OfThisBuildLoads) { EXPECT_TRUE(uses_cublas()); }

}  // namespace
}  // namespace bough
