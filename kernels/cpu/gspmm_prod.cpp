#include "kernels/cpu/gspmm.h"

namespace bough {

template <typename T>
void reduce_prod(const GspmmArguments<T>& arguments) {
  reduce_with(arguments, mp::Product{});
}

template void reduce_prod(const GspmmArguments<float>&);
template void reduce_prod(const GspmmArguments<double>&);

}  // namespace bough
