#include <vector>

#include "graph/generators/pattern_parts.h"
#include "graph/generators/patterns.h"

namespace bough {
namespace {

class BigBird final : public RulePattern {
 public:
  static GeneratorDescription description() {
    return {.name = "bigbird",
            .summary = "a window, global tokens at the start, and random tokens",
            .parameters =
                {
                    integer_parameter("width", "tokens attended to on each side",
                                      {.initial = 32, .smallest = 0, .largest = 1 << 20}),
                    integer_parameter("global", "how many of the first tokens see and are seen by all",
                                      {.initial = 2, .smallest = 0, .largest = 1 << 20}),
                    integer_parameter("random", "further tokens chosen at random for each token",
                                      {.initial = 8, .smallest = 0, .largest = 4096}),
                    integer_parameter("seed", "of the choice; the same seed gives the same graph everywhere",
                                      {.initial = 1}),
                },
            .degree = {.parameter = "width"}};
  }

  explicit BigBird(const Settings& settings)
      : width_(settings.integer("width")),
        global_(settings.integer("global")),
        random_(settings.integer("random")),
        seed_(static_cast<std::uint64_t>(settings.integer("seed"))) {}

  AttentionGraphBuilder prepare(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    // An edge is "self", or from a global token, or into one, or in the window, or random: the first that fits.
    const std::int32_t from_global = builder.add_relation("from global");
    const std::int32_t to_global = builder.add_relation("to global");
    const std::int32_t by_chance = builder.add_relation("random");
    DistanceRelations near = near_for(options.length);
    near.first = builder.add_relations(near.count(), DistanceRelations::name);
    builder.add_rule(
        [=, this, length = std::int64_t{builder.length()}, causal = builder.causal()](std::int32_t token, InEdges& in) {
          const std::int64_t end = causal ? token + 1 : length;
          const std::int64_t globals = std::min(global_, end);
          in.add_interval(0, std::min<std::int64_t>(globals, token), from_global);
          if (token < global_) {
            in.add(token, near.first);
            in.add_interval(token + 1, globals, from_global);
            in.add_interval(globals, end, to_global);
            return;
          }
          const std::int64_t window_begin = std::max(globals, token - width_);
          const std::int64_t window_end = std::min(end, token + width_ + 1);
          // What is left over, left and right of the window, numbered from 0.
          const std::int64_t before = window_begin - globals;
          const std::vector<std::int64_t> chosen =
              choose(random_, before + end - window_end, {seed_, static_cast<std::uint64_t>(token)});
          std::size_t i = 0;
          for (; i < chosen.size() && chosen[i] < before; ++i)
            in.add(static_cast<std::int32_t>(globals + chosen[i]), by_chance);
          near.add_interval(in, token, window_begin, window_end);
          for (; i < chosen.size(); ++i) in.add(static_cast<std::int32_t>(window_end + chosen[i] - before), by_chance);
        });
    return builder;
  }

  std::int64_t num_relations(std::int64_t max_length) const override { return 3 + near_for(max_length).count(); }

 private:
  DistanceRelations near_for(std::int64_t length) const { return {std::min(width_, length - 1)}; }

  std::int64_t width_;
  std::int64_t global_;
  std::int64_t random_;
  std::uint64_t seed_;
};

}  // namespace

void add_bigbird(GeneratorRegistry& registry) { registry.add<BigBird>(); }

}  // namespace bough
