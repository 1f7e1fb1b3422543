#include "kernels/cuda/element_unit.h"
#include "kernels/cuda/queue.h"
#include "kernels/cuda/strided_copy.h"
#include "kernels/simt/strided_copy.h"

namespace bough {

void strided_copy(Cuda gpu, const StridedMove& move, std::size_t size, const void* source, void* target) {
  cuda::on_gpu("strided_copy", gpu, [&](auto& queue) {
    cuda::with_element_unit(size, [&]<typename Unit>(Unit) {
      simt::strided_copy(queue, move, static_cast<const Unit*>(source), static_cast<Unit*>(target));
    });
  });
}

}  // namespace bough
