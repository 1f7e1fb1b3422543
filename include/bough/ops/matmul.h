#pragma once

#include <vector>

#include "bough/core/tensor.h"

namespace bough {

/// Options of matmul.
struct MatmulOptions {
  bool transpose_a = false;  ///< a is given as [..., K, M]
  bool transpose_b = false;  ///< b is given as [..., N, K]
};

/// Matrix product over the last two axes: a [..., M, K] times b [..., K, N] gives [..., M, N].
///
/// The leading axes are equal, or only one operand has any and the other serves every matrix of it. A vector takes part
/// as one row on the left or one column on the right, and its axis is missing from the result: [K] x [K, N] gives [N],
/// [M, K] x [K] gives [M], [K] x [K] a scalar; transpose does nothing to it.
/// Both operands float32 or both float64; the sums are made in that type. K = 0 gives zeros; M, N or a leading axis of
/// 0 an empty result. ShapeError names both shapes.
///
/// Bitwise equal for any number of threads; an element's value does not depend on the rows and columns around it. No
/// operand is copied as a whole: the kernel packs blocks of up to 6 MB while it runs. On a GPU cuBLAS multiplies where
/// it can be loaded (see uses_cublas): equal from run to run, but the size of the product may decide the last bits.
/// Gradient: da = dc b^T, db = a^T dc, each only if wanted, summed over the leading axes that an operand lacks. Keeps
/// the operand the other one's gradient needs.
Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options = {});

/// Whether cuBLAS multiplies on GPUs: it is in this build and could be loaded. Otherwise bough's own kernels do.
bool uses_cublas();

/// Whether cuBLAS may use the tensor cores of a GPU for float32 products of matmul, linear and linear_parts and for
/// their gradients: factors are then rounded to TF32, 10 bits of mantissa instead of 23, and added up in float32. Off
/// unless set: such products have errors of about 1e-3. Cards before Ampere, the CPU and bough's own kernels never do.
bool tf32_products();
/// Takes effect for products that start from now on, on all threads.
void set_tf32_products(bool allowed);

/// What linear applies to its sums while they are still in registers.
enum class Activation { none, relu, gelu };

/// A dense layer: activation(x weight^T + bias) with x [..., in], weight [out, in], bias [out] or undefined.
///
/// The result is [..., out]. gelu is the exact form, 0.5 z (1 + erf(z / sqrt 2)). Types, empty extents and determinism
/// as for matmul; in = 0 gives activation(bias).
/// Gradient: with dz = dy activation'(z): dx = dz weight, dweight = dz^T x, dbias = sum of the rows of dz in a fixed
/// order; only what is wanted. Keeps x and weight as needed, for relu the result, for gelu z (one more tensor of the
/// result's size, made only if backward can come).
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, Activation activation = Activation::none);

/// One of the layers of linear_parts.
struct LinearPart {
  Tensor weight;     ///< [out, in]
  Tensor bias = {};  ///< [out], or undefined
};

/// Several dense layers of the same input in one operation: result i is x weight_i^T + bias_i, [..., out_i].
///
/// The same values as linear one by one, without activation. Gradient: as for linear; those of x are added up where
/// they are made, so one tensor holds them. At least one part; the parts may differ in out. Keeps x once.
std::vector<Tensor> linear_parts(const Tensor& x, const std::vector<LinearPart>& parts);

}  // namespace bough
