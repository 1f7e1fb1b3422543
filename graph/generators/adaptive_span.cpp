#include "graph/generators/pattern_parts.h"
#include "graph/generators/patterns.h"

namespace bough {
namespace {

class AdaptiveSpan final : public RulePattern {
 public:
  static GeneratorDescription description() {
    return {.name = "adaptive_span",
            .summary = "a window whose reach each head learns (Adaptive Span)",
            .parameters =
                {
                    integer_parameter("max_span", "farthest token on each side",
                                      {.initial = 256, .smallest = 0, .largest = 1 << 20}),
                    integer_parameter("ramp", "tokens over which the weight falls to zero",
                                      {.initial = 32, .smallest = 1, .largest = 1 << 20}),
                },
            .degree = {.parameter = "max_span"}};
  }

  explicit AdaptiveSpan(const Settings& settings)
      : span_{.max_span = settings.integer("max_span"), .ramp = settings.integer("ramp")} {}

  AttentionGraphBuilder prepare(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    const DistanceRelations relations = relations_for(options.length);
    builder.add_relations(relations.count(), DistanceRelations::name);
    builder.add_rule([=, reach = span_.max_span, length = std::int64_t{builder.length()}, causal = builder.causal()](
                         std::int32_t token, InEdges& in) {
      const std::int64_t end = causal ? token + 1 : std::min(length, token + reach + 1);
      relations.add_interval(in, token, std::max<std::int64_t>(0, token - reach), end);
    });
    builder.set_soft_span(span_);
    return builder;
  }

  std::int64_t num_relations(std::int64_t max_length) const override { return relations_for(max_length).count(); }

 private:
  DistanceRelations relations_for(std::int64_t length) const { return {std::min(span_.max_span, length - 1)}; }

  SoftSpan span_;
};

}  // namespace

void add_adaptive_span(GeneratorRegistry& registry) { registry.add<AdaptiveSpan>(); }

}  // namespace bough
