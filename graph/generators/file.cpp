#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "bough/core/errors.h"
#include "bough/graph/io.h"
#include "graph/generators/patterns.h"

namespace bough {
namespace {

class FromFile final : public GraphGenerator {
 public:
  static GeneratorDescription description() {
    return {.name = "file",
            .summary =
                "a graph of one fixed length from a file: .npz, an edge list or bough's own format; edge types are "
                "the relations",
            .parameters = {
                string_parameter("path", "the file"),
                integer_parameter("tokens", "how many of the first nodes are tokens; none given: all",
                                  {.smallest = 1, .largest = max_sequence_length}),
                integer_parameter("root", "the node that sums up the sequence"),
            }};
  }

  explicit FromFile(const Settings& settings)
      : path_(settings.string("path")),
        graph_(load_graph(path_)),
        tokens_(settings.optional_integer("tokens").value_or(graph_.num_dst())),
        root_(settings.optional_integer("root")) {
    if (graph_.is_bipartite()) {
      throw ConfigError("file",
                        fmt::format("the graph in '{}' is bipartite; its sources must be its own nodes", path_));
    }
    if (graph_.num_nodes() < 1 || tokens_ > graph_.num_nodes() || tokens_ > max_sequence_length) {
      throw ConfigError("file", fmt::format("the graph in '{}' has {} nodes; {} of them cannot be tokens", path_,
                                            graph_.num_nodes(), tokens_));
    }
    if (root_ && *root_ >= graph_.num_nodes()) {
      throw ConfigError("file", fmt::format("root must be below {}, the number of nodes in '{}', not {}",
                                            graph_.num_nodes(), path_, *root_));
    }
  }

  AttentionGraph build(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    if (options.length != tokens_) {
      throw GraphError("file",
                       fmt::format("the graph in '{}' is for {} tokens, not for {}", path_, tokens_, options.length));
    }
    add_other_nodes(builder);
    const bool typed = !graph_.edge_types().empty();
    builder.add_relations(num_relations(options.length),
                          [](std::int64_t id) { return fmt::format("relation({})", id); });
    builder.add_rule(0, builder.num_nodes(),
                     [typed, rows = graph_.csc(), types = graph_.edge_types()](std::int32_t node, InEdges& in) {
                       const auto row = static_cast<std::size_t>(node);
                       for (auto i = static_cast<std::size_t>(rows.offsets[row]);
                            i < static_cast<std::size_t>(rows.offsets[row + 1]); ++i) {
                         in.add(rows.indices[i], typed ? types[static_cast<std::size_t>(rows.edge_ids[i])] : 0);
                       }
                     });
    if (root_) builder.set_root(static_cast<std::int32_t>(*root_));
    return builder.build();
  }

  std::int64_t num_relations(std::int64_t) const override {
    return graph_.edge_types().empty() ? 1 : graph_.num_edge_types();
  }
  std::optional<std::int64_t> fixed_length() const override { return tokens_; }

 private:
  /// What the nodes after the tokens stand for is not in the file. In a causal graph it follows from the edges: a node
  /// knows what its sources know, and a token what lies up to itself.
  void add_other_nodes(AttentionGraphBuilder& builder) const {
    if (!builder.causal()) {
      for (std::int64_t node = tokens_; node < graph_.num_nodes(); ++node) builder.add_global();
      return;
    }
    const std::vector<std::int32_t> last = reached_from(false), first = reached_from(true);
    for (auto node = static_cast<std::size_t>(tokens_); node < last.size(); ++node) {
      // A node that no token reaches counts as one that depends on the first.
      builder.add_span(1, std::max(0, first[node]), std::max(0, last[node]) + 1);
    }
  }

  /// Of each node: the first or the last token from which edges lead to it through nodes that are no tokens; -1: none.
  std::vector<std::int32_t> reached_from(bool first) const {
    std::vector<std::int32_t> token_of(static_cast<std::size_t>(graph_.num_nodes()), -1);
    std::vector<std::int32_t> pending;
    const CsrView out = graph_.csr();
    for (std::int32_t i = 0; i < tokens_; ++i) {
      const auto token = static_cast<std::int32_t>(first ? i : tokens_ - 1 - i);
      for (pending = {token}; !pending.empty();) {
        const auto row = static_cast<std::size_t>(pending.back());
        pending.pop_back();
        for (auto e = static_cast<std::size_t>(out.offsets[row]); e < static_cast<std::size_t>(out.offsets[row + 1]);
             ++e) {
          const std::int32_t node = out.indices[e];
          if (node < tokens_ || token_of[static_cast<std::size_t>(node)] >= 0) continue;
          token_of[static_cast<std::size_t>(node)] = token;
          pending.push_back(node);
        }
      }
    }
    return token_of;
  }

  std::string path_;
  Graph graph_;
  std::int64_t tokens_;
  std::optional<std::int64_t> root_;
};

}  // namespace

void add_file(GeneratorRegistry& registry) { registry.add<FromFile>(); }

}  // namespace bough
