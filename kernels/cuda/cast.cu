#include "kernels/cuda/cast.h"
#include "kernels/cuda/queue.h"
#include "kernels/simt/cast.h"

namespace bough {

void cast(Cuda gpu, DType from_type, const void* from, DType to_type, void* to, std::int64_t count) {
  cuda::on_gpu("cast", gpu, [&](auto& queue) {
    visit_dtype(from_type, [&]<typename From>(TypeTag<From>) {
      visit_dtype(to_type, [&]<typename To>(TypeTag<To>) {
        simt::cast(queue, static_cast<const From*>(from), static_cast<To*>(to), count);
      });
    });
  });
}

}  // namespace bough
