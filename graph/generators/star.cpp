#include "graph/generators/patterns.h"

namespace bough {
namespace {

class Star final : public GraphGenerator {
 public:
  static GeneratorDescription description() {
    return {.name = "star",
            .summary = "a ring of tokens around one relay node that sees and serves all of them (Star-Transformer)",
            // The relay node makes every token depend on all others within one layer.
            .causal = false};
  }

  explicit Star(const Settings&) {}

  AttentionGraph build(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    const std::int32_t length = builder.length();
    const std::int32_t relay = builder.add_relay();
    const std::int32_t first_input = relay + 1;
    for (std::int32_t token = 0; token < length; ++token) builder.add_input(token);
    const std::int32_t self = builder.add_relation("self");
    const std::int32_t left = builder.add_relation("left");
    const std::int32_t right = builder.add_relation("right");
    const std::int32_t input = builder.add_relation("input");
    const std::int32_t from_relay = builder.add_relation("relay");
    const std::int32_t relay_itself = builder.add_relation("relay self");
    const std::int32_t satellite = builder.add_relation("satellite");

    builder.start_stage();
    builder.add_rule([=](std::int32_t token, InEdges& in) {
      in.add(token, self);
      // In rings of one or two tokens the neighbours are the token itself or each other.
      if (length > 1) in.add(token == 0 ? length - 1 : token - 1, left);
      if (length > 2) in.add(token == length - 1 ? 0 : token + 1, right);
      in.add(relay, from_relay);
      in.add(first_input + token, input);
    });
    builder.start_stage();
    builder.add_edges(0, length, relay, satellite);
    builder.add_edge(relay, relay, relay_itself);
    builder.set_root(relay);
    return builder.build();
  }

  std::int64_t num_relations(std::int64_t) const override { return 7; }
};

}  // namespace

void add_star(GeneratorRegistry& registry) { registry.add<Star>(); }

}  // namespace bough
