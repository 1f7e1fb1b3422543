#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "bough/core/errors.h"
#include "bough/core/parallel.h"
#include "bough/graph/graph.h"

namespace bough {
namespace {

void require_row_offsets(const char* where, std::span<const std::int64_t> offsets, std::int64_t num_indices) {
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != num_indices) {
    throw GraphError(
        where, fmt::format("offsets must start at 0 and end at the {} indices, but {}", num_indices,
                           offsets.empty() ? "there are none"
                                           : fmt::format("they go from {} to {}", offsets.front(), offsets.back())));
  }
  const auto bad = std::is_sorted_until(offsets.begin(), offsets.end());
  if (bad != offsets.end()) {
    throw GraphError(where, fmt::format("offsets must not descend, but entry {} is {} after {}", bad - offsets.begin(),
                                        *bad, *(bad - 1)));
  }
}

/// Row number of every position.
IdBuffer expand_rows(std::span<const std::int64_t> offsets, std::int64_t num_indices) {
  IdBuffer rows(num_indices);
  const auto num_rows = static_cast<std::int64_t>(offsets.size()) - 1;
  const std::int64_t degree = num_indices / std::max<std::int64_t>(1, num_rows) + 1;
  parallel_chunks(num_rows, rows_per_chunk(degree), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const auto at = static_cast<std::size_t>(row);
      std::fill(rows.data() + offsets[at], rows.data() + offsets[at + 1], static_cast<std::int32_t>(row));
    }
  });
  return rows;
}

void require_permutation(const char* where, std::span<const std::int32_t> edge_ids, std::int64_t num_edges) {
  if (static_cast<std::int64_t>(edge_ids.size()) != num_edges) {
    throw GraphError(where, fmt::format("edge_ids needs one entry for each of the {} indices, but has {}", num_edges,
                                        edge_ids.size()));
  }
  std::vector<bool> seen(edge_ids.size());
  for (std::size_t position = 0; position < edge_ids.size(); ++position) {
    const std::int32_t edge = edge_ids[position];
    if (edge < 0 || edge >= num_edges || seen[static_cast<std::size_t>(edge)]) {
      throw GraphError(
          where, fmt::format("edge_ids must hold each of 0 to {} once, but entry {} is {}{}", num_edges - 1, position,
                             edge, edge < 0 || edge >= num_edges ? "" : " for the second time"));
    }
    seen[static_cast<std::size_t>(edge)] = true;
  }
}

/// values[p] for the edge at position p -> the same by edge number.
IdArray by_edge(const IdArray& values, std::span<const std::int32_t> edge_ids) {
  IdBuffer result(values.size());
  for (std::size_t position = 0; position < edge_ids.size(); ++position) {
    result.data()[edge_ids[position]] = values.span()[position];
  }
  return IdArray(std::move(result));
}

struct Ends {
  IdArray rows;
  IdArray others;
};

Ends checked_ends(const char* where, std::span<const std::int64_t> offsets, IdArray indices, const IdArray& edge_ids) {
  require_row_offsets(where, offsets, indices.size());
  Ends ends{expand_rows(offsets, indices.size()), std::move(indices)};
  if (!edge_ids.empty()) {
    require_permutation(where, edge_ids.span(), ends.others.size());
    ends = {by_edge(ends.rows, edge_ids.span()), by_edge(ends.others, edge_ids.span())};
  }
  return ends;
}

}  // namespace

Graph Graph::from_csr(std::span<const std::int64_t> offsets, IdArray indices, CompressedOptions options) {
  Ends ends = checked_ends("Graph::from_csr", offsets, std::move(indices), options.edge_ids);
  const auto num_rows = static_cast<std::int64_t>(offsets.size()) - 1;
  if (!options.num_others) {
    return from_edges(
        std::move(ends.rows), std::move(ends.others),
        {.num_nodes = num_rows, .edge_types = std::move(options.edge_types), .num_edge_types = options.num_edge_types});
  }
  return bipartite(std::move(ends.rows), std::move(ends.others),
                   {.num_src = num_rows,
                    .num_dst = options.num_others,
                    .edge_types = std::move(options.edge_types),
                    .num_edge_types = options.num_edge_types});
}

Graph Graph::from_csc(std::span<const std::int64_t> offsets, IdArray indices, CompressedOptions options) {
  Ends ends = checked_ends("Graph::from_csc", offsets, std::move(indices), options.edge_ids);
  const auto num_rows = static_cast<std::int64_t>(offsets.size()) - 1;
  if (!options.num_others) {
    return from_edges(
        std::move(ends.others), std::move(ends.rows),
        {.num_nodes = num_rows, .edge_types = std::move(options.edge_types), .num_edge_types = options.num_edge_types});
  }
  return bipartite(std::move(ends.others), std::move(ends.rows),
                   {.num_src = options.num_others,
                    .num_dst = num_rows,
                    .edge_types = std::move(options.edge_types),
                    .num_edge_types = options.num_edge_types});
}

}  // namespace bough
