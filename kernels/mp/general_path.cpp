#include "kernels/mp/general_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "bough/autograd/autograd.h"
#include "bough/detail/mp/features.h"
#include "bough/mp/frame.h"
#include "bough/ops/arrange.h"
#include "kernels/mp/selection.h"

namespace bough::mp {
namespace {

DegreeBuckets make_buckets(const Graph& graph) {
  const CscView csc = graph.csc();
  std::vector<std::int32_t> nodes;
  for (std::int64_t node = 0; node < graph.num_dst(); ++node) {
    if (csc.degree(node) > 0) nodes.push_back(static_cast<std::int32_t>(node));
  }
  std::ranges::stable_sort(nodes, {}, [&](std::int32_t node) { return csc.degree(node); });

  DegreeBuckets result;
  std::vector<std::int32_t> place(static_cast<std::size_t>(graph.num_dst()), static_cast<std::int32_t>(nodes.size()));
  std::vector<std::int32_t> edges, src, dst;
  const auto num_edges = static_cast<std::size_t>(graph.num_edges());
  edges.reserve(num_edges);
  src.reserve(num_edges);
  dst.reserve(num_edges);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto node = static_cast<std::size_t>(nodes[i]);
    place[node] = static_cast<std::int32_t>(i);
    if (result.buckets.empty() || result.buckets.back().degree != csc.degree(nodes[i])) {
      result.buckets.push_back({csc.degree(nodes[i]), 0});
    }
    ++result.buckets.back().nodes;
    for (auto p = static_cast<std::size_t>(csc.offsets[node]); p < static_cast<std::size_t>(csc.offsets[node + 1]);
         ++p) {
      edges.push_back(csc.edge_ids[p]);
      src.push_back(csc.indices[p]);
      dst.push_back(nodes[i]);
    }
  }
  result.nodes = RowIds(std::move(nodes));
  result.edge_ids = RowIds(std::move(edges));
  result.place_of_node = RowIds(std::move(place));
  result.graph =
      Graph::bipartite(std::move(src), std::move(dst), {.num_src = graph.num_src(), .num_dst = graph.num_dst()});
  return result;
}

using Parts = std::map<std::string, std::vector<Tensor>>;

/// Rows of a tensor as blocks that share its memory.
std::vector<Tensor> split_into_buckets(const Tensor& values, const std::vector<std::int64_t>& sizes) {
  std::vector<Tensor> blocks;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    blocks.push_back(values.detach().rows(begin, begin + size));
    begin += size;
  }
  // y0, y1, ... = consecutive rows of x:  dx = [dy0, dy1, ...]
  return autograd::record({.name = "split_into_buckets",
                           .inputs = {values},
                           .backward = [count = sizes.size()](const BackwardCall& call) -> Gradients {
                             std::vector<Tensor> gradients;
                             for (std::size_t i = 0; i < count; ++i) gradients.push_back(call.gradient(i));
                             return {concatenate(gradients, 0)};
                           }},
                          std::move(blocks));
}

/// Cuts every field into the blocks of the buckets.
Parts cut_messages(const DegreeBuckets& buckets, const Fields& messages) {
  std::vector<std::int64_t> sizes;
  for (const DegreeBuckets::Bucket& bucket : buckets.buckets) sizes.push_back(bucket.nodes * bucket.degree);
  Parts parts;
  for (const auto& [name, values] : messages) {
    parts[name] = sizes.size() <= 1 ? std::vector<Tensor>{values} : split_into_buckets(values, sizes);
  }
  return parts;
}

Tensor as_mailbox(const Tensor& messages, std::int64_t nodes, std::int64_t degree) {
  return messages.reshape(with_rows(nodes, with_rows(degree, row_shape(messages.shape()))));
}

void add_results(Parts& results, const Fields& fields, std::int64_t nodes) {
  require_rows("reduce function", fields, nodes, "nodes");
  for (const auto& [name, values] : fields) {
    std::vector<Tensor>& parts = results[name];
    if (!parts.empty() && row_shape(values.shape()) != row_shape(parts[0].shape())) {
      throw ShapeError("reduce function",
                       fmt::format("must give rows of one shape for every number of messages, it gave {} and {}",
                                   to_string(parts[0].shape()), to_string(values.shape())));
    }
    parts.push_back(values);
  }
}

}  // namespace

std::shared_ptr<const DegreeBuckets> degree_buckets(const Graph& graph) {
  return graph.cached<DegreeBuckets>([&] { return make_buckets(graph); });
}

Fields reduce_by_degree(const Frame& frame, const DegreeBuckets& buckets, const RowIds& receivers,
                        const Fields& messages, const ReduceFunction& reduce) {
  const Tensor nodes = picked_ids(receivers, buckets.nodes).on(frame.device());
  const Parts parts = cut_messages(buckets, messages);
  Parts results;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < buckets.buckets.size(); ++i) {
    const auto [degree, count] = buckets.buckets[i];
    Fields block;
    for (const auto& [name, tensors] : parts) block[name] = as_mailbox(tensors[i], count, degree);
    add_results(results, reduce(Mailbox(frame, nodes.rows(begin, begin + count), degree, std::move(block))), count);
    begin += count;
  }
  if (buckets.buckets.empty()) {  // no node receives anything: only the function knows the shape of its result
    Fields block;
    for (const auto& [name, values] : messages) block[name] = as_mailbox(values, 0, 1);
    add_results(results, reduce(Mailbox(frame, nodes, 1, std::move(block))), 0);
  }

  Fields reduced;
  for (auto& [name, tensors] : results) {
    if (tensors.size() != std::max<std::size_t>(1, buckets.buckets.size())) {
      throw GraphError(
          "reduce function",
          fmt::format("must give the same fields for every number of messages, '{}' is missing for some", name));
    }
    // One more row, of zeros, for all nodes without messages.
    tensors.push_back(zeros(tensors[0].shape().with(0, 1), tensors[0].dtype(), tensors[0].device()));
    reduced[name] = rows_at(concatenate(tensors, 0), buckets.place_of_node);
  }
  return reduced;
}

}  // namespace bough::mp
