#include "kernels/cpu/gspmm.h"

namespace bough {

template <typename T>
void reduce_max(const GspmmArguments<T>& arguments) {
  reduce_with(arguments, mp::Max{});
}

template void reduce_max(const GspmmArguments<float>&);
template void reduce_max(const GspmmArguments<double>&);

}  // namespace bough
