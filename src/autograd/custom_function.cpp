#include <algorithm>

#include "bough/autograd/autograd.h"

namespace bough {

Tensor apply(const CustomFunction& function, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> plain;
  for (const Tensor& input : inputs) plain.push_back(input.defined() ? input.detach() : Tensor());
  Tensor output;
  {
    const NoGrad no_grad;
    output = function.forward(plain);
  }
  if (!output.defined()) throw AutogradError(function.name, "forward returned an undefined tensor");
  // A forward that returns one of its inputs must not turn that input into an output of itself.
  output = output.detach();

  std::vector<Tensor> saved = plain;
  saved.push_back(output);
  return record({.name = function.name,
                 .inputs = inputs,
                 .saved = std::move(saved),
                 .backward =
                     [backward = function.backward, count = inputs.size()](const BackwardCall& call) {
                       std::vector<Tensor> kept;
                       for (std::size_t i = 0; i < count; ++i) kept.push_back(call.saved(i));
                       Gradients gradients;
                       for (Tensor& gradient : backward(kept, call.saved(count), call.gradient())) {
                         gradients.emplace_back(std::move(gradient));
                       }
                       return gradients;
                     }},
                output);
}

}  // namespace bough
