#pragma once

#include <memory>

#include "bough/graph/attention_graph_builder.h"

namespace bough::test {

/// A pattern for the plug-ins of the tests: itself, and the token two before.
class EverySecond final : public GraphGenerator {
 public:
  static GeneratorDescription named(const char* name) { return {.name = name, .summary = "itself and two before"}; }

  explicit EverySecond(const Settings&) {}

  AttentionGraph build(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    const std::int32_t self = builder.add_relation("self");
    const std::int32_t before = builder.add_relation("before");
    builder.add_rule([=](std::int32_t token, InEdges& in) {
      if (token >= 2) in.add(token - 2, before);
      in.add(token, self);
    });
    return builder.build();
  }
  std::int64_t num_relations(std::int64_t) const override { return 2; }
};

inline std::unique_ptr<GraphGenerator> make_every_second(const Settings& settings) {
  return std::make_unique<EverySecond>(settings);
}

}  // namespace bough::test
