#include <cmath>

#include "bough/cuda/message_reduce.h"
#include "tests/cuda/functors.h"

namespace bough::test {
namespace {

struct SquaredDistance {
  BOUGH_HOST_DEVICE double operator()(double u, double v) const { return (u - v) * (u - v); }
  BOUGH_HOST_DEVICE std::array<double, 2> gradient(double u, double v) const { return {2 * (u - v), 2 * (v - u)}; }
};

struct Gated {
  BOUGH_HOST_DEVICE float operator()(float u, float v, float e) const { return u > v ? u * e : v * e * e; }
  BOUGH_HOST_DEVICE std::array<float, 3> gradient(float u, float v, float e) const {
    const bool larger = u > v;
    return {larger ? e : 0, larger ? 0 : e * e, larger ? u : 2 * v * e};
  }
};

struct Multiple {
  double factor = 1;
  BOUGH_HOST_DEVICE float operator()(float e) const { return static_cast<float>(factor) * e; }
  BOUGH_HOST_DEVICE std::array<float, 1> gradient(float) const { return {static_cast<float>(factor)}; }
};

struct Difference {
  BOUGH_HOST_DEVICE float operator()(float u, float v) const { return u - v; }
};

struct ByType {
  BOUGH_HOST_DEVICE float operator()(mp::Edge edge, float u, float v) const {
    return edge.type == 0 ? u * v : static_cast<float>(edge.type) * u;
  }
  BOUGH_HOST_DEVICE std::array<float, 2> gradient(mp::Edge edge, float u, float v) const {
    return {edge.type == 0 ? v : static_cast<float>(edge.type), edge.type == 0 ? u : 0};
  }
};

struct RootOfOneMore {
  template <typename T>
  BOUGH_HOST_DEVICE static constexpr T identity() {
    return 0;
  }
  template <typename T>
  BOUGH_HOST_DEVICE T operator()(T total, T message) const {
    return total + message;
  }
  BOUGH_HOST_DEVICE bool has_finish() const { return true; }
  template <typename T>
  BOUGH_HOST_DEVICE T finish(T total, std::int64_t) const {
    return std::sqrt(1 + total);
  }
  template <typename T>
  BOUGH_HOST_DEVICE T derivative(T, T result) const {
    return 1 / (2 * result);
  }
};

}  // namespace

Tensor sum_of_gated(const Graph& graph, const MessageOperands& operands) {
  return cuda::message_reduce<Gated, mp::Sum>(graph, operands);
}
Tensor mean_distance(const Graph& graph, const MessageOperands& operands, const MessageReduceOptions& options) {
  return cuda::message_reduce<SquaredDistance, mp::Mean>(graph, operands, options);
}
Tensor largest_distance(const Graph& graph, const MessageOperands& operands) {
  return cuda::message_reduce<SquaredDistance, mp::Max>(graph, operands);
}
Tensor root_of_distances(const Graph& graph, const MessageOperands& operands) {
  return cuda::message_reduce<SquaredDistance, RootOfOneMore>(graph, operands);
}
Tensor least_multiple(const Graph& graph, const MessageOperands& operands, double factor) {
  return cuda::message_reduce<Multiple, mp::Min>(graph, operands, {}, Multiple{factor});
}
Tensor sum_by_type(const Graph& graph, const MessageOperands& operands) {
  return cuda::message_reduce<ByType, mp::Sum>(graph, operands);
}
Tensor largest_by_type(const Graph& graph, const MessageOperands& operands) {
  return cuda::message_reduce<ByType, mp::Max>(graph, operands);
}
Tensor sum_without_gradient(const Graph& graph, const MessageOperands& operands) {
  return cuda::message_reduce<Difference, mp::Sum>(graph, operands);
}

}  // namespace bough::test
