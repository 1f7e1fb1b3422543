#include <cmath>

#include "bough/mp/message_reduce.h"

/// Functors that must not compile, one for each sentence of the compiler. compile.cmake compiles this file.
namespace {

using namespace bough;

struct TakesFourValues {
  float operator()(float a, float b, float c, float d) const { return a + b + c + d; }
};
struct IsNotConst {
  float operator()(float u) { return u; }
};
struct ReturnsAnInteger {
  int operator()(float u) const { return static_cast<int>(u); }
};
struct Copied {
  float operator()(float u) const { return u; }
};
struct GradientOfTooFew {
  float operator()(float u, float v) const { return u * v; }
  std::array<float, 1> gradient(float, float v) const { return {v}; }
};
struct GradientWithoutTheEdge {
  float operator()(mp::Edge edge, float u) const { return static_cast<float>(edge.type) * u; }
  std::array<float, 1> gradient(float) const { return {1}; }
};
struct NoIdentity {
  float operator()(float total, float message) const { return total + message; }
};
struct FinishWithoutCount : mp::Sum {
  bool has_finish() const { return true; }
  float finish(float total) const { return std::sqrt(total); }
};
struct FinishAlone : mp::Sum {
  float finish(float total, std::int64_t) const { return std::sqrt(total); }
};
struct DerivativeOfOne : mp::Sum {
  float derivative(float result) const { return 1 / result; }
};

}  // namespace

void compile_wrong_functors(const Graph& graph, const MessageOperands& operands) {
  message_reduce<TakesFourValues>(graph, operands);
  message_reduce<IsNotConst>(graph, operands);
  message_reduce<ReturnsAnInteger>(graph, operands);
  message_reduce<GradientOfTooFew>(graph, operands);
  message_reduce<GradientWithoutTheEdge>(graph, operands);
  message_reduce<Copied, NoIdentity>(graph, operands);
  message_reduce<Copied, FinishWithoutCount>(graph, operands);
  message_reduce<Copied, FinishAlone>(graph, operands);
  message_reduce<Copied, DerivativeOfOne>(graph, operands);
}
