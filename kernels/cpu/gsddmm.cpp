#include "kernels/cpu/gsddmm.h"

#include "bough/detail/mp/row_reduction.h"

namespace bough {

template <typename T>
void gsddmm(Cpu, const GsddmmArguments<T>& arguments) {
  const mp::FeatureLayout& layout = *arguments.message.layout;
  const mp::FeatureLayout::Operand& result = arguments.message.result();
  const bool product = arguments.message.op == BinaryOp::mul || arguments.message.op == BinaryOp::dot;
  if (product && arguments.message.arg_indices == nullptr && result.step == 0 && result.distinct) {
    return gsddmm_dot(arguments);
  }
  const mp::FeatureBlock block = mp::cut_features(layout, result, 1).front();
  const auto run = [&]<typename Kernel>(const Kernel& kernel) {
    if constexpr (!Kernel::sums_inner) {
      if (result.distinct) {
        mp::map_edges<mp::Assign>(arguments.edges, kernel, arguments.results, result.width, block);
        return;
      }
    }
    mp::map_edges<mp::Sum>(arguments.edges, kernel, arguments.results, result.width, block);
  };
  if (arguments.message.arg_indices != nullptr) {
    with_arg_index_message(arguments.message, run);
  } else {
    with_message(arguments.message, run);
  }
}

template void gsddmm(Cpu, const GsddmmArguments<float>&);
template void gsddmm(Cpu, const GsddmmArguments<double>&);

}  // namespace bough
