#include "kernels/cpu/gspmm.h"

namespace bough {
namespace {

/// One set of loops for both; they differ in the last step only.
struct SumOrMean : mp::Sum {
  bool mean = false;
  bool has_finish() const { return mean; }
  template <typename T>
  T finish(T total, std::int64_t count) const {
    return total / static_cast<T>(count);
  }
};

}  // namespace

template <typename T>
void reduce_sum(const GspmmArguments<T>& arguments) {
  SumOrMean reduce;
  reduce.mean = arguments.reduce == ReduceOp::mean;
  reduce_with(arguments, reduce);
}

template void reduce_sum(const GspmmArguments<float>&);
template void reduce_sum(const GspmmArguments<double>&);

}  // namespace bough
