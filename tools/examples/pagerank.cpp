// PageRank: every page shares its rank out among the pages it links to. Ten iterations are ten calls of update_all.
#include <bough/bough.h>

#include <cmath>
#include <cstdio>

namespace fn = bough::fn;

int main() {
  // Pages 1, 2 and 3 link to page 0, which links back to 1; 2 and 3 link to each other as well.
  const bough::Graph web = bough::Graph::from_edges({1, 2, 3, 0, 2, 3}, {0, 0, 0, 1, 3, 2}, {.num_nodes = 4});
  const std::int64_t pages = web.num_nodes();
  const double damping = 0.85;

  std::vector<float> links;
  for (const std::int64_t degree : web.out_degrees()) links.push_back(static_cast<float>(degree));

  bough::Frame frame(web);
  frame.node("links") = bough::Tensor::from_vector(links, {pages});
  frame.node("rank") = bough::full({pages}, 1.0 / static_cast<double>(pages));
  double change = 1;
  int iterations = 0;
  for (; change > 1e-6 && iterations < 1000; ++iterations) {
    const bough::Tensor before = frame.node("rank");
    frame.node("share") = before / frame.node("links");
    frame.update_all(fn::copy_u("share", "m"), fn::sum("m", "received"));
    frame.node("rank") = frame.node("received") * damping + (1 - damping) / static_cast<double>(pages);
    change = bough::max(bough::abs(frame.node("rank") - before)).item<double>();
  }

  const std::vector<double> rank = frame.node("rank").to_vector<double>();
  double total = 0;
  for (std::size_t page = 0; page < rank.size(); ++page) {
    std::printf("page %zu: %.4f\n", page, rank[page]);
    total += rank[page];
  }
  std::printf("after %d iterations, sum %.6f\n", iterations, total);
  const bool right = std::abs(total - 1) < 1e-5 && rank[0] > rank[1] && rank[1] > rank[2] && rank[2] == rank[3];
  return right ? 0 : 1;
}
