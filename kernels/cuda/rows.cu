#include "kernels/cuda/element_unit.h"
#include "kernels/cuda/queue.h"
#include "kernels/cuda/rows.h"

namespace bough {

template <typename Index>
void gather_rows(Cuda gpu, const std::byte* source, const Index* index, std::byte* target, std::int64_t rows,
                 std::int64_t width) {
  cuda::on_gpu("gather_rows", gpu, [&](auto& queue) { simt::gather_rows(queue, source, index, target, rows, width); });
}
template void gather_rows(Cuda, const std::byte*, const std::int32_t*, std::byte*, std::int64_t, std::int64_t);
template void gather_rows(Cuda, const std::byte*, const std::int64_t*, std::byte*, std::int64_t, std::int64_t);

void put_rows(Cuda gpu, const std::int32_t* rows, std::int64_t count, std::int64_t width, std::size_t size,
              const void* values, void* target) {
  cuda::on_gpu("put_rows", gpu, [&](auto& queue) {
    cuda::with_element_unit(size, [&]<typename Unit>(Unit) {
      simt::put_rows(
          queue, simt::PutRows<Unit>{static_cast<const Unit*>(values), rows, static_cast<Unit*>(target), count, width});
    });
  });
}

template <typename T>
void sum_rows(Cuda gpu, const simt::GroupedIndex& index, std::int64_t width, const T* values, T* sums) {
  cuda::on_gpu("sum_rows", gpu, [&](auto& queue) { simt::sum_rows(queue, index, width, values, sums); });
}
template void sum_rows(Cuda, const simt::GroupedIndex&, std::int64_t, const float*, float*);
template void sum_rows(Cuda, const simt::GroupedIndex&, std::int64_t, const double*, double*);

}  // namespace bough
