#include "graph/generators/pattern_parts.h"
#include "graph/generators/patterns.h"

namespace bough {
namespace {

class Full final : public GraphGenerator {
 public:
  static GeneratorDescription description() {
    return {.name = "full",
            .summary = "every token attends to every token (Transformer)",
            .parameters = {integer_parameter("max_distance", "tokens farther away than this share its relation",
                                             {.initial = 128, .smallest = 0, .largest = 1 << 20})}};
  }

  explicit Full(const Settings& settings) : max_distance_(settings.integer("max_distance")) {}

  AttentionGraph build(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    const DistanceRelations relations = relations_for(options.length);
    builder.add_relations(relations.count(), DistanceRelations::name);
    builder.add_rule([=, length = builder.length(), causal = builder.causal()](std::int32_t token, InEdges& in) {
      relations.add_interval(in, token, 0, causal ? token + 1 : length);
    });
    return builder.build();
  }

  std::int64_t num_relations(std::int64_t max_length) const override { return relations_for(max_length).count(); }

 private:
  DistanceRelations relations_for(std::int64_t length) const { return {std::min(max_distance_, length - 1)}; }

  std::int64_t max_distance_;
};

}  // namespace

void add_full(GeneratorRegistry& registry) { registry.add<Full>(); }

}  // namespace bough
