#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "bough/core/tensor.h"
#include "bough/graph/graph.h"
#include "bough/mp/fn.h"

/// What functions of the user's own see and return in message passing over a Frame.
namespace bough {

class Frame;
namespace mp {
class RowIds;
struct Selection;
}  // namespace mp

/// Named tensors: for functions that give more than one.
using Fields = std::map<std::string, Tensor>;

/// Some edges of a frame, in an order that the frame chooses. Every tensor has one row for each of them, and takes part
/// in autograd.
class EdgeBatch {
 public:
  /// Made by the frame.
  EdgeBatch(const Frame& frame, const mp::Selection& edges) : frame_(&frame), edges_(&edges) {}

  /// Number of edges.
  std::int64_t size() const;
  /// Features of the sources, of the destinations, and of the edges themselves. GraphError if there is no such feature.
  Tensor src(const std::string& name) const;
  Tensor dst(const std::string& name) const;
  Tensor edge(const std::string& name) const;
  /// Numbers of the edges, int32 [size], on the device of the frame.
  Tensor ids() const;
  /// Types of the edges, int32 [size], there too: an index for gather_rows over parameters with a row for each type.
  /// GraphError for a graph with edges but without types.
  Tensor type() const;

 private:
  const Frame* frame_;
  const mp::Selection* edges_;
};

/// Some nodes of a frame, one row each.
class NodeBatch {
 public:
  /// Made by the frame.
  NodeBatch(const Frame& frame, Tensor nodes) : frame_(&frame), nodes_(std::move(nodes)) {}

  /// Number of nodes.
  std::int64_t size() const { return nodes_.elements(); }
  /// A feature of the nodes (of a bipartite graph: of destinations). GraphError if there is no such feature.
  Tensor node(const std::string& name) const;
  /// Numbers of the nodes, int32 [size], on the device of the frame.
  const Tensor& nodes() const { return nodes_; }

 private:
  const Frame* frame_;
  Tensor nodes_;
};

/// Nodes that receive equally many messages, with their messages.
class Mailbox : public NodeBatch {
 public:
  /// Made by the frame.
  Mailbox(const Frame& frame, Tensor nodes, std::int64_t degree, Fields messages)
      : NodeBatch(frame, std::move(nodes)), degree_(degree), messages_(std::move(messages)) {}

  /// Messages of each node.
  std::int64_t degree() const { return degree_; }
  /// The messages [size, degree, ...], those of one node by ascending source, then in edge order. Without a name: the
  /// only ones there are.
  const Tensor& messages() const;
  const Tensor& messages(const std::string& name) const;

 private:
  std::int64_t degree_;
  Fields messages_;
};

namespace mp {

/// A callable on a batch that gives one tensor, or several by name.
template <typename F, typename Batch>
concept BatchFunction = std::is_invocable_v<const F&, const Batch&> &&
    (std::is_convertible_v<std::invoke_result_t<const F&, const Batch&>, Tensor> ||
     std::is_convertible_v<std::invoke_result_t<const F&, const Batch&>, Fields>);

/// The result of such a callable; a single tensor has no name.
template <typename Batch, typename F>
std::function<Fields(const Batch&)> fields_of(F function) {
  return [function = std::move(function)](const Batch& batch) -> Fields {
    if constexpr (std::is_convertible_v<std::invoke_result_t<const F&, const Batch&>, Tensor>) {
      return {{"", function(batch)}};
    } else {
      return function(batch);
    }
  };
}

}  // namespace mp

/// What is sent along edges: a built-in from fn, or any callable on an EdgeBatch that returns a Tensor with a row for
/// each edge, or Fields of them.
class MessageFunction {
 public:
  /// A built-in, or a callable.
  MessageFunction(fn::Message message) : function_(std::move(message)) {}
  template <mp::BatchFunction<EdgeBatch> F>
  MessageFunction(F function) : function_(mp::fields_of<EdgeBatch>(std::move(function))) {}
  /// Anything else stops the compiler.
  template <typename F>
  requires(std::is_class_v<F> && !mp::BatchFunction<F, EdgeBatch>) MessageFunction(F /*function*/) {
    static_assert(mp::BatchFunction<F, EdgeBatch>,
                  "a message function takes a const EdgeBatch& and returns a Tensor or Fields");
  }

  /// The built-in; null for a callable.
  const fn::Message* built_in() const { return std::get_if<fn::Message>(&function_); }
  /// What the callable returns, by name.
  Fields operator()(const EdgeBatch& batch) const { return std::get<1>(function_)(batch); }

 private:
  std::variant<fn::Message, std::function<Fields(const EdgeBatch&)>> function_;
};

/// What receiving nodes make of their messages: a built-in from fn, or any callable on a Mailbox that returns a Tensor
/// with a row for each node, or Fields of them. It is called once for each number of messages that occurs.
class ReduceFunction {
 public:
  /// A built-in, or a callable.
  ReduceFunction(fn::Reduce reduce) : function_(std::move(reduce)) {}
  template <mp::BatchFunction<Mailbox> F>
  ReduceFunction(F function) : function_(mp::fields_of<Mailbox>(std::move(function))) {}
  /// Anything else stops the compiler.
  template <typename F>
  requires(std::is_class_v<F> && !mp::BatchFunction<F, Mailbox>) ReduceFunction(F /*function*/) {
    static_assert(mp::BatchFunction<F, Mailbox>,
                  "a reduce function takes a const Mailbox& and returns a Tensor or Fields");
  }

  /// The built-in; null for a callable.
  const fn::Reduce* built_in() const { return std::get_if<fn::Reduce>(&function_); }
  /// What the callable returns, by name.
  Fields operator()(const Mailbox& mailbox) const { return std::get<1>(function_)(mailbox); }

 private:
  std::variant<fn::Reduce, std::function<Fields(const Mailbox&)>> function_;
};

/// Any callable on a NodeBatch that returns a Tensor with a row for each node, or Fields of them.
class NodeFunction {
 public:
  NodeFunction() = default;
  /// A callable.
  template <mp::BatchFunction<NodeBatch> F>
  NodeFunction(F function) : function_(mp::fields_of<NodeBatch>(std::move(function))) {}
  /// Anything else stops the compiler.
  template <typename F>
  requires(std::is_class_v<F> && !mp::BatchFunction<F, NodeBatch>) NodeFunction(F /*function*/) {
    static_assert(mp::BatchFunction<F, NodeBatch>,
                  "a node function takes a const NodeBatch& and returns a Tensor or Fields");
  }

  /// Whether there is one.
  explicit operator bool() const { return function_ != nullptr; }
  /// What it returns, by name.
  Fields operator()(const NodeBatch& batch) const { return function_(batch); }

 private:
  std::function<Fields(const NodeBatch&)> function_;
};

}  // namespace bough
