#include <fmt/format.h>

#include <unordered_set>

#include "bough/autograd/recompute.h"
#include "src/autograd/generator_state.h"
#include "src/autograd/gradient_node.h"
#include "src/core/tensor_body.h"

namespace bough {
namespace {

Tensor value_of(ValueRecipe& recipe) {
  if (recipe.value.defined()) return recipe.value;
  std::vector<Tensor> inputs;
  for (const GradientNode::Saved& input : recipe.inputs) inputs.push_back(input.restored());
  const GeneratorState generator(recipe.random);
  const NoGrad no_grad;
  Tensor value = recipe.make(inputs);
  if (!value.defined() || !(value.shape() == recipe.shape) || value.dtype() != recipe.dtype) {
    throw AutogradError(
        "recompute_value",
        fmt::format("the function gave {} {} before and {} when it was run again; it must do the same each time",
                    name_of(recipe.dtype), to_string(recipe.shape),
                    value.defined() ? fmt::format("{} {}", name_of(value.dtype()), to_string(value.shape()))
                                    : std::string("nothing")));
  }
  return recipe.value = value.detach();
}

/// Operations recorded since `since` that kept the value themselves keep the recipe instead.
void forget(const Tensor& value, const std::shared_ptr<ValueRecipe>& recipe, std::uint64_t since) {
  const TensorBody& body = *value.body();
  const auto is_the_value = [&body](const GradientNode::Saved& entry) {
    if (!entry.tensor.defined()) return false;
    const TensorBody& kept = *entry.tensor.body();
    return kept.storage == body.storage && kept.offset == body.offset && kept.dtype == body.dtype &&
           kept.shape.elements() == body.shape.elements();
  };
  std::unordered_set<GradientNode*> seen;
  std::vector<GradientNode*> open{body.node.get()};
  while (!open.empty()) {
    GradientNode* node = open.back();
    open.pop_back();
    if (node == nullptr || node->sequence < since || !seen.insert(node).second) continue;
    for (GradientNode::Saved& entry : node->saved) {
      if (!is_the_value(entry)) continue;
      entry.shape = entry.tensor.shape();
      entry.recipe = recipe;
      entry.tensor = {};
    }
    for (const GradientNode::Input& input : node->inputs) open.push_back(input.node.get());
  }
}

}  // namespace

GradientNode::Saved::Saved(const Tensor& kept) {
  if (!kept.defined()) return;
  recipe = kept.body()->recipe;
  shape = kept.shape();
  if (recipe != nullptr) return;
  // Without history: a saved output would otherwise keep its own node alive for ever.
  tensor = kept.detach();
  version = kept.version();
}

Tensor GradientNode::Saved::restored() const {
  if (recipe == nullptr) return tensor;
  const Tensor value = value_of(*recipe);
  return make_view(value.body()->storage, value.body()->offset, shape, value.dtype());
}

Tensor GradientNode::Saved::overwritten() const {
  if (tensor.defined() && tensor.version() != version) return tensor;
  if (recipe == nullptr) return {};
  for (const Saved& input : recipe->inputs) {
    if (Tensor changed = input.overwritten(); changed.defined()) return changed;
  }
  return {};
}

Tensor recompute_value(std::function<Tensor(const std::vector<Tensor>&)> f, const std::vector<Tensor>& inputs) {
  if (!grad_enabled()) return f(inputs);
  const RandomStream random = default_generator().state();
  const std::uint64_t since = next_sequence();
  const Tensor value = f(inputs);
  if (!value.defined()) throw AutogradError("recompute_value", "the function returned an undefined tensor");
  if (value.is_leaf() || value.body()->node->sequence < since) return value;  // one of the inputs, or nothing to forget
  auto recipe = std::make_shared<ValueRecipe>();
  recipe->make = std::move(f);
  for (const Tensor& input : inputs) recipe->inputs.emplace_back(input);
  recipe->random = random;
  recipe->shape = value.shape();
  recipe->dtype = value.dtype();
  forget(value, recipe, since);
  value.body()->recipe = std::move(recipe);
  return value;
}

}  // namespace bough
