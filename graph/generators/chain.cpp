#include <fmt/format.h>

#include "graph/generators/patterns.h"

namespace bough {
namespace {

/// For cells that run along edges, so no token reads itself: the graph has no cycles, causal or not.
class Chain final : public RulePattern {
 public:
  static GeneratorDescription description() {
    return {.name = "chain",
            .summary = "the token before and nothing else, for recurrent cells",
            .parameters = {integer_parameter("skip", "how many tokens before a token stands the one that it reads",
                                             {.initial = 1, .smallest = 1, .largest = 1 << 20})}};
  }

  explicit Chain(const Settings& settings) : skip_(static_cast<std::int32_t>(settings.integer("skip"))) {}

  AttentionGraphBuilder prepare(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    const std::int32_t before = builder.add_relation(fmt::format("left({})", skip_));
    builder.add_rule([before, skip = skip_](std::int32_t token, InEdges& in) {
      if (token >= skip) in.add(token - skip, before);
    });
    return builder;
  }

  std::int64_t num_relations(std::int64_t) const override { return 1; }

 private:
  std::int32_t skip_;
};

}  // namespace

void add_chain(GeneratorRegistry& registry) { registry.add<Chain>(); }

}  // namespace bough
