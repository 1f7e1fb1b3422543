#include "kernels/ops/cached_attention.h"

#include <algorithm>
#include <numeric>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/core/parallel.h"
#include "bough/ops/arrange.h"
#include "bough/ops/graph_attention.h"
#include "bough/ops/rows.h"
#include "kernels/attention/cpu/rows.h"
#include "kernels/cuda/rows.h"
#include "kernels/device_data.h"
#include "kernels/on_device.h"
#include "kernels/scratch.h"

namespace bough {
namespace {

/// How a call's heads are shared out.
struct GroupedHeads {
  std::int64_t per_group = 0, width = 0;
};

GroupedHeads heads_of(std::size_t groups, const Tensor& cache, const CachedAttentionOptions& options) {
  const std::int64_t per_group = options.heads / static_cast<std::int64_t>(groups);
  return {per_group, cache.size(1) / 2 / options.heads};
}

/// The weight of each edge, looked up by its distance.
Scratch<float> weights_of_edges(const CachedEdges& edges, const Tensor& table) {
  const std::int64_t heads = table.defined() ? table.size(1) : 0;
  Scratch<float> weights(heads * edges.num_edges());
  for (std::int64_t e = 0; e < edges.num_edges() && heads > 0; ++e) {
    std::copy_n(device_data<float>(table) + edges.distances()[static_cast<std::size_t>(e)] * heads, heads,
                weights.data() + e * heads);
  }
  return weights;
}

}  // namespace

void CachedEdges::clear() {
  offsets_.resize(1);
  rows_.clear();
  types_.clear();
  distances_.clear();
}

std::span<const std::int32_t> CachedEdges::edge_ids() const {
  const std::size_t known = edge_ids_.size();
  if (known < rows_.size()) {
    edge_ids_.resize(rows_.size());
    std::iota(edge_ids_.begin() + static_cast<std::ptrdiff_t>(known), edge_ids_.end(),
              static_cast<std::int32_t>(known));
  }
  return std::span(edge_ids_).first(rows_.size());
}

Tensor cached_attention(std::span<const CachedEdges> groups, const Tensor& queries, const Tensor& cache,
                        const CachedAttentionOptions& options) {
  if (cache.device().kind != Device::Kind::cpu) return cached_attention_on_graph(groups, queries, cache, options);
  const std::int64_t dim = cache.size(1) / 2;
  const std::int64_t destinations = options.destinations.value_or(groups[0].num_destinations());
  const auto [heads, width] = heads_of(groups.size(), cache, options);
  Tensor out = Tensor::empty({destinations, dim});
  const Scratch<float> lse(destinations * options.heads);
  std::int64_t first_head = 0;
  for (const CachedEdges& group : groups) {
    const auto offsets = group.offsets().first(static_cast<std::size_t>(destinations) + 1);
    const CompressedView view{offsets, group.rows().first(static_cast<std::size_t>(offsets.back())), group.edge_ids()};
    const RowSchedule schedule = make_row_schedule(view);
    const Scratch<float> weights = weights_of_edges(group, options.edge_weights);
    const std::int64_t column = first_head * width;
    AttentionInputs<float> in;
    in.heads = heads;
    in.width = in.value_width = width;
    in.q = {device_data<float>(queries) + column, queries.size(1), width};
    in.k = {device_data<float>(cache) + column, 2 * dim, width};
    in.v = {device_data<float>(cache) + dim + column, 2 * dim, width};
    if (options.relation_keys.defined()) in.relation_keys = {device_data<float>(options.relation_keys), width, 0};
    if (options.edge_weights.defined()) in.edge_weights = {weights.data(), heads, 1};
    in.scale = static_cast<float>(options.scale);
    attend_rows(Cpu{}, AttentionEdges{view, group.types(), &schedule}, in,
                AttentionOutputs<float>{{device_data<float>(out) + column, dim, width},
                                        {lse.data() + first_head, options.heads, 1}});
    first_head += heads;
  }
  return out;
}

Tensor cached_attention_on_graph(std::span<const CachedEdges> groups, const Tensor& queries, const Tensor& cache,
                                 const CachedAttentionOptions& options) {
  const NoGrad no_grad;
  const std::int64_t dim = cache.size(1) / 2, width = dim / options.heads;
  const std::int64_t all = groups[0].num_destinations();
  std::vector<std::int32_t> sources;
  for (const CachedEdges& group : groups) sources.insert(sources.end(), group.rows().begin(), group.rows().end());
  std::ranges::sort(sources);
  sources.erase(std::ranges::unique(sources).begin(), sources.end());
  const auto place = [&](std::int32_t row) {
    return static_cast<std::int32_t>(std::ranges::lower_bound(sources, row) - sources.begin());
  };
  std::vector<Graph> graphs;
  for (const CachedEdges& group : groups) {
    std::vector<std::int32_t> src, dst;
    for (std::int32_t i = 0; i < all; ++i) {
      const auto begin = group.offsets()[static_cast<std::size_t>(i)];
      const auto end = group.offsets()[static_cast<std::size_t>(i) + 1];
      for (std::int64_t e = begin; e < end; ++e) {
        src.push_back(place(group.rows()[static_cast<std::size_t>(e)]));
        dst.push_back(i);
      }
    }
    BipartiteOptions made{.num_src = std::ssize(sources), .num_dst = all};
    if (options.relation_keys.defined()) {
      made.edge_types = std::vector<std::int32_t>(group.types().begin(), group.types().end());
      made.num_edge_types = options.relation_keys.size(0);
    }
    graphs.push_back(Graph::bipartite(std::move(src), std::move(dst), std::move(made)));
  }
  const auto on_device = [&](std::span<const std::int32_t> ids) {
    return Tensor::from_span(ids, {std::ssize(ids)}, cache.device());
  };
  const Tensor read = gather_rows(cache, on_device(sources));
  const auto columns = [&](const Tensor& rows, std::int64_t begin) {
    return slice(rows, 1, begin, begin + dim).reshape({rows.size(0), options.heads, width});
  };
  const Tensor weights =
      options.edge_weights.defined() ? gather_rows(options.edge_weights, on_device(groups[0].distances())) : Tensor();
  const Tensor out =
      graph_attention(graphs, columns(queries.rows(0, all), 0), columns(read, 0), columns(read, dim),
                      {.relation_keys = options.relation_keys, .edge_weights = weights, .scale = options.scale});
  return out.reshape({all, dim}).rows(0, options.destinations.value_or(all));
}

void store_cached_rows(const Tensor& values, std::int64_t begin, std::span<const std::int32_t> rows, Tensor& cache) {
  const std::int64_t width = cache.size(1), stride = values.size(1);
  if (cache.device().kind != Device::Kind::cpu) {
    const Tensor picked = begin == 0 && stride == width ? values : slice(values, 1, begin, begin + width);
    const Tensor where = Tensor::from_span(rows, {std::ssize(rows)}, cache.device());
    put_rows(Cuda{cache.device().index}, device_data<std::int32_t>(where), std::ssize(rows), width, sizeof(float),
             device_data<float>(picked), device_data<float>(cache));
  } else {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(device_data<float>(values) + static_cast<std::int64_t>(i) * stride + begin, width,
                  device_data<float>(cache) + rows[i] * width);
    }
  }
  cache.mark_written();
}

}  // namespace bough
