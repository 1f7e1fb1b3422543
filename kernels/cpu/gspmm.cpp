#include "kernels/cpu/gspmm.h"

namespace bough {

template <typename T>
void gspmm(Cpu, const GspmmArguments<T>& arguments) {
  if (arguments.message.arg_indices != nullptr) return reduce_arg_indices(arguments);
  if (reduces_copies(arguments.reduce, arguments.message, arguments.results)) {
    return reduce_copies(arguments);
  }
  switch (arguments.reduce) {
    case ReduceOp::sum:
    case ReduceOp::mean:
      return reduce_sum(arguments);
    case ReduceOp::max:
    case ReduceOp::min:
      return reduce_extremes(arguments);
    case ReduceOp::prod:
      return reduce_prod(arguments);
  }
}

template void gspmm(Cpu, const GspmmArguments<float>&);
template void gspmm(Cpu, const GspmmArguments<double>&);

}  // namespace bough
