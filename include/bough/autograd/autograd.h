#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "bough/core/tensor.h"

namespace bough {

/// How backward runs.
struct BackwardOptions {
  /// Gradient of the tensor itself; may be left out only for a single element, where it is 1.
  Tensor gradient = {};
  /// By default each operation's saved tensors are released as soon as its gradient is done, and a second backward over
  /// any of them is an AutogradError. With true they stay, and gradients of a second backward add to the first.
  bool retain_graph = false;
};

/// While it lives, operations on this thread are not recorded and in-place writes to parameters are allowed.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool previous_;
};

/// Whether operations of this thread are recorded for backward: true outside NoGrad.
bool grad_enabled();

/// A gradient that is zero except in some rows: what an embedding look-up gives back.
struct RowGradient {
  Tensor rows;    ///< int64 [R], ascending, each once
  Tensor values;  ///< [R, width...]
};

/// What backward gives for one input: nothing (zero), a tensor of the input's shape, or rows of it.
class Gradient {
 public:
  Gradient() = default;
  /// A gradient of the whole tensor, or of some of its rows.
  Gradient(Tensor dense) : values_(std::move(dense)) {}
  Gradient(RowGradient rows) : rows_(std::move(rows.rows)), values_(std::move(rows.values)) {}

  bool defined() const { return values_.defined(); }        ///< false: zero
  bool is_sparse() const { return rows_.defined(); }        ///< some rows only
  const Tensor& dense() const { return values_; }           ///< the tensor, or the values of the rows
  RowGradient as_rows() const { return {rows_, values_}; }  ///< the rows; only if is_sparse()

 private:
  Tensor rows_;
  Tensor values_;
};

/// One gradient for each input of an operation.
using Gradients = std::vector<Gradient>;

/// What an operation's backward function sees.
class BackwardCall {
 public:
  /// Made by backward.
  BackwardCall(std::vector<Tensor> gradients, std::vector<Tensor> saved, std::vector<bool> needs)
      : gradients_(std::move(gradients)), saved_(std::move(saved)), needs_(std::move(needs)) {}

  /// Gradient of an output, never undefined: zeros where nothing flowed back.
  const Tensor& gradient(std::size_t output = 0) const { return gradients_.at(output); }
  const Tensor& saved(std::size_t index) const { return saved_.at(index); }
  /// Whether the gradient of this input is used; if not, leave it undefined.
  bool needs(std::size_t input) const { return needs_.at(input); }

 private:
  std::vector<Tensor> gradients_, saved_;
  std::vector<bool> needs_;
};

/// Returns one gradient per input, in order. It runs under NoGrad: gradients of gradients are not recorded.
using BackwardFunction = std::function<Gradients(const BackwardCall&)>;

/// What an operation with a gradient of its own needs: kernels/ops has them all.
namespace autograd {

/// One operation as the tape sees it.
struct Operation {
  std::string_view name;        ///< a string literal
  std::vector<Tensor> inputs;   ///< in the order of the gradients that backward returns
  std::vector<Tensor> saved{};  ///< all tensors backward reads; kept without their history and watched for overwriting
  BackwardFunction backward;    ///< gives the gradients of the inputs
};

/// Ties outputs to their inputs. Does nothing, and keeps nothing, under NoGrad or if no input requires a gradient.
/// Cost: one node; O(inputs + outputs + saved).
Tensor record(Operation operation, Tensor output);
std::vector<Tensor> record(Operation operation, std::vector<Tensor> outputs);

/// True if record would keep the operation: ask before computing something that only backward needs.
bool should_record(std::initializer_list<Tensor> inputs);
bool should_record(std::span<const Tensor> inputs);

}  // namespace autograd

/// An operation of the user's own: CustomFunction{...}.apply({x, y}). forward receives the inputs without history;
/// whatever it returns is tied to them. backward receives (inputs, output, gradient of the output) and returns one
/// tensor per input, undefined = zero; shapes and types of what it returns are checked.
struct CustomFunction {
  std::function<Tensor(const std::vector<Tensor>& inputs)> forward;  ///< called under NoGrad
  /// (inputs, output, gradient of the output) to one gradient for each input.
  std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs, const Tensor& output, const Tensor& gradient)>
      backward;
  std::string_view name = "custom_function";  ///< for error messages

  /// forward(inputs), recorded. AutogradError if it returns an undefined tensor, or if an input requires a gradient and
  /// there is no backward.
  Tensor apply(const std::vector<Tensor>& inputs) const;
};

}  // namespace bough
