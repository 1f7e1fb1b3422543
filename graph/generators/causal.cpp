#include <nlohmann/json.hpp>
#include <utility>

#include "bough/core/errors.h"
#include "bough/graph/combinators.h"
#include "graph/attention/assembly.h"
#include "graph/generators/checked_generator.h"
#include "graph/generators/patterns.h"

namespace bough {
namespace {

class Causal final : public GraphGenerator {
 public:
  static GeneratorDescription description() {
    return {.name = "causal",
            .summary = "a pattern without the edges that would let a token depend on later ones",
            .parameters = {object_parameter("of", "the pattern, with its \"kind\"", {}, true)}};
  }

  explicit Causal(std::shared_ptr<const GraphGenerator> pattern) : pattern_(std::move(pattern)) {
    if (pattern_ == nullptr) throw ConfigError("causal", "needs a pattern");
  }

  AttentionGraph build(const BuildOptions& options) const override {
    BuildOptions both_ways = options;
    both_ways.causal = false;
    AttentionGraph result = pattern_->build(both_ways);
    result.causal = true;
    const auto restrict = [&result](Graph& graph) { graph = past_edges(result, graph); };
    restrict(result.graph);
    for (Graph& group : result.head_groups) restrict(group);
    for (Graph& stage : result.stages) restrict(stage);
    record_form(result);
    return result;
  }

  std::int64_t num_relations(std::int64_t max_length) const override { return pattern_->num_relations(max_length); }
  std::optional<std::int64_t> fixed_length() const override { return pattern_->fixed_length(); }

 private:
  static Graph past_edges(const AttentionGraph& nodes, const Graph& all) {
    const CausalOrder order(nodes, all.is_bipartite());
    const CscView rows = all.csc();
    const std::span<const std::int32_t> types = all.edge_types();
    const auto rule = [&](std::int32_t node, InEdges& in) {
      const auto row = static_cast<std::size_t>(node);
      for (auto i = static_cast<std::size_t>(rows.offsets[row]); i < static_cast<std::size_t>(rows.offsets[row + 1]);
           ++i) {
        const std::int32_t source = rows.indices[i];
        if (order.allows(source, node)) in.add(source, types[static_cast<std::size_t>(rows.edge_ids[i])]);
      }
    };
    return assemble_graph(nodes, all.is_bipartite(), all.num_edge_types(), rule);
  }

  std::shared_ptr<const GraphGenerator> pattern_;
};

}  // namespace

std::unique_ptr<GraphGenerator> restrict_to_past(std::shared_ptr<const GraphGenerator> pattern) {
  return std::make_unique<Causal>(std::move(pattern));
}

void add_causal(GeneratorRegistry& registry) {
  registry.add(Causal::description(), [](const Settings& settings, const GeneratorRegistry& members) {
    return restrict_to_past(make_member(members, settings.json("of"), "of"));
  });
}

}  // namespace bough
