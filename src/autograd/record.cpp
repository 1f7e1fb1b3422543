#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "src/autograd/gradient_node.h"
#include "src/core/tensor_body.h"

namespace bough {
namespace {

bool& recording() {
  thread_local bool enabled = true;
  return enabled;
}

/// An undefined tensor that says what to do when it is used.
Tensor no_gradient(bool requires_grad) {
  return missing_tensor(std::make_exception_ptr(AutogradError(
      "grad", requires_grad ? "there is no gradient yet; run backward() on what is computed from the tensor"
                            : "the tensor has no gradient; set_requires_grad(true) before it is used, then "
                              "run backward()")));
}

}  // namespace

std::uint64_t next_sequence() {
  // Shared by all threads, so that graphs built on several threads and joined later still order correctly.
  static std::atomic<std::uint64_t> counter{0};
  return counter.fetch_add(1, std::memory_order_relaxed);
}

NoGrad::NoGrad() : previous_(recording()) { recording() = false; }
NoGrad::~NoGrad() { recording() = previous_; }
bool grad_enabled() { return recording(); }
RecordingScope::RecordingScope() : previous_(recording()) { recording() = true; }
RecordingScope::~RecordingScope() { recording() = previous_; }

GradientNode::Input input_slot(const Tensor& tensor) {
  GradientNode::Input slot;
  if (!tensor.defined()) return slot;
  const std::shared_ptr<TensorBody>& body = tensor.body();
  slot.shape = body->shape;
  slot.dtype = body->dtype;
  slot.node = body->node;
  slot.output = body->output;
  if (body->node == nullptr && body->requires_grad) slot.leaf = body;
  return slot;
}

namespace autograd {

bool should_record(std::span<const Tensor> inputs) {
  return recording() && std::ranges::any_of(inputs, [](const Tensor& t) { return t.defined() && t.requires_grad(); });
}

bool should_record(std::initializer_list<Tensor> inputs) {
  return should_record(std::span<const Tensor>(inputs.begin(), inputs.size()));
}

std::vector<Tensor> record(Operation operation, std::vector<Tensor> outputs) {
  if (!should_record(operation.inputs)) return outputs;
  auto node = std::make_shared<GradientNode>();
  node->name = operation.name;
  node->sequence = next_sequence();
  node->backward = std::move(operation.backward);
  for (const Tensor& input : operation.inputs) node->inputs.push_back(input_slot(input));
  for (const Tensor& tensor : operation.saved) node->saved.emplace_back(tensor);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    TensorBody& body = *outputs[i].body();
    node->outputs.push_back({body.shape, body.dtype, body.storage->device()});
    body.requires_grad = true;
    body.node = node;
    body.output = i;
  }
  return outputs;
}

Tensor record(Operation operation, Tensor output) {
  std::vector<Tensor> outputs = record(std::move(operation), std::vector<Tensor>{std::move(output)});
  return std::move(outputs[0]);
}

}  // namespace autograd

GradientNode::~GradientNode() {
  std::vector<std::shared_ptr<GradientNode>> chain;
  const auto take_inputs = [&chain](GradientNode& node) {
    for (Input& input : node.inputs) {
      if (input.node != nullptr) chain.push_back(std::move(input.node));
    }
  };
  take_inputs(*this);
  while (!chain.empty()) {
    const std::shared_ptr<GradientNode> node = std::move(chain.back());
    chain.pop_back();
    if (node.use_count() == 1) take_inputs(*node);
  }
}

void GradientNode::require_usable() const {
  if (released) {
    throw AutogradError("backward",
                        fmt::format("'{}' has been run backward before and its saved tensors are gone; pass "
                                    "retain_graph = true to the first call",
                                    name));
  }
  for (const Saved& entry : saved) {
    if (const Tensor changed = entry.overwritten(); changed.defined()) {
      throw AutogradError("backward",
                          fmt::format("a tensor of shape {} that '{}' needs for its gradient was written in "
                                      "place after it was used; write to a clone()",
                                      to_string(changed.shape()), name));
    }
  }
}

void GradientNode::release() {
  released = true;
  saved.clear();
  backward = nullptr;
  run_again = nullptr;
}

bool Tensor::requires_grad() const { return defined() && body_->requires_grad; }
bool Tensor::is_leaf() const { return !defined() || body_->node == nullptr; }

Tensor& Tensor::set_requires_grad(bool value) {
  throw_if_missing(*this);
  if (!defined()) throw AutogradError("set_requires_grad", "the tensor is undefined; it was never given a value");
  if (!is_leaf()) {
    throw AutogradError("set_requires_grad",
                        fmt::format("the tensor was made by '{}'; only leaves can be set, detach() "
                                    "gives one",
                                    body_->node->name));
  }
  if (value && !is_floating(dtype())) {
    throw AutogradError("set_requires_grad",
                        fmt::format("only float32, float64 and bfloat16 have gradients, not {}", name_of(dtype())));
  }
  body_->requires_grad = value;
  return *this;
}

Tensor Tensor::grad() const {
  throw_if_missing(*this);
  if (!defined()) return {};
  if (!body_->gradient.defined()) return no_gradient(body_->requires_grad);
  if (body_->gradient.is_sparse()) body_->gradient = to_dense(body_->gradient, body_->shape);
  return body_->gradient.dense();
}

std::optional<RowGradient> Tensor::row_grad() const {
  if (!defined() || !body_->gradient.is_sparse()) return std::nullopt;
  return body_->gradient.as_rows();
}

void Tensor::set_grad(const Tensor& gradient) {
  if (!(gradient.shape() == shape()) || gradient.dtype() != dtype()) {
    throw ShapeError("set_grad",
                     fmt::format("the tensor is {} {}, the gradient {} {}; they must be equal", name_of(dtype()),
                                 to_string(shape()), name_of(gradient.dtype()), to_string(gradient.shape())));
  }
  body_->gradient = gradient;
}

void Tensor::clear_grad() {
  if (defined()) body_->gradient = {};
}

Tensor CustomFunction::apply(const std::vector<Tensor>& inputs) const {
  if (!forward) throw AutogradError(name, "has no forward function");
  if (!backward && autograd::should_record(inputs)) {
    throw AutogradError(name,
                        "an input requires a gradient, but there is no backward function; give one, or detach() "
                        "the input");
  }
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
