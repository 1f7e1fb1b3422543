#include "graph/generators/pattern_parts.h"
#include "graph/generators/patterns.h"

namespace bough {
namespace {

class Blocks final : public RulePattern {
 public:
  static GeneratorDescription description() {
    return {.name = "blocks",
            .summary = "tokens of the same block only (local attention of T-DMCA)",
            .parameters = {integer_parameter("size", "tokens of a block",
                                             {.initial = 64, .smallest = 1, .largest = 1 << 20})},
            .degree = {.parameter = "size"}};
  }

  explicit Blocks(const Settings& settings) : size_(settings.integer("size")) {}

  AttentionGraphBuilder prepare(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    const DistanceRelations relations = relations_for(options.length);
    builder.add_relations(relations.count(), DistanceRelations::name);
    builder.add_rule([=, size = size_, length = std::int64_t{builder.length()}, causal = builder.causal()](
                         std::int32_t token, InEdges& in) {
      const std::int64_t begin = token / size * size;
      relations.add_interval(in, token, begin, causal ? token + 1 : std::min(length, begin + size));
    });
    return builder;
  }

  std::int64_t num_relations(std::int64_t max_length) const override { return relations_for(max_length).count(); }

 private:
  DistanceRelations relations_for(std::int64_t length) const { return {std::min(size_, length) - 1}; }

  std::int64_t size_;
};

}  // namespace

void add_blocks(GeneratorRegistry& registry) { registry.add<Blocks>(); }

}  // namespace bough
