#include "kernels/plan/edge_pieces.h"

#include <algorithm>

namespace bough::mp {
namespace {

/// Pieces of fewer edges on average are not worth the disorder.
constexpr std::int64_t least_edges = 64;

/// Calls f(block of the first source, begin, end) for the parts of all rows.
template <typename F>
void for_each_part(const CscView& edges, const F& f) {
  for (std::int64_t row = 0; row < edges.num_rows(); ++row) {
    const std::int64_t last = edges.offsets[static_cast<std::size_t>(row) + 1];
    for (std::int64_t begin = edges.offsets[static_cast<std::size_t>(row)]; begin < last;) {
      const std::int64_t end = std::min(begin + EdgePieces::longest_part, last);
      f(static_cast<std::size_t>(edges.indices[static_cast<std::size_t>(begin)] / EdgePieces::block_sources), begin,
        end);
      begin = end;
    }
  }
}

}  // namespace

EdgePieces make_edge_pieces(const CscView& edges, std::int64_t sources) {
  std::vector<std::size_t> first(static_cast<std::size_t>(sources / EdgePieces::block_sources) + 2);
  for_each_part(edges, [&](std::size_t block, std::int64_t, std::int64_t) { ++first[block + 1]; });
  for (std::size_t block = 1; block < first.size(); ++block) first[block] += first[block - 1];
  std::vector<EdgePiece> parts(first.back());
  for_each_part(edges, [&](std::size_t block, std::int64_t begin, std::int64_t end) {
    parts[first[block]++] = {begin, end};
  });

  EdgePieces result;
  for (const EdgePiece& part : parts) {
    const bool continues = !result.pieces.empty() && result.pieces.back().end == part.begin &&
                           part.end - result.pieces.back().begin <= EdgePieces::longest_piece;
    if (continues) {
      result.pieces.back().end = part.end;
    } else {
      result.pieces.push_back(part);
    }
  }
  if (static_cast<std::int64_t>(result.pieces.size()) * least_edges > edges.num_edges()) result.pieces.clear();
  result.pieces.shrink_to_fit();
  return result;
}

std::shared_ptr<const EdgePieces> edge_pieces(const Graph& graph) {
  return graph.cached<EdgePieces>([&] { return make_edge_pieces(graph.csc(EdgeIds::implied), graph.num_src()); });
}

}  // namespace bough::mp
