#include "graph/generators/pattern_parts.h"
#include "graph/generators/patterns.h"

namespace bough {
namespace {

class Dilated final : public RulePattern {
 public:
  static GeneratorDescription description() {
    return {
        .name = "dilated",
        .summary = "every dilation-th token on each side",
        .parameters =
            {
                integer_parameter("width", "tokens attended to on each side",
                                  {.initial = 32, .smallest = 0, .largest = 1 << 20}),
                integer_parameter("dilation", "step between them", {.initial = 2, .smallest = 1, .largest = 1 << 20}),
            },
        .degree = {.parameter = "width"}};
  }

  explicit Dilated(const Settings& settings)
      : window_{.width = settings.integer("width"), .dilation = settings.integer("dilation")} {}

  AttentionGraphBuilder prepare(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    const DistanceRelations steps{window_.steps(options.length)};
    builder.add_relations(steps.count(), DistanceRelations::name);
    builder.add_rule(
        [=, window = window_, length = std::int64_t{builder.length()}, causal = builder.causal()](
            std::int32_t token, InEdges& in) { window.add(in, token, 0, causal ? token + 1 : length, steps); });
    return builder;
  }

  std::int64_t num_relations(std::int64_t max_length) const override {
    return DistanceRelations{window_.steps(max_length)}.count();
  }

 private:
  DilatedWindow window_;
};

}  // namespace

void add_dilated(GeneratorRegistry& registry) { registry.add<Dilated>(); }

}  // namespace bough
