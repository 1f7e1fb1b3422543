#include "kernels/cuda/linear.h"
#include "kernels/cuda/queue.h"
#include "kernels/simt/linear.h"

namespace bough {

template <typename T>
void column_sums(Cuda gpu, std::int64_t rows, std::int64_t width, const T* x, T* sums) {
  cuda::on_gpu("column_sums", gpu, [&](auto& queue) { simt::column_sums(queue, rows, width, x, sums); });
}
template void column_sums(Cuda, std::int64_t, std::int64_t, const float*, float*);
template void column_sums(Cuda, std::int64_t, std::int64_t, const double*, double*);

}  // namespace bough
