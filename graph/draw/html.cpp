#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/graph/draw.h"
#include "graph/draw/layout.h"
#include "graph/draw/page_assets.h"
#include "graph/draw/picture.h"
#include "src/core/markup.h"

namespace bough {
namespace {

using nlohmann::json;

constexpr std::int64_t max_page_edges = 1'000'000;

/// Everything the page's script needs; page.js explains each key.
json page_data(const AttentionGraph& graph, const Layout& layout, std::int32_t chosen) {
  const bool bipartite = graph.graph.is_bipartite();
  const std::vector<TokenRange>& covers = bipartite ? graph.source_covers : graph.covers;
  json sources = json::array(), nodes = json::array(), in = json::array();
  for (std::size_t i = 0; i < covers.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    sources.push_back({describe_source(graph, id), source_level(graph, id), covers[i].begin, covers[i].end});
  }
  const CscView edges = graph.graph.csc();
  const std::span<const std::int32_t> types = graph.graph.edge_types();
  for (std::size_t node = 0; node < graph.kinds.size(); ++node) {
    nodes.push_back(describe_node(graph, static_cast<std::int32_t>(node)));
    json flat = json::array();
    for (std::int64_t p = edges.offsets[node]; p < edges.offsets[node + 1]; ++p) {
      const auto position = static_cast<std::size_t>(p);
      flat.push_back(edges.indices[position]);
      flat.push_back(types.empty() ? -1 : types[static_cast<std::size_t>(edges.edge_ids[position])]);
    }
    in.push_back(std::move(flat));
  }
  return {{"bipartite", bipartite},
          {"chosen", chosen},
          {"tokens", graph.tokens},
          {"relations", graph.relations},
          {"colours", level_colours},
          {"firstColumn", static_cast<std::int64_t>(layout.first_column)},
          {"columns", static_cast<std::int64_t>(layout.end_column - layout.first_column)},
          {"sources", std::move(sources)},
          {"nodes", std::move(nodes)},
          {"in", std::move(in)}};
}

}  // namespace

std::string draw_html(const AttentionGraph& graph, const DrawOptions& options) {
  const std::int32_t chosen = chosen_node(graph, options);
  if (graph.graph.num_edges() > max_page_edges) {
    throw GraphError("draw", fmt::format("a page with {} edges would be too heavy for a browser; at most {} are drawn",
                                         graph.graph.num_edges(), max_page_edges));
  }
  const Layout layout = lay_out(graph);
  const Picture picture(layout);
  const std::string summary =
      fmt::format("{} nodes, {} edges, {} relation{}; a token attends to {:.4g} nodes on average{}.",
                  graph.kinds.size(), graph.graph.num_edges(), graph.num_relations(),
                  graph.num_relations() == 1 ? "" : "s", attention_degree(graph), graph.causal ? "; causal" : "");
  return fill_page(page_html, {{"@TITLE@", escape_xml(title_of(graph, options))},
                               {"@SUMMARY@", escape_xml(summary)},
                               {"@STYLE@", std::string(page_css)},
                               {"@SCRIPT@", std::string(page_js)},
                               {"@WIDTH@", fmt::format("{:.0f}", picture.width())},
                               {"@HEIGHT@", fmt::format("{:.0f}", picture.height())},
                               {"@BOXES@", picture.boxes(graph)},
                               {"@DATA@", json_for_script(page_data(graph, layout, chosen))}});
}

}  // namespace bough
