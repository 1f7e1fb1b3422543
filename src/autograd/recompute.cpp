#include "bough/autograd/recompute.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "bough/core/random.h"
#include "src/autograd/gradient_node.h"
#include "src/core/tensor_body.h"

namespace bough {
namespace {

/// Runs the calling thread's default generator from another state, and puts it back.
class GeneratorState {
 public:
  explicit GeneratorState(RandomStream state) : previous_(default_generator().state()) {
    default_generator().set_state(state);
  }
  ~GeneratorState() { default_generator().set_state(previous_); }
  GeneratorState(const GeneratorState&) = delete;
  GeneratorState& operator=(const GeneratorState&) = delete;

 private:
  RandomStream previous_;
};

using Slot = GradientNode::Input;
using Function = std::function<Tensor(const std::vector<Tensor>&)>;

bool same_place(const Slot& a, const Slot& b) {
  return a.node == b.node && a.leaf == b.leaf && (a.node == nullptr || a.output == b.output);
}

/// Where gradients leave the operations recorded since `since`: each place once, in the order they are met.
std::vector<Slot> boundary(GradientNode* last, std::uint64_t since) {
  std::vector<Slot> places;
  std::unordered_set<GradientNode*> seen{last};
  std::vector<GradientNode*> open{last};
  while (!open.empty()) {
    GradientNode* node = open.back();
    open.pop_back();
    for (const Slot& input : node->inputs) {
      if (input.node != nullptr && input.node->sequence >= since) {
        if (seen.insert(input.node.get()).second) open.push_back(input.node.get());
      } else if (input.wanted() && std::ranges::none_of(places, [&](const Slot& s) { return same_place(s, input); })) {
        places.push_back(input);
      }
    }
  }
  return places;
}

/// Input i of the function as it was: the node keeps its value and its place in the history apart, since a closure that
/// kept the tensor itself would make the destruction of long histories recursive.
Tensor restored_input(const GradientNode& node, std::size_t i) {
  const Slot& slot = node.inputs[i];
  if (slot.leaf != nullptr) return Tensor(slot.leaf);
  Tensor input = node.saved[i].restored();
  if (!input.defined()) return {};
  input = input.detach();
  input.body()->requires_grad = slot.node != nullptr;
  input.body()->node = slot.node;
  input.body()->output = slot.output;
  return input;
}

Tensor run_function_again(const Function& f, std::size_t num_inputs, RandomStream random, const GradientNode& node) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < num_inputs; ++i) inputs.push_back(restored_input(node, i));
  const GeneratorState generator(random);
  const RecordingScope recording;
  const std::uint64_t since = next_sequence();
  Tensor output = f(inputs);
  const GradientNode::Output& before = node.outputs[0];
  if (!output.defined() || !(output.shape() == before.shape) || output.dtype() != before.dtype || output.is_leaf()) {
    const std::string now = !output.defined() ? "nothing"
                            : output.is_leaf()
                                ? "something that needs no gradient"
                                : fmt::format("{} {}", name_of(output.dtype()), to_string(output.shape()));
    throw AutogradError("recompute",
                        fmt::format("the function gave {} {} before and {} when it was run again; it must do the same "
                                    "each time",
                                    name_of(before.dtype), to_string(before.shape), now));
  }
  require_usable_history(output.body()->node.get(), since);
  return output;
}

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
    const TensorBody& saved = *entry.tensor.body();
    return saved.storage == body.storage && saved.offset == body.offset && saved.dtype == body.dtype &&
           saved.shape.elements() == body.shape.elements();
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

Tensor recompute(Function f, const std::vector<Tensor>& inputs) {
  if (!grad_enabled()) return f(inputs);
  const RandomStream random = default_generator().state();
  const std::uint64_t since = next_sequence();
  Tensor recorded = f(inputs);
  if (!recorded.defined()) throw AutogradError("recompute", "the function returned an undefined tensor");
  if (recorded.is_leaf() || recorded.body()->node->sequence < since) return recorded;  // nothing of its own to forget

  auto node = std::make_shared<GradientNode>();
  node->name = "recompute";
  node->sequence = next_sequence();
  std::vector<Slot> places = boundary(recorded.body()->node.get(), since);
  for (const Tensor& input : inputs) {
    const Slot slot = input_slot(input);
    const auto reached = [&slot](const Slot& place) { return same_place(place, slot); };
    node->inputs.push_back(std::ranges::any_of(places, reached) ? slot : Slot{});
    node->saved.emplace_back(input);
  }
  for (Slot& place : places) {
    if (place.leaf != nullptr) node->saved.emplace_back(Tensor(place.leaf));
    node->inputs.push_back(std::move(place));
  }
  node->run_again = [f = std::move(f), num_inputs = inputs.size(), random](const GradientNode& self) {
    return run_function_again(f, num_inputs, random, self);
  };

  const Tensor output = recorded.detach();
  node->outputs.push_back({output.shape(), output.dtype(), output.device()});
  output.body()->requires_grad = true;
  output.body()->node = std::move(node);
  return output;
}

GradientNode::Saved::Saved(const Tensor& value) {
  if (!value.defined()) return;
  recipe = value.body()->recipe;
  shape = value.shape();
  if (recipe != nullptr) return;
  // Without history: a saved output would otherwise keep its own node alive for ever.
  tensor = value.detach();
  version = value.version();
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
