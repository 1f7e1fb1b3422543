#include "kernels/cuda/queue.h"
#include "kernels/cuda/unary.h"
#include "kernels/simt/unary.h"

namespace bough {

template <typename T>
void unary(Cuda gpu, UnaryFunction function, UnaryParameters parameters, const T* x, T* y, std::int64_t count) {
  cuda::on_gpu("unary", gpu, [&](auto& queue) { simt::unary(queue, function, parameters, x, y, count); });
}
template void unary(Cuda, UnaryFunction, UnaryParameters, const float*, float*, std::int64_t);
template void unary(Cuda, UnaryFunction, UnaryParameters, const double*, double*, std::int64_t);

template <typename T>
void unary_backward(Cuda gpu, UnaryFunction function, UnaryParameters parameters, const T* saved, const T* dy, T* dx,
                    std::int64_t count) {
  cuda::on_gpu("unary_backward", gpu,
               [&](auto& queue) { simt::unary_backward(queue, function, parameters, saved, dy, dx, count); });
}
template void unary_backward(Cuda, UnaryFunction, UnaryParameters, const float*, const float*, float*, std::int64_t);
template void unary_backward(Cuda, UnaryFunction, UnaryParameters, const double*, const double*, double*, std::int64_t);

}  // namespace bough
