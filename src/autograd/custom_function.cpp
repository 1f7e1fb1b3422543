#include <algorithm>

#include "bough/autograd/autograd.h"

namespace bough {

Tensor CustomFunction::apply(const std::vector<Tensor>& inputs) const {
  std::vector<Tensor> plain;
  for (const Tensor& input : inputs) plain.push_back(input.defined() ? input.detach() : Tensor());
  Tensor output;
  {
    const NoGrad no_grad;
    output = forward(plain);
  }
  if (!output.defined()) throw AutogradError(name, "forward returned an undefined tensor");
  // A forward that returns one of its inputs must not turn that input into an output of itself.
  output = output.detach();

  std::vector<Tensor> saved = plain;
  saved.push_back(output);
  return autograd::record({.name = name,
                           .inputs = inputs,
                           .saved = std::move(saved),
                           .backward =
                               [function = backward, count = inputs.size()](const BackwardCall& call) {
                                 std::vector<Tensor> values;
                                 for (std::size_t i = 0; i < count; ++i) values.push_back(call.saved(i));
                                 Gradients gradients;
                                 for (Tensor& gradient : function(values, call.saved(count), call.gradient())) {
                                   gradients.emplace_back(std::move(gradient));
                                 }
                                 return gradients;
                               }},
                          output);
}

}  // namespace bough
