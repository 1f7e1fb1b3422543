#include "kernels/cpu/gspmm.h"

namespace bough {

template <typename T>
void reduce_min(const GspmmArguments<T>& arguments) {
  reduce_with(arguments, mp::Min{});
}

template void reduce_min(const GspmmArguments<float>&);
template void reduce_min(const GspmmArguments<double>&);

}  // namespace bough
