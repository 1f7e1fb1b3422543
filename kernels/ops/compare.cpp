#include "bough/ops/compare.h"

#include "bough/autograd/autograd.h"
#include "bough/ops/reduce.h"
#include "kernels/cuda/select.h"
#include "kernels/device_data.h"
#include "kernels/on_device.h"
#include "kernels/ops/elementwise.h"

namespace bough {
namespace {

Tensor compare_values(const char* name, Comparison comparison, const Tensor& a, const Tensor& b) {
  require_alike(name, a, b);
  const Shape shape = broadcast_shapes(name, a.shape(), b.shape());
  Tensor result = Tensor::empty(shape, DType::boolean, a.device());
  on_any_device_any_type(name, a, [&]<typename T>(auto backend, TypeTag<T>) {
    compare(backend, comparison, broadcast_layout<2>(shape, {a.shape(), b.shape()}), device_data<T>(a),
            device_data<T>(b), device_data<bool>(result));
  });
  return result;
}

Tensor compare_values(const char* name, Comparison comparison, const Tensor& a, double b) {
  return compare_values(name, comparison, a, number_like(name, b, a));
}

}  // namespace

Tensor equal(const Tensor& a, const Tensor& b) { return compare_values("equal", Comparison::equal, a, b); }
Tensor not_equal(const Tensor& a, const Tensor& b) { return compare_values("not_equal", Comparison::not_equal, a, b); }
Tensor less(const Tensor& a, const Tensor& b) { return compare_values("less", Comparison::less, a, b); }
Tensor less_equal(const Tensor& a, const Tensor& b) {
  return compare_values("less_equal", Comparison::less_equal, a, b);
}
Tensor greater(const Tensor& a, const Tensor& b) { return compare_values("greater", Comparison::greater, a, b); }
Tensor greater_equal(const Tensor& a, const Tensor& b) {
  return compare_values("greater_equal", Comparison::greater_equal, a, b);
}

Tensor equal(const Tensor& a, double b) { return compare_values("equal", Comparison::equal, a, b); }
Tensor not_equal(const Tensor& a, double b) { return compare_values("not_equal", Comparison::not_equal, a, b); }
Tensor less(const Tensor& a, double b) { return compare_values("less", Comparison::less, a, b); }
Tensor less_equal(const Tensor& a, double b) { return compare_values("less_equal", Comparison::less_equal, a, b); }
Tensor greater(const Tensor& a, double b) { return compare_values("greater", Comparison::greater, a, b); }
Tensor greater_equal(const Tensor& a, double b) {
  return compare_values("greater_equal", Comparison::greater_equal, a, b);
}

Tensor where(const Tensor& mask, const Tensor& a, const Tensor& b) {
  if (mask.dtype() != DType::boolean) {
    throw TypeError(
        "where", fmt::format("the mask must be bool, not {}; comparisons and cast() give one", name_of(mask.dtype())));
  }
  require_alike("where", a, b);
  require_same_device("where", {mask, a});
  const Shape shape = broadcast_shapes("where", mask.shape(), broadcast_shapes("where", a.shape(), b.shape()));
  Tensor y = Tensor::empty(shape, a.dtype(), a.device());
  on_any_device_any_type("where", a, [&]<typename T>(auto backend, TypeTag<T>) {
    select(backend, broadcast_layout<3>(shape, {mask.shape(), a.shape(), b.shape()}), device_data<bool>(mask),
           device_data<T>(a), device_data<T>(b), device_data<T>(y));
  });
  // y = mask ? a : b:  da = mask ? dy : 0, db = mask ? 0 : dy
  return autograd::record({.name = "where",
                           .inputs = {a, b},
                           .saved = {mask},
                           .backward = [from_a = a.shape(), from_b = b.shape()](const BackwardCall& call) -> Gradients {
                             const Tensor &chosen = call.saved(0), &dy = call.gradient();
                             Gradients gradients(2);
                             if (call.needs(0)) gradients[0] = sum_to_shape(where(chosen, dy, 0), from_a);
                             if (call.needs(1)) gradients[1] = sum_to_shape(where(chosen, 0, dy), from_b);
                             return gradients;
                           }},
                          y);
}

Tensor where(const Tensor& mask, const Tensor& a, double b) { return where(mask, a, number_like("where", b, a)); }
Tensor where(const Tensor& mask, double a, const Tensor& b) { return where(mask, number_like("where", a, b), b); }

}  // namespace bough
