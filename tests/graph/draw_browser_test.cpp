#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "bough/graph/draw.h"
#include "bough/graph/graph_generator.h"
#include "tests/support/browser.h"

namespace bough {
namespace {

using nlohmann::json;
using test::asked_in_browser;

AttentionGraph make(const char* specification) { return read_graph_request(json::parse(specification)).build(); }

/// For each node, pointed at in turn, the boxes that light up.
std::map<int, std::set<int>> lit_by_pointing(const std::string& page, const char* source_name) {
  const json seen = asked_in_browser(page, std::string(R"(
const seen = {};
for (const box of document.querySelectorAll("[data-node]")) {
  box.querySelector("rect").dispatchEvent(new PointerEvent("pointerover", {bubbles: true}));
  seen[box.dataset.node] = [...document.querySelectorAll(".attended")].map((lit) => Number(lit.dataset.)") +
                                               source_name + R"());
}
return seen;)");
  std::map<int, std::set<int>> result;
  for (const auto& [node, lit] : seen.items()) result[std::stoi(node)] = lit.get<std::set<int>>();
  return result;
}

void expect_exactly_the_sources_light_up(const AttentionGraph& graph) {
  std::map<int, std::set<int>> expected;
  for (std::size_t node = 0; node < graph.kinds.size(); ++node) expected[static_cast<int>(node)] = {};
  const CooView edges = graph.graph.coo();
  for (std::size_t e = 0; e < edges.src.size(); ++e) expected[edges.dst[e]].insert(edges.src[e]);
  EXPECT_EQ(lit_by_pointing(draw_html(graph), graph.graph.is_bipartite() ? "source" : "node"), expected);
}

TEST(DrawHtml, PointingAtANodeLightsUpExactlyItsSourcesInARealBrowser) {
  expect_exactly_the_sources_light_up(make(R"({"kind":"bpt","k":2,"length":21})"));
  expect_exactly_the_sources_light_up(make(R"({"kind":"bpt","k":1,"length":16,"causal":true})"));
}

TEST(DrawHtml, TheChosenTokenIsInViewOnAPhone) {
  const AttentionGraph graph = make(R"({"kind":"bpt","k":2,"length":64,"causal":true})");
  for (const std::int64_t token : {0, 32, 63}) {
    const json seen = asked_in_browser(draw_html(graph, {.node = token}), R"(
const box = document.querySelector(".chosen").getBoundingClientRect();
const view = document.querySelector("#structure .scroll").getBoundingClientRect();
return {left: box.left - view.left, right: view.right - box.right, below: innerHeight - box.bottom, page: document.documentElement.scrollWidth, screen: innerWidth};)",
                                       {.width = 400});
    EXPECT_EQ(seen["screen"], 400);
    EXPECT_GE(seen["left"], 0) << token;
    EXPECT_GE(seen["right"], 0) << token;
    EXPECT_GE(seen["below"], 0) << token;
    EXPECT_LE(seen["page"], seen["screen"]) << "the picture scrolls, not the page";
  }
}

}  // namespace
}  // namespace bough
