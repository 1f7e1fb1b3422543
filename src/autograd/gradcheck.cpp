#include "bough/autograd/gradcheck.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "bough/autograd/autograd.h"
#include "bough/core/random.h"

namespace bough {

GradcheckResult gradcheck(const std::function<Tensor(const std::vector<Tensor>&)>& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options) {
  std::vector<Tensor> leaves;
  bool any = false;
  for (const Tensor& input : inputs) {
    Tensor leaf = input.defined() ? input.detach().clone() : Tensor();
    if (leaf.defined() && leaf.dtype() == DType::float64) {
      leaf.set_requires_grad(true);
      any = true;
    }
    leaves.push_back(leaf);
  }
  if (!any) throw TypeError("gradcheck", "needs at least one float64 input; float32 is too coarse for differences");

  const Tensor output = f(leaves);
  if (output.dtype() != DType::float64) {
    throw TypeError("gradcheck", fmt::format("the function must give float64, not {}", name_of(output.dtype())));
  }
  RandomGenerator generator(options.seed);
  const Tensor weights = randn(output.shape(), {.dtype = DType::float64, .generator = &generator});
  if (output.requires_grad()) output.backward({.gradient = weights});

  const auto value = [&] {
    const NoGrad no_grad;
    const Tensor result = f(leaves);
    const std::span<const double> a = result.span<double>(), b = weights.span<double>();
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };

  GradcheckResult result;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!leaves[i].requires_grad()) continue;
    const Tensor gradient = leaves[i].grad();
    for (std::int64_t j = 0; j < leaves[i].elements(); ++j) {
      double& element = leaves[i].data<double>()[j];
      const double original = element, step = options.step * std::max(1.0, std::abs(original));
      element = original + step;
      const double above = value();
      element = original - step;
      const double below = value();
      element = original;
      const double numeric = (above - below) / (2 * step);
      const double analytic = gradient.defined() ? gradient.data<double>()[j] : 0;
      const double error = std::abs(analytic - numeric) / std::max(1.0, std::abs(numeric));
      if (!(error <= result.largest_error)) {
        result.largest_error = error;
        if (!(error <= options.tolerance)) {
          result.report = fmt::format("input {} {}, element {}: backward gives {}, differences give {}", i,
                                      to_string(leaves[i].shape()), j, analytic, numeric);
        }
      }
    }
  }
  return result;
}

}  // namespace bough
