#include "graph/generators/pattern_parts.h"
#include "graph/generators/patterns.h"

namespace bough {
namespace {

class Longformer final : public RulePattern {
 public:
  static GeneratorDescription description() {
    return {
        .name = "longformer",
        .summary = "a window, dilated if wished, and global tokens at the start that see and are seen by all",
        .parameters =
            {
                integer_parameter("width", "tokens attended to on each side",
                                  {.initial = 64, .smallest = 0, .largest = 1 << 20}),
                integer_parameter("dilation", "step between them", {.initial = 1, .smallest = 1, .largest = 1 << 20}),
                integer_parameter("global", "how many of the first tokens are global",
                                  {.initial = 1, .smallest = 0, .largest = 1 << 20}),
            },
        .degree = {.parameter = "width"}};
  }

  explicit Longformer(const Settings& settings)
      : window_{.width = settings.integer("width"), .dilation = settings.integer("dilation")},
        global_(settings.integer("global")) {}

  AttentionGraphBuilder prepare(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    // An edge is "self", or from a global token, or into one, or a step of the window: the first that fits.
    const std::int32_t from_global = builder.add_relation("from global");
    const std::int32_t to_global = builder.add_relation("to global");
    DistanceRelations steps{window_.steps(options.length)};
    steps.first = builder.add_relations(steps.count(), DistanceRelations::name);
    builder.add_rule(
        [=, this, length = std::int64_t{builder.length()}, causal = builder.causal()](std::int32_t token, InEdges& in) {
          const std::int64_t end = causal ? token + 1 : length;
          const std::int64_t globals = std::min(global_, end);
          in.add_interval(0, std::min<std::int64_t>(globals, token), from_global);
          if (token >= global_) return window_.add(in, token, globals, end, steps);
          in.add(token, steps.first);
          in.add_interval(token + 1, globals, from_global);
          in.add_interval(globals, end, to_global);
        });
    return builder;
  }

  std::int64_t num_relations(std::int64_t max_length) const override {
    return 2 + DistanceRelations{window_.steps(max_length)}.count();
  }

 private:
  DilatedWindow window_;
  std::int64_t global_;
};

}  // namespace

void add_longformer(GeneratorRegistry& registry) { registry.add<Longformer>(); }

}  // namespace bough
