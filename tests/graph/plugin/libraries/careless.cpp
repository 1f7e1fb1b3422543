#include <algorithm>

#include "bough/graph/attention_graph_builder.h"

namespace {

/// Forgets to hand on that the graph is to be causal.
class Neighbours final : public bough::GraphGenerator {
 public:
  static bough::GeneratorDescription description() {
    return {.name = "neighbours", .summary = "itself and the tokens beside it"};
  }
  explicit Neighbours(const bough::Settings&) {}

  bough::AttentionGraph build(const bough::BuildOptions& options) const override {
    bough::AttentionGraphBuilder builder({.length = options.length});
    const std::int32_t near = builder.add_relation("near");
    builder.add_rule([=, length = builder.length()](std::int32_t token, bough::InEdges& in) {
      in.add_interval(std::max(0, token - 1), std::min(length, token + 2), near);
    });
    return builder.build();
  }
  std::int64_t num_relations(std::int64_t) const override { return 1; }
};

/// Throws what is no exception.
class Troubled final : public bough::GraphGenerator {
 public:
  static bough::GeneratorDescription description() { return {.name = "troubled", .summary = "throws"}; }
  explicit Troubled(const bough::Settings&) {}

  bough::AttentionGraph build(const bough::BuildOptions&) const override { throw 42; }
  std::int64_t num_relations(std::int64_t) const override { return 1; }
};

}  // namespace

extern "C" void bough_register(bough::GeneratorRegistry& registry) {
  registry.add<Neighbours>();
  registry.add<Troubled>();
}
