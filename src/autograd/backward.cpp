#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "src/autograd/gradient_node.h"
#include "src/core/tensor_body.h"

namespace bough {
namespace {

/// A node that gradients have reached, and what has arrived for each of its outputs.
struct Pending {
  std::shared_ptr<GradientNode> node;
  std::vector<Gradient> gradients;
};

Gradients run(GradientNode& node, std::vector<Gradient> arrived, bool retain) {
  std::vector<Tensor> gradients, saved;
  for (std::size_t i = 0; i < arrived.size(); ++i) {
    const GradientNode::Output& output = node.outputs[i];
    gradients.push_back(arrived[i].defined() ? to_dense(arrived[i], output.shape)
                                             : zeros(output.shape, output.dtype, output.device));
  }
  arrived.clear();
  for (const GradientNode::Saved& entry : node.saved) saved.push_back(entry.restored());
  std::vector<bool> needs;
  for (const GradientNode::Input& input : node.inputs) needs.push_back(input.wanted());

  const BackwardFunction backward = retain ? node.backward : std::move(node.backward);
  if (!retain) node.release();
  return backward(BackwardCall(std::move(gradients), std::move(saved), std::move(needs)));
}

/// What is wrong with a gradient given as rows; empty if nothing is.
std::string fault_of(const RowGradient& gradient, const GradientNode::Input& input) {
  if (input.shape.rank() == 0 || gradient.rows.rank() != 1 || gradient.rows.dtype() != DType::int64) {
    return "row numbers must be int64 [R], for an input that has rows";
  }
  const Shape expected = input.shape.with(0, gradient.rows.elements());
  if (!(gradient.values.shape() == expected) || gradient.values.dtype() != input.dtype) {
    return fmt::format("the values are {} {} instead of {} {}", name_of(gradient.values.dtype()),
                       to_string(gradient.values.shape()), name_of(input.dtype), to_string(expected));
  }
  std::int64_t before = -1;
  for (const std::int64_t row : gradient.rows.span<std::int64_t>()) {
    if (row <= before || row >= input.shape[0]) {
      return fmt::format("row {} after row {} is not in ascending order within {} rows", row, before, input.shape[0]);
    }
    before = row;
  }
  return {};
}

void require_fitting(const GradientNode& node, const Gradients& gradients) {
  if (gradients.size() != node.inputs.size()) {
    throw AutogradError("backward", fmt::format("'{}' has {} inputs, its backward returned {} gradients", node.name,
                                                node.inputs.size(), gradients.size()));
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const GradientNode::Input& input = node.inputs[i];
    if (!gradients[i].defined() || !input.wanted()) continue;
    if (gradients[i].is_sparse()) {
      if (const std::string fault = fault_of(gradients[i].as_rows(), input); !fault.empty()) {
        throw AutogradError(
            "backward", fmt::format("'{}' returned rows as the gradient of input {}, which is {} {}: {}", node.name, i,
                                    name_of(input.dtype), to_string(input.shape), fault));
      }
      continue;
    }
    const Tensor& gradient = gradients[i].dense();
    if (!(gradient.shape() == input.shape) || gradient.dtype() != input.dtype) {
      throw AutogradError("backward", fmt::format("'{}' returned a gradient {} {} for input {}, which is {} {}",
                                                  node.name, name_of(gradient.dtype()), to_string(gradient.shape()), i,
                                                  name_of(input.dtype), to_string(input.shape)));
    }
  }
}

Tensor seed_of(const Tensor& tensor, const Tensor& given) {
  if (!given.defined()) {
    if (tensor.elements() != 1) {
      throw AutogradError("backward", fmt::format("a tensor of shape {} has no gradient of its own; reduce it to one "
                                                  "element or pass BackwardOptions::gradient",
                                                  to_string(tensor.shape())));
    }
    return ones(tensor.shape(), tensor.dtype(), tensor.device());
  }
  if (!(given.shape() == tensor.shape()) || given.dtype() != tensor.dtype()) {
    throw AutogradError(
        "backward",
        fmt::format("the tensor is {} {}, the gradient given for it {} {}; they must be equal", name_of(tensor.dtype()),
                    to_string(tensor.shape()), name_of(given.dtype()), to_string(given.shape())));
  }
  return given.detach();
}

/// The output of a node whose operations were not kept, made again.
Tensor run_again(GradientNode& node, bool retain) {
  if (retain) return node.run_again(node);
  const auto function = std::move(node.run_again);
  node.released = true;
  Tensor output = function(node);
  node.release();
  return output;
}

}  // namespace

void require_usable_history(GradientNode* root, std::uint64_t since) {
  std::unordered_set<GradientNode*> seen{root};
  std::vector<GradientNode*> open{root};
  while (!open.empty()) {
    GradientNode* node = open.back();
    open.pop_back();
    node->require_usable();
    if (node->sequence < since) continue;
    for (const GradientNode::Input& input : node->inputs) {
      if (input.node != nullptr && seen.insert(input.node.get()).second) open.push_back(input.node.get());
    }
  }
}

void Tensor::backward() const { backward(BackwardOptions{}); }

void Tensor::backward(const BackwardOptions& options) const {
  throw_if_missing(*this);
  if (!requires_grad()) {
    throw AutogradError("backward",
                        "nothing this tensor was computed from requires a gradient, or it was computed under "
                        "NoGrad");
  }
  Tensor seed = seed_of(*this, options.gradient);
  const NoGrad no_grad;
  if (body_->node == nullptr) {
    accumulate_leaf_gradient(*body_, std::move(seed));
    return;
  }
  require_usable_history(body_->node.get());

  // Later operations first: when a node's turn comes, all that use its outputs have had theirs.
  std::map<std::uint64_t, Pending, std::greater<>> pending;
  const auto deliver = [&pending](const std::shared_ptr<GradientNode>& node, std::size_t output, Gradient gradient) {
    Pending& entry = pending[node->sequence];
    if (entry.node == nullptr) {
      entry.node = node;
      entry.gradients.resize(node->outputs.size());
    }
    accumulate_gradient(entry.gradients[output], std::move(gradient));
  };

  deliver(body_->node, body_->output, std::move(seed));
  while (!pending.empty()) {
    Pending current = std::move(pending.extract(pending.begin()).mapped());
    GradientNode& node = *current.node;
    if (node.run_again != nullptr) {
      // What it records is newer than all that is pending and comes next, just as if it had been kept.
      const Tensor output = run_again(node, options.retain_graph);
      deliver(output.body()->node, output.body()->output, std::move(current.gradients[0]));
      continue;
    }
    Gradients gradients = run(node, std::move(current.gradients), options.retain_graph);
    require_fitting(node, gradients);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const GradientNode::Input& input = node.inputs[i];
      if (!gradients[i].defined()) continue;
      if (input.node != nullptr) {
        deliver(input.node, input.output, std::move(gradients[i]));
      } else if (input.leaf != nullptr) {
        accumulate_leaf_gradient(*input.leaf, std::move(gradients[i]));
      }
    }
  }
}

}  // namespace bough
