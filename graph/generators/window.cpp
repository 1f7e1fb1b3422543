#include "graph/generators/pattern_parts.h"
#include "graph/generators/patterns.h"

namespace bough {
namespace {

class Window final : public RulePattern {
 public:
  static GeneratorDescription description() {
    return {.name = "window",
            .summary = "the nearest tokens on each side (restricted attention)",
            .parameters = {integer_parameter("width", "tokens attended to on each side",
                                             {.initial = 64, .smallest = 0, .largest = 1 << 20})},
            .degree = {.parameter = "width"}};
  }

  explicit Window(const Settings& settings) : width_(settings.integer("width")) {}

  AttentionGraphBuilder prepare(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    const DistanceRelations relations = relations_for(options.length);
    builder.add_relations(relations.count(), DistanceRelations::name);
    builder.add_rule([=, width = width_, length = std::int64_t{builder.length()}, causal = builder.causal()](
                         std::int32_t token, InEdges& in) {
      const std::int64_t end = causal ? token + 1 : std::min(length, token + width + 1);
      relations.add_interval(in, token, std::max<std::int64_t>(0, token - width), end);
    });
    return builder;
  }

  std::int64_t num_relations(std::int64_t max_length) const override { return relations_for(max_length).count(); }

 private:
  DistanceRelations relations_for(std::int64_t length) const { return {std::min(width_, length - 1)}; }

  std::int64_t width_;
};

}  // namespace

void add_window(GeneratorRegistry& registry) { registry.add<Window>(); }

}  // namespace bough
