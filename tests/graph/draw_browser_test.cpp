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

/// What the page shows in a real browser: for each node, pointed at in turn, the boxes that light up.
std::map<int, std::set<int>> lit_by_pointing(const std::string& page, const char* source_name) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("bough_draw_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string script = std::string(R"(<script>
const seen = {};
for (const box of document.querySelectorAll("[data-node]")) {
  box.querySelector("rect").dispatchEvent(new PointerEvent("pointerover", {bubbles: true}));
  seen[box.dataset.node] = [...document.querySelectorAll(".attended")].map((lit) => Number(lit.dataset.)") +
                             source_name + R"());
}
document.body.innerHTML = "<pre id='seen'>" + JSON.stringify(seen) + "</pre>";
</script></body>)";
  std::string probed = page;
  probed.replace(probed.rfind("</body>"), 7, script);
  std::ofstream(folder / "page.html") << probed;

  const std::string command = "timeout 120 " BOUGH_CHROMIUM " --headless --no-sandbox --disable-gpu --user-data-dir=" +
                              (folder / "profile").string() + " --dump-dom file://" + (folder / "page.html").string() +
                              " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> browser(::popen(command.c_str(), "r"), ::pclose);
  std::string dom;
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof(buffer), browser.get())) dom.append(buffer, got);
  std::filesystem::remove_all(folder);

  const std::size_t begin = dom.find('{', dom.find("id=\"seen\"")), end = dom.find("</pre>", begin);
  std::map<int, std::set<int>> result;
  if (begin == dom.npos || end == dom.npos) {
    ADD_FAILURE() << "the browser showed: " << dom.substr(0, 2000);
    return result;
  }
  const json seen = json::parse(dom.substr(begin, end - begin));
  for (const auto& [node, lit] : seen.items()) {
    result[std::stoi(node)] = lit.get<std::set<int>>();
  }
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

}  // namespace
}  // namespace bough
