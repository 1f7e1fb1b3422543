#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bough/graph/draw.h"
#include "graph/draw/layout.h"
#include "graph/draw/picture.h"
#include "src/core/markup.h"

namespace bough {
namespace {

/// The level that each column of one row shows; -1 where the token attends to nothing.
void fill_row(const AttentionGraph& graph, std::int32_t token, std::int64_t first_column,
              std::vector<std::int32_t>& levels) {
  const std::vector<TokenRange>& covers = graph.graph.is_bipartite() ? graph.source_covers : graph.covers;
  const CscView edges = graph.graph.csc();
  const auto begin = static_cast<std::size_t>(edges.offsets[static_cast<std::size_t>(token)]);
  const auto end = static_cast<std::size_t>(edges.offsets[static_cast<std::size_t>(token) + 1]);
  std::vector<std::int32_t> sources(edges.indices.begin() + begin, edges.indices.begin() + end);
  std::ranges::stable_sort(sources, std::greater<>(), [&](std::int32_t source) { return source_level(graph, source); });
  std::ranges::fill(levels, -1);
  for (const std::int32_t source : sources) {
    const TokenRange range = covers[static_cast<std::size_t>(source)];
    const auto column = [&](std::int64_t position) {
      return levels.begin() + std::clamp<std::int64_t>(position - first_column, 0, std::ssize(levels));
    };
    std::fill(column(range.begin), column(range.end), source_level(graph, source));
  }
}

}  // namespace

std::string draw_matrix_svg(const AttentionGraph& graph, const DrawOptions& options) {
  chosen_node(graph, {});  // refuses graphs that are too large
  const Layout layout = lay_out(graph);
  const auto first_column = static_cast<std::int64_t>(layout.first_column);
  const auto columns = std::max<std::int64_t>(1, static_cast<std::int64_t>(layout.end_column) - first_column);
  const auto rows = std::max<std::int64_t>(1, graph.num_tokens());

  std::map<std::int32_t, std::string> path_of;  // by level
  std::vector<std::int32_t> levels(static_cast<std::size_t>(columns));
  for (std::size_t row = 0; row < graph.tokens.size(); ++row) {
    fill_row(graph, graph.tokens[row], first_column, levels);
    for (auto begin = levels.begin(); begin != levels.end();) {
      const auto end = std::find_if(begin, levels.end(), [&](std::int32_t level) { return level != *begin; });
      const auto width = end - begin;
      if (*begin >= 0) path_of[*begin] += fmt::format("M{} {}h{}v1h-{}z", begin - levels.begin(), row, width, width);
      begin = end;
    }
  }
  std::string paths;
  for (const auto& [level, path] : path_of) {
    paths += fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", level_colours[level % 8], path);
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" shape-rendering=\"crispEdges\">\n"
      "<title>{}</title>\n<style>{}</style>\n<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n{}</svg>\n",
      columns, rows, escape_xml(title_of(graph, options)), back_style, paths);
}

}  // namespace bough
