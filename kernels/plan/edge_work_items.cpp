#include "kernels/plan/edge_work_items.h"

#include <algorithm>

namespace bough::mp {
namespace {

/// Work items of fewer edges on average are not worth the disorder.
constexpr std::int64_t least_edges = 64;

/// Calls f(block of the first source, begin, end) for the parts of all rows.
template <typename F>
void for_each_part(const CscView& edges, const F& f) {
  for (std::int64_t row = 0; row < edges.num_rows(); ++row) {
    const std::int64_t last = edges.offsets[static_cast<std::size_t>(row) + 1];
    for (std::int64_t begin = edges.offsets[static_cast<std::size_t>(row)]; begin < last;) {
      const std::int64_t end = std::min(begin + EdgeWorkItems::longest_part, last);
      f(static_cast<std::size_t>(edges.indices[static_cast<std::size_t>(begin)] / EdgeWorkItems::block_sources), begin,
        end);
      begin = end;
    }
  }
}

}  // namespace

EdgeWorkItems make_edge_work_items(const CscView& edges, std::int64_t sources) {
  std::vector<std::size_t> first(static_cast<std::size_t>(sources / EdgeWorkItems::block_sources) + 2);
  for_each_part(edges, [&](std::size_t block, std::int64_t, std::int64_t) { ++first[block + 1]; });
  for (std::size_t block = 1; block < first.size(); ++block) first[block] += first[block - 1];
  std::vector<EdgeWorkItem> parts(first.back());
  for_each_part(edges, [&](std::size_t block, std::int64_t begin, std::int64_t end) {
    parts[first[block]++] = {begin, end};
  });

  EdgeWorkItems result;
  for (const EdgeWorkItem& part : parts) {
    const bool continues = !result.items.empty() && result.items.back().end == part.begin &&
                           part.end - result.items.back().begin <= EdgeWorkItems::longest_item;
    if (continues) {
      result.items.back().end = part.end;
    } else {
      result.items.push_back(part);
    }
  }
  if (static_cast<std::int64_t>(result.items.size()) * least_edges > edges.num_edges()) result.items.clear();
  result.items.shrink_to_fit();
  return result;
}

std::shared_ptr<const EdgeWorkItems> edge_work_items(const Graph& graph) {
  return graph.cached<EdgeWorkItems>(
      [&] { return make_edge_work_items(graph.csc(EdgeIds::implied), graph.num_src()); });
}

}  // namespace bough::mp
