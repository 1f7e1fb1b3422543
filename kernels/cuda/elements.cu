#include <type_traits>

#include "kernels/cuda/elements.h"
#include "kernels/cuda/queue.h"
#include "kernels/simt/elementwise.h"
#include "kernels/simt/rows.h"

namespace bough {
namespace {

/// Calls f with a number as large as an element.
template <typename F>
void with_unit(std::size_t size, const F& f) {
  if (size == 1) return f(std::uint8_t{});
  if (size == 2) return f(std::uint16_t{});
  if (size == 4) return f(std::uint32_t{});
  f(std::uint64_t{});
}

}  // namespace

void strided_copy(Cuda gpu, const StridedMove& move, std::size_t size, const void* source, void* target) {
  cuda::Queue queue(gpu.device);
  with_unit(size, [&]<typename Unit>(Unit) {
    simt::strided_copy(queue, move, static_cast<const Unit*>(source), static_cast<Unit*>(target));
  });
}

void select(Cuda gpu, const BroadcastPlan<3>& plan, std::size_t size, const bool* mask, const void* a, const void* b,
            void* result) {
  cuda::Queue queue(gpu.device);
  with_unit(size, [&]<typename Unit>(Unit) {
    simt::select(queue, plan, mask, static_cast<const Unit*>(a), static_cast<const Unit*>(b),
                 static_cast<Unit*>(result));
  });
}

void put_rows(Cuda gpu, const std::int32_t* rows, std::int64_t count, std::int64_t width, std::size_t size,
              const void* values, void* target) {
  cuda::Queue queue(gpu.device);
  with_unit(size, [&]<typename Unit>(Unit) {
    simt::put_rows(
        queue, simt::PutRows<Unit>{static_cast<const Unit*>(values), rows, static_cast<Unit*>(target), count, width});
  });
}

void cast(Cuda gpu, DType from_type, const void* from, DType to_type, void* to, std::int64_t count) {
  cuda::Queue queue(gpu.device);
  visit_dtype(from_type, [&]<typename From>(TypeTag<From>) {
    visit_dtype(to_type, [&]<typename To>(TypeTag<To>) {
      simt::cast(queue, static_cast<const From*>(from), static_cast<To*>(to), count);
    });
  });
}

void compare(Cuda gpu, Comparison comparison, const BroadcastPlan<2>& plan, DType type, const void* a, const void* b,
             bool* result) {
  cuda::Queue queue(gpu.device);
  visit_all_but_bfloat16("compare", type, [&]<typename T>(TypeTag<T>) {
    simt::binary(queue, scalar::Compare{comparison}, plan, static_cast<const T*>(a), static_cast<const T*>(b), result);
  });
}

template <typename T>
void reduce(Cuda gpu, BinaryFunction function, const simt::ReduceExtents& extents, const T* x, T* result) {
  using Partial = std::conditional_t<std::is_same_v<T, float>, double, T>;
  cuda::Queue queue(gpu.device);
  simt::reduce<Partial>(queue, function, extents, x, result);
}

template <typename T>
void arg_reduce(Cuda gpu, const simt::ArgReduce<T>& lines) {
  cuda::Queue queue(gpu.device);
  simt::arg_reduce(queue, lines);
}

template <typename T>
void arg_reduce_gradient(Cuda gpu, const simt::ArgReduceGradient<T>& lines) {
  cuda::Queue queue(gpu.device);
  simt::arg_reduce_gradient(queue, lines);
}

template <typename T>
void axis_softmax(Cuda gpu, const simt::AxisSoftmax<T>& lines) {
  cuda::Queue queue(gpu.device);
  simt::axis_softmax(queue, lines);
}

template <typename T>
void axis_softmax_gradient(Cuda gpu, const simt::AxisSoftmaxGradient<T>& lines) {
  cuda::Queue queue(gpu.device);
  simt::axis_softmax_gradient(queue, lines);
}

}  // namespace bough

#include "kernels/cuda/elements_instances.h"
