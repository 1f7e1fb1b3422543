#include "kernels/cpu/gspmm.h"

namespace bough {

template <typename T>
void reduce_arg_indices(const GspmmArguments<T>& arguments) {
  with_arg_index_message(arguments.message,
                         [&](const auto& kernel) { reduce_rows<false>(arguments, kernel, mp::Sum{}); });
}

template void reduce_arg_indices(const GspmmArguments<float>&);
template void reduce_arg_indices(const GspmmArguments<double>&);

}  // namespace bough
