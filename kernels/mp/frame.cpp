#include "bough/mp/frame.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ranges>

#include "bough/detail/mp/adjacency.h"
#include "bough/ops/gsddmm.h"
#include "bough/ops/gspmm.h"
#include "kernels/mp/general_path.h"
#include "kernels/mp/selection.h"
#include "kernels/ops/replace_rows.h"
#include "src/core/nearest_name.h"
#include "src/core/tensor_body.h"

namespace bough {
namespace {

const char* kind_of(Target target) { return target == Target::edge ? "edge" : "node"; }

/// Messages as reductions read them: a function that returns one tensor makes the message "m".
Fields named_messages(Fields messages) {
  if (auto only = messages.extract(""); !only.empty()) {
    only.key() = "m";
    messages.insert(std::move(only));
  }
  return messages;
}

/// A message by the name a built-in reduction asks for.
const Tensor& field(const Fields& messages, const std::string& name) {
  if (const auto found = messages.find(name); found != messages.end()) return found->second;
  throw GraphError(
      "reduce", fmt::format("there is no message '{}', only: {}", name, fmt::join(std::views::keys(messages), ", ")));
}

void require_same_name(const fn::Message& message, const fn::Reduce& reduce) {
  if (message.out != reduce.message) {
    throw GraphError(
        "reduce", fmt::format("reads message '{}', but the message function makes '{}'", reduce.message, message.out));
  }
}

void require_one_set_of_nodes(const Graph& graph) {
  if (graph.is_bipartite()) {
    throw GraphError("Frame", "a bipartite graph has two sets of nodes; use src_node() or dst_node()");
  }
}

}  // namespace

Frame::Frame(Graph graph) : graph_(std::move(graph)), waiting_(graph_.num_edges()) {}

template <typename Self>
auto& Frame::columns(Self& self, Target target) {
  if (target == Target::edge) return self.edges_;
  return target == Target::source && self.graph_.is_bipartite() ? self.sources_ : self.nodes_;
}

bool Frame::has(Target target, const std::string& name) const {
  const auto found = columns(*this, target).find(name);
  return found != columns(*this, target).end() && found->second.defined();
}

GraphError Frame::no_feature(Target target, const std::string& name) const {
  std::vector<std::string> known;  // naming a feature in order to assign to it makes an entry without a value
  for (const auto& [other, values] : columns(*this, target)) {
    if (values.defined()) known.push_back(other);
  }
  const Target other_target = target == Target::edge ? Target::destination : Target::edge;
  if (has(other_target, name) || (target == Target::edge && has(Target::source, name))) {
    return {"Frame", fmt::format("there is no {} feature '{}', but {} feature of that name", kind_of(target), name,
                                 target == Target::edge ? "a node" : "an edge")};
  }
  if (known.empty()) {
    return {"Frame", fmt::format("there is no {} feature '{}', nor any other", kind_of(target), name)};
  }
  return {"Frame", fmt::format("there is no {} feature '{}'{}; known are: {}", kind_of(target), name,
                               did_you_mean(name, known), fmt::join(known, ", "))};
}

Tensor& Frame::slot(Target target, const std::string& name) {
  Tensor& values = columns(*this, target)[name];
  if (!values.defined()) values = missing_tensor(std::make_exception_ptr(no_feature(target, name)));
  return values;
}

const Tensor& Frame::column(Target target, const std::string& name) const {
  if (!has(target, name)) throw no_feature(target, name);
  const Tensor& values = columns(*this, target).at(name);
  if (values.rank() == 0 || values.size(0) != mp::rows_of_target(graph_, target)) {
    throw ShapeError("Frame",
                     fmt::format("feature '{}' {} must have one row for each {}, the graph has {}", name,
                                 to_string(values.shape()), name_of(target), mp::rows_of_target(graph_, target)));
  }
  return values;
}

Device Frame::device() const {
  for (const Fields* features : {&nodes_, &sources_, &edges_}) {
    for (const auto& [name, values] : *features) {
      if (values.defined()) return values.device();
    }
  }
  return Device::cpu();
}

Tensor& Frame::node(const std::string& name) {
  require_one_set_of_nodes(graph_);
  return slot(Target::destination, name);
}
Tensor& Frame::src_node(const std::string& name) { return slot(Target::source, name); }
Tensor& Frame::dst_node(const std::string& name) { return slot(Target::destination, name); }
Tensor& Frame::edge(const std::string& name) { return slot(Target::edge, name); }

const Tensor& Frame::node(const std::string& name) const {
  require_one_set_of_nodes(graph_);
  return column(Target::destination, name);
}
const Tensor& Frame::src_node(const std::string& name) const { return column(Target::source, name); }
const Tensor& Frame::dst_node(const std::string& name) const { return column(Target::destination, name); }
const Tensor& Frame::edge(const std::string& name) const { return column(Target::edge, name); }

namespace {

/// The operand of a built-in message, with rows as the selection numbers them.
Tensor operand_of(const Frame& frame, const mp::Selection& selection, Target target, const std::string& name) {
  switch (target) {
    case Target::source:
      return frame.src_node(name);
    case Target::destination:
      return mp::rows_at(frame.dst_node(name), selection.receivers);
    case Target::edge:
      break;
  }
  return mp::rows_at(frame.edge(name), selection.edge_ids);
}

struct Operands {
  Tensor lhs, rhs;
};

Operands operands_of(const Frame& frame, const mp::Selection& selection, const fn::Message& message) {
  Operands operands{operand_of(frame, selection, message.lhs_target, message.lhs), {}};
  if (message.op != BinaryOp::copy_lhs) {
    operands.rhs = operand_of(frame, selection, message.rhs_target, message.rhs);
  }
  return operands;
}

/// "node feature 'h' float32 [4, 3]".
std::string described(Target target, const std::string& name, const Tensor& values) {
  return fmt::format("{} feature '{}' {} {}", kind_of(target), name, name_of(values.dtype()),
                     to_string(values.shape()));
}

/// compute(), a built-in message or what is made of it; an error about operands says which features they are.
template <typename Compute>
Tensor naming_features(const fn::Message& message, const Operands& operands, const Compute& compute) {
  const auto with_names = [&](const Error& error) {
    std::string text =
        fmt::format("{}; lhs is {}", error.what(), described(message.lhs_target, message.lhs, operands.lhs));
    if (operands.rhs.defined()) text += ", rhs is " + described(message.rhs_target, message.rhs, operands.rhs);
    return text;
  };
  try {
    return compute();
  } catch (const ShapeError& error) {
    throw ShapeError(with_names(error));
  } catch (const TypeError& error) {
    throw TypeError(with_names(error));
  }
}

/// The edges of a selection in the order of its buckets.
mp::Selection in_bucket_order(const mp::Selection& selection, const mp::DegreeBuckets& buckets) {
  return {buckets.graph, mp::picked_ids(selection.edge_ids, buckets.edge_ids), selection.receivers};
}

}  // namespace

Fields Frame::messages_of(const mp::Selection& selection, const MessageFunction& message) const {
  if (const fn::Message* built_in = message.built_in()) {
    const Operands operands = operands_of(*this, selection, *built_in);
    return {{built_in->out, naming_features(*built_in, operands, [&] {
               return gsddmm(selection.graph, built_in->op, operands.lhs, operands.rhs,
                             {.lhs = built_in->lhs_target, .rhs = built_in->rhs_target});
             })}};
  }
  Fields messages = message(EdgeBatch(*this, selection));
  mp::require_rows("message function", messages, selection.graph.num_edges(), "edges");
  return messages;
}

Fields Frame::reduced(const mp::Selection& selection, const Fields& messages, const ReduceFunction& reduce) const {
  if (const fn::Reduce* built_in = reduce.built_in()) {
    return {{built_in->out,
             gspmm(selection.graph, BinaryOp::copy_rhs, built_in->op, {}, field(messages, built_in->message))}};
  }
  const auto buckets = mp::degree_buckets(selection.graph);
  Fields ordered;
  for (const auto& [name, values] : messages) ordered[name] = mp::rows_at(values, buckets->edge_ids);
  return mp::reduce_by_degree(*this, *buckets, selection.receivers, ordered, reduce);
}

void Frame::pass(const mp::Selection& selection, const MessageFunction& message, const ReduceFunction& reduce,
                 const std::string& out) {
  if (reduce.built_in() == nullptr) {  // messages are made in the order in which they are reduced
    const auto buckets = mp::degree_buckets(selection.graph);
    const Fields messages = named_messages(messages_of(in_bucket_order(selection, *buckets), message));
    write(Target::destination, selection.receivers,
          mp::reduce_by_degree(*this, *buckets, selection.receivers, messages, reduce), out);
  } else if (message.built_in() == nullptr) {
    const Fields messages = named_messages(messages_of(selection, message));
    write(Target::destination, selection.receivers, reduced(selection, messages, reduce), out);
  } else {
    require_same_name(*message.built_in(), *reduce.built_in());
    const Operands operands = operands_of(*this, selection, *message.built_in());
    const Tensor result = naming_features(*message.built_in(), operands, [&] {
      return gspmm(selection.graph, message.built_in()->op, reduce.built_in()->op, operands.lhs, operands.rhs,
                   {.lhs = message.built_in()->lhs_target, .rhs = message.built_in()->rhs_target});
    });
    write(Target::destination, selection.receivers, {{reduce.built_in()->out, result}}, out);
  }
}

void Frame::write(Target target, const mp::RowIds& rows, const Fields& results, const std::string& out) {
  Fields written;
  for (const auto& [name, values] : results) {
    if (name.empty() == out.empty()) {
      throw ConfigError("Frame", name.empty()
                                     ? "the function gave one tensor without a name; pass the name of its result"
                                     : fmt::format("the result is named '{}' already; do not pass '{}'", name, out));
    }
    const std::string& column_name = name.empty() ? out : name;
    if (!rows.defined()) {
      written[column_name] = values;
      continue;
    }
    const Shape shape = values.shape().with(0, mp::rows_of_target(graph_, target));
    const Tensor before = has(target, column_name) ? columns(*this, target).at(column_name) : Tensor{};
    const bool fits = before.defined() && before.shape() == shape && before.dtype() == values.dtype();
    written[column_name] =
        replace_rows(fits ? before : zeros(shape, values.dtype(), values.device()), rows.on(values.device()), values);
  }
  for (auto& [name, values] : written) columns(*this, target)[name] = std::move(values);
}

namespace {

Fields results_of(const NodeFunction& function, const NodeBatch& nodes) {
  Fields results = function(nodes);
  mp::require_rows("node function", results, nodes.size(), "nodes");
  return results;
}

}  // namespace

void Frame::apply_edges(const MessageFunction& function, const std::string& out) {
  write(Target::edge, {}, messages_of(mp::select_all(graph_), function), out);
}

void Frame::apply_edges(const IdArray& edges, const MessageFunction& function, const std::string& out) {
  mp::require_distinct("apply_edges", "edge", edges, graph_.num_edges());
  const mp::Selection selection = mp::select_edges(graph_, edges);
  write(Target::edge, selection.edge_ids, messages_of(selection, function), out);
}

void Frame::apply_nodes(const NodeFunction& function, const std::string& out) {
  const Tensor all = arange(graph_.num_dst(), DType::int32, device());
  write(Target::destination, {}, results_of(function, NodeBatch(*this, all)), out);
}

void Frame::apply_nodes(const IdArray& nodes, const NodeFunction& function, const std::string& out) {
  mp::require_distinct("apply_nodes", "node", nodes, graph_.num_dst());
  const mp::RowIds ids(nodes.span());
  write(Target::destination, ids, results_of(function, NodeBatch(*this, ids.on(device()))), out);
}

void Frame::update_all(const MessageFunction& message, const ReduceFunction& reduce, const std::string& out) {
  pass(mp::select_all(graph_), message, reduce, out);
}

void Frame::send(const MessageFunction& message) {
  const Tensor all = arange(graph_.num_edges(), DType::int32);
  waiting_.put(all.span<std::int32_t>(), named_messages(messages_of(mp::select_all(graph_), message)));
}

void Frame::send(const IdArray& edges, const MessageFunction& message) {
  mp::require_distinct("send", "edge", edges, graph_.num_edges());
  waiting_.put(edges.span(), named_messages(messages_of(mp::select_edges(graph_, edges), message)));
}

void Frame::receive(const mp::Selection& selection, std::span<const std::int32_t> edges, const ReduceFunction& reduce,
                    const std::string& out) {
  const Fields messages = waiting_.read(edges);
  write(Target::destination, selection.receivers, reduced(selection, messages, reduce), out);
  waiting_.remove(edges);
}

void Frame::recv(const ReduceFunction& reduce, const std::string& out) {
  const Tensor all = arange(graph_.num_edges(), DType::int32);
  receive(mp::select_all(graph_), all.span<std::int32_t>(), reduce, out);
}

void Frame::recv(const IdArray& nodes, const ReduceFunction& reduce, const std::string& out) {
  mp::require_distinct("recv", "node", nodes, graph_.num_dst());
  const mp::Selection selection = mp::select_into(graph_, nodes);
  receive(selection, selection.edge_ids.host(), reduce, out);
}

std::int64_t Frame::num_waiting() const { return waiting_.count(); }

void Frame::pull(const IdArray& nodes, const MessageFunction& message, const ReduceFunction& reduce,
                 const std::string& out) {
  mp::require_distinct("pull", "node", nodes, graph_.num_dst());
  pass(mp::select_into(graph_, nodes), message, reduce, out);
}

void Frame::push(const IdArray& nodes, const MessageFunction& message, const ReduceFunction& reduce,
                 const std::string& out) {
  mp::require_distinct("push", "node", nodes, graph_.num_src());
  pass(mp::select_edges(graph_, graph_.out_edges(nodes).edge_ids), message, reduce, out);
}

void Frame::send_and_recv(const IdArray& edges, const MessageFunction& message, const ReduceFunction& reduce,
                          const std::string& out) {
  mp::require_distinct("send_and_recv", "edge", edges, graph_.num_edges());
  pass(mp::select_edges(graph_, edges), message, reduce, out);
}

void Frame::prop_nodes(const std::vector<IdArray>& frontiers, const MessageFunction& message,
                       const ReduceFunction& reduce, const std::string& out, const NodeFunction& apply) {
  for (const IdArray& nodes : frontiers) {
    pull(nodes, message, reduce, out);
    if (apply) apply_nodes(nodes, apply);
  }
}

void Frame::prop_edges(const std::vector<IdArray>& frontiers, const MessageFunction& message,
                       const ReduceFunction& reduce, const std::string& out, const NodeFunction& apply) {
  for (const IdArray& edges : frontiers) {
    mp::require_distinct("prop_edges", "edge", edges, graph_.num_edges());
    const mp::Selection selection = mp::select_edges(graph_, edges);
    pass(selection, message, reduce, out);
    if (apply) apply_nodes(selection.receivers.host(), apply);
  }
}

}  // namespace bough
