#include <fmt/format.h>

#include "bough/graph/draw.h"
#include "graph/draw/layout.h"
#include "graph/draw/picture.h"
#include "src/core/markup.h"

namespace bough {
namespace {

constexpr const char* style = R"(
  text { font: 11px sans-serif; text-anchor: middle; fill: #222; pointer-events: none; }
  .caption { font-size: 13px; text-anchor: start; }
  .node rect { fill: #e4e4e4; stroke: #9a9a9a; stroke-width: 0.6; }
  .arcs path { fill: none; stroke-width: 1.4; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e8e8e8; }
    .node rect { fill: #31353c; stroke: #6b717b; }
  }
)";

/// Room for a line of 13 pixels, whatever the font.
double text_width(const std::string& text) { return 7.5 * static_cast<double>(text.size()); }

}  // namespace

std::string draw_svg(const AttentionGraph& graph, const DrawOptions& options) {
  const std::int32_t chosen = chosen_node(graph, options);
  const Layout layout = lay_out(graph);
  const Picture picture(layout);
  const bool bipartite = graph.graph.is_bipartite();

  std::string marks, arcs;
  std::int64_t count = 0;
  if (!layout.nodes.empty()) {
    const CscView in = graph.graph.csc();
    const auto row = static_cast<std::size_t>(chosen);
    for (std::int64_t p = in.offsets[row]; p < in.offsets[row + 1]; ++p) {
      const std::int32_t source = in.indices[static_cast<std::size_t>(p)];
      const auto edge = static_cast<std::size_t>(in.edge_ids[static_cast<std::size_t>(p)]);
      const char* colour = level_colours[source_level(graph, source) % 8];
      const NodeBox& from = (bipartite ? layout.sources : layout.nodes)[static_cast<std::size_t>(source)];
      const std::string relation = graph.graph.edge_types().empty()
                                       ? ""
                                       : graph.relations[static_cast<std::size_t>(graph.graph.edge_types()[edge])];
      marks += fmt::format("  [data-{}=\"{}\"] rect {{ fill: {}; }} [data-{}=\"{}\"] text {{ fill: #fff; }}\n",
                           bipartite ? "source" : "node", source, colour, bipartite ? "source" : "node", source);
      arcs += fmt::format("<path d=\"{}\" stroke=\"{}\"><title>{} ({})</title></path>\n",
                          picture.arc(from, layout.nodes[row]), colour, escape_xml(describe_source(graph, source)),
                          escape_xml(relation));
      ++count;
    }
    marks += fmt::format(
        "  [data-node=\"{0}\"] rect {{ stroke: #000; stroke-width: 2.5; }}\n"
        "  @media (prefers-color-scheme: dark) {{ [data-node=\"{0}\"] rect {{ stroke: #fff; }} }}\n",
        chosen);
  }
  const std::string caption = layout.nodes.empty()
                                  ? title_of(graph, options)
                                  : fmt::format("{}: {} attends to {} node{}", title_of(graph, options),
                                                describe_node(graph, chosen), count, count == 1 ? "" : "s");
  const double width = std::max(picture.width(), 32 + text_width(caption)), height = picture.height() + 24;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" viewBox=\"0 0 {:.0f} {:.0f}\">\n"
      "<title>{}</title>\n<style>{}{}{}</style>\n<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n"
      "<g class=\"arcs\">\n{}</g>\n{}<text class=\"caption\" x=\"16\" y=\"{:.0f}\">{}</text>\n</svg>\n",
      width, height, width, height, escape_xml(caption), back_style, style, marks, arcs, picture.boxes(graph),
      height - 12, escape_xml(caption));
}

}  // namespace bough
