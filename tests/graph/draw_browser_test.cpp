#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "bough/graph/draw.h"
#include "bough/graph/graph_generator.h"

namespace bough {
namespace {

using nlohmann::json;

AttentionGraph make(const char* specification) { return read_graph_request(json::parse(specification)).build(); }

/// What a script says at the end of the page, in a real browser.
json asked_in_browser(std::string page, const std::string& script, const std::string& options = "") {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("bough_draw_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string probe = "<script>document.body.innerHTML = \"<pre id='seen'>\" + JSON.stringify((() => {" + script +
                            "})()) + \"</pre>\";</script></body>";
  page.replace(page.rfind("</body>"), 7, probe);
  std::ofstream(folder / "page.html") << page;

  const std::string command = "timeout 120 " BOUGH_CHROMIUM " --headless --no-sandbox --disable-gpu " + options +
                              " --user-data-dir=" + (folder / "profile").string() + " --dump-dom file://" +
                              (folder / "page.html").string() + " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> browser(::popen(command.c_str(), "r"), ::pclose);
  std::string dom;
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof(buffer), browser.get())) dom.append(buffer, got);
  std::filesystem::remove_all(folder);

  const std::size_t begin = dom.find('{', dom.find("id=\"seen\"")), end = dom.find("</pre>", begin);
  if (begin == dom.npos || end == dom.npos) {
    ADD_FAILURE() << "the browser showed: " << dom.substr(0, 2000);
    return json::object();
  }
  return json::parse(dom.substr(begin, end - begin));
}

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
return {left: box.left - view.left, right: view.right - box.right, page: document.documentElement.scrollWidth, screen: innerWidth};)",
                                       "--window-size=400,800");
    EXPECT_GE(seen["left"], 0) << token;
    EXPECT_GE(seen["right"], 0) << token;
    EXPECT_LE(seen["page"], seen["screen"]) << "the picture scrolls, not the page";
  }
}

}  // namespace
}  // namespace bough
