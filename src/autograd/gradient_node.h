#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "bough/autograd/autograd.h"
#include "bough/core/random.h"

namespace bough {

struct ValueRecipe;

/// One recorded operation. Nodes point to the nodes of their inputs, so a tensor keeps exactly the history it needs.
class GradientNode {
 public:
  struct Input {
    std::shared_ptr<GradientNode> node;  ///< the operation that made it; null for leaves
    std::size_t output = 0;
    std::shared_ptr<TensorBody> leaf;  ///< where the gradient goes if there is no node; null if it is not wanted
    Shape shape;
    DType dtype = DType::float32;
    bool wanted() const { return node != nullptr || leaf != nullptr; }
  };
  struct Output {
    Shape shape;
    DType dtype = DType::float32;
    Device device;
  };
  /// A tensor that backward reads, without its history; or how to make it again.
  struct Saved {
    Tensor tensor;
    std::uint64_t version = 0;
    std::shared_ptr<ValueRecipe> recipe;  ///< set instead of the tensor
    Shape shape;                          ///< in which the recipe's value was read

    Saved() = default;
    explicit Saved(const Tensor& kept);
    /// The tensor, made again if need be; undefined if there is none.
    Tensor restored() const;
    /// What was written to since, of the tensor or of what it is made from; undefined if nothing was.
    Tensor overwritten() const;
  };

  GradientNode() = default;
  GradientNode(const GradientNode&) = delete;
  GradientNode& operator=(const GradientNode&) = delete;
  /// Takes chains apart one by one: the plain destructor would recurse once per operation and overflow the stack.
  ~GradientNode();

  /// AutogradError if the node was released or a saved tensor has been overwritten since.
  void require_usable() const;
  /// Forgets what only backward needs.
  void release();

  std::string_view name;
  std::uint64_t sequence = 0;  ///< grows with creation: an operation always comes after those of its inputs
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<Saved> saved;
  BackwardFunction backward;
  /// Set instead of `backward` if the operations behind the only output are not kept: makes that output again, with its
  /// history, and the gradient goes on from there. See recompute.cpp.
  std::function<Tensor(const GradientNode&)> run_again;
  bool released = false;
};

/// Grows with every call, over all threads.
std::uint64_t next_sequence();

/// How to make a value again that is not saved, and the value itself once backward has asked for it: it lives as long
/// as something in the history may still ask.
struct ValueRecipe {
  std::function<Tensor(const std::vector<Tensor>&)> make;
  std::vector<GradientNode::Saved> inputs;
  RandomStream random;  ///< where the default generator stood
  Shape shape;
  DType dtype = DType::float32;
  Tensor value;
};

/// Where the gradient of a tensor goes, as far as it wants one.
GradientNode::Input input_slot(const Tensor& tensor);

/// Looks at a whole history, so that misuse is found before anything is computed: AutogradError as in require_usable.
/// Operations before `since` are looked at, but not those behind them.
void require_usable_history(GradientNode* root, std::uint64_t since = 0);

/// The opposite of NoGrad, for what backward itself has to record.
class RecordingScope {
 public:
  RecordingScope();
  ~RecordingScope();
  RecordingScope(const RecordingScope&) = delete;
  RecordingScope& operator=(const RecordingScope&) = delete;

 private:
  bool previous_;
};

/// into += addition. Reuses a buffer only if it has no other owner.
void accumulate_gradient(Gradient& into, Gradient addition);

/// The same, for a gradient a user can read: never shares a buffer.
void accumulate_leaf_gradient(TensorBody& leaf, Gradient addition);

/// Row gradients as a tensor of the full shape.
Tensor to_dense(const Gradient& gradient, const Shape& shape);

}  // namespace bough
