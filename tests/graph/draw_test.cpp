#include "bough/graph/draw.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bough/core/errors.h"
#include "bough/graph/graph_generator.h"

namespace bough {
namespace {

using nlohmann::json;

AttentionGraph make(const char* specification) { return read_graph_request(json::parse(specification)).build(); }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t result = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++result;
  return result;
}

TEST(DrawSvg, HasABoxForEveryNodeAndAnArcForEverySource) {
  const AttentionGraph graph = make(R"({"kind":"bpt","k":1,"length":8,"causal":true})");
  const std::string svg = draw_svg(graph, {.node = 7});
  EXPECT_EQ(count(svg, "<g class=\"node "), 15u);
  EXPECT_EQ(count(svg, "<path"), static_cast<std::size_t>(graph.graph.in_degrees()[7]));
  EXPECT_NE(svg.find("left(1,0)"), svg.npos) << "relations are named";
  EXPECT_NE(svg.find("token 7 attends to"), svg.npos);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST(DrawSvg, OneTokenIsAPictureToo) {
  const std::string svg = draw_svg(make(R"({"kind":"bpt","k":1,"length":1})"));
  EXPECT_EQ(count(svg, "<g class=\"node "), 1u);
}

TEST(DrawSvg, RefusesMissingNodesAndUnreadableSizes) {
  const AttentionGraph small = make(R"({"kind":"window","width":1,"length":4})");
  EXPECT_THROW(draw_svg(small, {.node = 4}), GraphError);
  EXPECT_THROW(draw_svg(small, {.node = -2}), GraphError);
  EXPECT_THROW(draw_svg(make(R"({"kind":"window","width":1,"length":5000})")), GraphError);
  EXPECT_THROW(draw_html(make(R"({"kind":"full","length":2000})")), GraphError);
}

TEST(DrawSvg, IsDarkWhereTheViewerLikesItAndHasRoomForItsCaption) {
  const AttentionGraph graph = make(R"({"kind":"window","width":1,"length":4})");
  const std::string title(100, 'x');
  const std::string svg = draw_svg(graph, {.title = title});
  EXPECT_NE(svg.find("prefers-color-scheme: dark"), svg.npos);
  const std::size_t width = svg.find("width=\"") + 7;
  EXPECT_GT(std::stoi(svg.substr(width)), 700) << "a hundred characters of 7 pixels";
}

TEST(DrawMatrixSvg, HasARunOfCellsForEachStretchOfTokensInARow) {
  const std::string window = draw_matrix_svg(make(R"({"kind":"window","width":1,"length":4,"causal":true})"));
  EXPECT_NE(window.find("viewBox=\"0 0 4 4\""), window.npos);
  EXPECT_NE(window.find("d=\"M0 0h1v1h-1zM0 1h2v1h-2zM1 2h2v1h-2zM2 3h2v1h-2z\""), window.npos) << window;
  EXPECT_EQ(count(window, "<path"), 1u) << "one level";
  EXPECT_NE(window.find("prefers-color-scheme: dark"), window.npos);
}

TEST(DrawMatrixSvg, PaintsSpansInTheColourOfTheirLevel) {
  // Row 3 of the tree sees tokens 3 and 2 and, through a span, 0 and 1.
  const std::string tree = draw_matrix_svg(make(R"({"kind":"bpt","k":1,"length":4,"causal":true,"alignment":"slot"})"));
  EXPECT_EQ(count(tree, "<path"), 2u);
  EXPECT_NE(tree.find("M0 3h2v1h-2z"), tree.npos) << tree;
  EXPECT_NE(tree.find("M2 3h2v1h-2z"), tree.npos) << tree;
}

TEST(DrawMatrixSvg, TakesTwoSequencesMemoryAndRefusesUnreadableSizes) {
  for (const char* specification : {R"({"kind":"cross","length":6})", R"({"kind":"memory","length":8})",
                                    R"({"kind":"star","length":8})", R"({"kind":"longformer","length":8})"}) {
    EXPECT_NO_THROW(draw_matrix_svg(make(specification))) << specification;
  }
  EXPECT_THROW(draw_matrix_svg(make(R"({"kind":"window","width":1,"length":5000})")), GraphError);
}

TEST(DrawHtml, IsOnePageWithoutOutsideResources) {
  const std::string page = draw_html(make(R"({"kind":"bpt","k":2,"length":16})"), {.title = "<b> & \"quotes\""});
  for (const char* outside : {"src=\"", "href=", "@import", "url(", "fetch("}) {
    EXPECT_EQ(page.find(outside), page.npos) << outside;
  }
  EXPECT_EQ(page.find("<b> &"), page.npos) << "titles are escaped";
  for (const char* key : {"@TITLE@", "@DATA@", "@SCRIPT@", "@STYLE@", "@BOXES@"}) EXPECT_EQ(page.find(key), page.npos);
}

}  // namespace
}  // namespace bough
