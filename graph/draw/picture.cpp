#include "graph/draw/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/core/markup.h"

namespace bough {
namespace {

constexpr double margin = 16;
constexpr double row_height = 34;
constexpr double box_height = 20;
constexpr double arc_room = 60;  ///< below the lowest row, for arcs between nodes of one row

}  // namespace

const char* const level_colours[8] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                      "#56b4e9", "#d55e00", "#8a7f00", "#6f6f6f"};

Picture::Picture(const Layout& layout)
    : layout_(layout),
      cell_(std::clamp(1000 / std::max(1.0, layout.end_column - layout.first_column), 5.0, 36.0)),
      width_(2 * margin + cell_ * (layout.end_column - layout.first_column)),
      height_(2 * margin + row_height * (layout.highest_row - layout.lowest_row + 1) + arc_room) {}

Picture::Rectangle Picture::rectangle(const NodeBox& box) const {
  const double gap = std::min(2.0, cell_ / 6);
  return {margin + cell_ * (box.begin - layout_.first_column) + gap,
          margin + row_height * (layout_.highest_row - box.row), cell_ * (box.end - box.begin) - 2 * gap, box_height};
}

std::string Picture::box(const NodeBox& place, const char* id_name, std::int32_t id, NodeKind kind, std::int32_t level,
                         const std::string& tooltip) const {
  const Rectangle r = rectangle(place);
  std::string text = fmt::format(
      R"(<g class="node {}" data-{}="{}" data-level="{}" tabindex="0" role="img" aria-label="{}">)"
      R"(<title>{}</title><rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="3"/>)",
      to_string(kind), id_name, id, level, escape_xml(tooltip), escape_xml(tooltip), r.x, r.y, r.width, r.height);
  if (kind == NodeKind::token && cell_ >= 16) {
    text += fmt::format(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", r.x + r.width / 2, r.y + 14, id);
  }
  return text + "</g>\n";
}

std::string Picture::boxes(const AttentionGraph& graph) const {
  std::string text;
  for (std::size_t i = 0; i < layout_.nodes.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    text += box(layout_.nodes[i], "node", id, graph.kinds[i], graph.levels[i], describe_node(graph, id));
  }
  for (std::size_t i = 0; i < layout_.sources.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    text += box(layout_.sources[i], "source", id, graph.source_kinds[i], 0, describe_source(graph, id));
  }
  return text;
}

std::string Picture::arc(const NodeBox& from, const NodeBox& to) const {
  const Rectangle a = rectangle(from), b = rectangle(to);
  const double ax = a.x + a.width / 2, bx = b.x + b.width / 2;
  if (from.row == to.row) {
    const double depth = std::min(arc_room, 12 + 0.4 * std::abs(ax - bx));
    const double y = a.y + a.height;
    if (ax == bx) return fmt::format("M{:.1f},{:.1f} c-9,16 9,16 0,0", ax, y);
    return fmt::format("M{:.1f},{:.1f} Q{:.1f},{:.1f} {:.1f},{:.1f}", ax, y, (ax + bx) / 2, y + depth, bx, y);
  }
  const bool down = from.row > to.row;
  const double ay = down ? a.y + a.height : a.y, by = down ? b.y : b.y + b.height, middle = (ay + by) / 2;
  return fmt::format("M{:.1f},{:.1f} C{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}", ax, ay, ax, middle, bx, middle, bx,
                     by);
}

}  // namespace bough
