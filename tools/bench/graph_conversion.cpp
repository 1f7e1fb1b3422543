#include <fmt/format.h>

#include <numeric>
#include <vector>

#include "bough/core/random.h"
#include "bough/graph/graph.h"
#include "tools/bench/benchmark.h"

namespace bough::bench {
namespace {

constexpr std::int64_t num_nodes = 1'000'000;
constexpr std::int64_t num_edges = 20'000'000;

struct Edges {
  IdArray src;
  IdArray dst;
};

Edges random_edges() {
  IdBuffer src(num_edges), dst(num_edges);
  const RandomStream random{1, 0};
  parallel_chunks(num_edges, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t edge = begin; edge < end; ++edge) {
      const auto numbers = random.block(static_cast<std::uint64_t>(edge));
      src.data()[edge] = static_cast<std::int32_t>(numbers[0] % num_nodes);
      dst.data()[edge] = static_cast<std::int32_t>(numbers[1] % num_nodes);
    }
  });
  return {std::move(src), std::move(dst)};
}

/// The textbook loop: count, sum up, place. It leaves rows unsorted, which is less than what the graph gives.
std::int64_t count_and_place(const IdArray& rows, const IdArray& others) {
  std::vector<std::int64_t> offsets(num_nodes + 1);
  for (const std::int32_t row : rows) ++offsets[static_cast<std::size_t>(row) + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  IdBuffer indices(num_edges), edge_ids(num_edges);
  for (std::int64_t edge = 0; edge < num_edges; ++edge) {
    const std::int64_t at = offsets[static_cast<std::size_t>(rows[edge])]++;
    indices.data()[at] = others[edge];
    edge_ids.data()[at] = static_cast<std::int32_t>(edge);
  }
  return indices.data()[num_edges / 2];
}

/// Times a fresh graph, checks included: a graph keeps what it has built.
void report_case(const Options& options, const Report& report, const char* name, const Edges& edges, EdgeEnd by) {
  const bool by_source = by == EdgeEnd::source;
  const Times times = measure_both(
      options,
      [&] {
        const Graph graph = Graph::from_edges(edges.src, edges.dst, {.num_nodes = num_nodes});
        by_source ? graph.csr(EdgeIds::implied) : graph.csc(EdgeIds::implied);
      },
      [&] { count_and_place(by_source ? edges.src : edges.dst, by_source ? edges.dst : edges.src); });
  report({.case_name = name,
          .milliseconds = times.ours,
          .peer = "serial counting sort",
          .peer_milliseconds = times.peer,
          .note = fmt::format("{:.0f} million edges a second", num_edges / times.ours / 1e3)});
}

}  // namespace

void run_graph_conversion(const Options& options, const Report& report) {
  const Edges edges = random_edges();
  report_case(options, report, "20M random edges to CSC", edges, EdgeEnd::destination);
  const Graph sorted = Graph::from_edges(edges.src, edges.dst, {.num_nodes = num_nodes}).sort().graph;
  const Edges in_order{IdArray(sorted.coo().src), IdArray(sorted.coo().dst)};
  report_case(options, report, "20M sorted edges to CSC", in_order, EdgeEnd::destination);
  report_case(options, report, "20M sorted edges to CSR", in_order, EdgeEnd::source);
}

}  // namespace bough::bench
