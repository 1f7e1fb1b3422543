#include "kernels/cpu/gspmm.h"

namespace bough {
namespace {

/// One set of loops for mp::Max and mp::Min: they differ in the sign of what is compared, and multiplying by it is
/// exact.
struct Extreme {
  float sign = 1;  ///< 1 for the greatest, -1 for the least

  template <typename T>
  T identity() const {
    return static_cast<T>(sign) * mp::Max::identity<T>();
  }
  template <typename T>
  bool holds(T best, T message) const {
    return mp::Max::holds(static_cast<T>(sign) * best, static_cast<T>(sign) * message);
  }
  template <typename T>
  T operator()(T best, T message) const {
    return mp::better_of(*this, best, message);
  }
};

}  // namespace

template <typename T>
void reduce_extremes(const GspmmArguments<T>& arguments) {
  reduce_with(arguments, Extreme{arguments.reduce == ReduceOp::max ? 1.0F : -1.0F});
}

template void reduce_extremes(const GspmmArguments<float>&);
template void reduce_extremes(const GspmmArguments<double>&);

}  // namespace bough
