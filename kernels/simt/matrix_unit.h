#pragma once

#include "bough/core/bfloat16.h"
#include "bough/detail/simt/context.h"

/// Products of small matrices, as tensor cores make them: numbers of bfloat16, sums in float.
namespace bough::simt {

/// All matrices are of 16 x 16 elements.
inline constexpr int matrix_size = 16;

/// What a context multiplies matrices with: kernels/cuda/matrix_unit.h on a GPU, tests/emulator/engine/matrix_unit.h on
/// the host. The 32 lanes of a warp hold a matrix together, in an unspecified order, and all of them call
///
///   left(context, array, first, stride)              rows of an array in shared memory: row r begins at element
///   right(context, array, first, stride)             first + r * stride of the array
///   right_of_rows(context, array, first, stride)     the same, transposed: rows of the array are columns
///   add_product(context, sums, left, right)          sums += left * right
///   store(context, sums, array, first, stride)       into rows of an array
///
/// Elements of arrays are single numbers or packs of them; matrices begin at multiples of 32 bytes, rows at multiples
/// of 16. `available` is false where the machine that code is compiled for has no such unit; then there is nothing
/// else.
template <typename Context>
struct MatrixUnit;

}  // namespace bough::simt
