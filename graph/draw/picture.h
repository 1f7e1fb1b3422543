#pragma once

#include <string>

#include "graph/draw/layout.h"

namespace bough {

/// Pixels of a layout.
class Picture {
 public:
  explicit Picture(const Layout& layout);

  double width() const { return width_; }
  double height() const { return height_; }
  double cell() const { return cell_; }

  /// One rectangle for each node: class "node", data-node or data-source with its id, a tooltip, reachable by keyboard.
  /// Tokens carry their number where it fits.
  std::string boxes(const AttentionGraph& graph) const;

  /// The curve of the edge source -> node: above or below a row for nodes of the same row, straight down otherwise.
  std::string arc(const NodeBox& from, const NodeBox& to) const;

 private:
  struct Rectangle {
    double x, y, width, height;
  };
  Rectangle rectangle(const NodeBox& box) const;
  std::string box(const NodeBox& place, const char* id_name, std::int32_t id, NodeKind kind, std::int32_t level,
                  const std::string& tooltip) const;

  const Layout& layout_;
  double cell_;
  double width_;
  double height_;
};

/// Paper, light or dark as the viewer likes it, for what has the class "back".
inline constexpr const char* back_style =
    ".back { fill: #fff; } @media (prefers-color-scheme: dark) { .back { fill: #16181c; } }";

/// Colours that differ also without red and green; levels beyond the eighth start again.
extern const char* const level_colours[8];

}  // namespace bough
