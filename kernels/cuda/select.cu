#include "kernels/cuda/element_unit.h"
#include "kernels/cuda/queue.h"
#include "kernels/cuda/select.h"
#include "kernels/simt/binary.h"
#include "kernels/simt/select.h"

namespace bough {

void compare(Cuda gpu, Comparison comparison, const BroadcastLayout<2>& layout, DType type, const void* a,
             const void* b, bool* result) {
  cuda::on_gpu("compare", gpu, [&](auto& queue) {
    visit_all_but_bfloat16("compare", type, [&]<typename T>(TypeTag<T>) {
      simt::binary(queue, scalar::Compare{comparison}, layout, static_cast<const T*>(a), static_cast<const T*>(b),
                   result);
    });
  });
}

void select(Cuda gpu, const BroadcastLayout<3>& layout, std::size_t size, const bool* mask, const void* a,
            const void* b, void* result) {
  cuda::on_gpu("select", gpu, [&](auto& queue) {
    cuda::with_element_unit(size, [&]<typename Unit>(Unit) {
      simt::select(queue, layout, mask, static_cast<const Unit*>(a), static_cast<const Unit*>(b),
                   static_cast<Unit*>(result));
    });
  });
}

}  // namespace bough
