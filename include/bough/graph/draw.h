#pragma once

#include <cstdint>
#include <string>

#include "bough/graph/attention_graph.h"

namespace bough {

/// What a picture shows.
struct DrawOptions {
  std::int64_t node = -1;  ///< whose sources are shown at first; -1 = the token in the middle
  std::string title = {};  ///< default: "Attention graph of N tokens"
};

/// The picture of the paper as SVG text: tokens in a row, spans as bars above the tokens they cover, other kinds of
/// nodes in rows of their own, and arcs from what one chosen node attends to. GraphError if the node is not there or
/// there are more than 4096 nodes, which would not be readable. Light or dark as the viewer likes it.
std::string draw_svg(const AttentionGraph& graph, const DrawOptions& options = {});

/// The attention matrix of the tokens as SVG text, one unit a token: row i has the tokens that token i attends to,
/// directly or through a span, coloured by level, the finest on top. Patterns that look alike where few tokens are
/// drawn differ here. The options' node is not used. GraphError above 4096 nodes.
std::string draw_matrix_svg(const AttentionGraph& graph, const DrawOptions& options = {});

/// One page without any outside resource: the same picture, where pointing at a node, touching it or reaching it with
/// the keyboard shows what it attends to, with relation names; beside it the attention matrix of the tokens.
/// GraphError as for draw_svg, or above a million edges.
std::string draw_html(const AttentionGraph& graph, const DrawOptions& options = {});

}  // namespace bough
