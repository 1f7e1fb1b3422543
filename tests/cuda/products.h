#pragma once

#include "bough/ops/matmul.h"

/// What products on a GPU must give, with whatever multiplies there.
namespace bough::test {

/// matmul: vectors, empty extents, batches, shared operands and all transposes; with gradients.
void expect_matmul_same_as_cpu();
/// linear with every activation, with and without bias, and linear_parts; with gradients.
void expect_linear_same_as_cpu();

}  // namespace bough::test
