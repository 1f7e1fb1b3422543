#include <bit>

#include "graph/generators/pattern_parts.h"
#include "graph/generators/patterns.h"

namespace bough {
namespace {

class LogSparse final : public GraphGenerator {
 public:
  static GeneratorDescription description() {
    return {.name = "logsparse", .summary = "tokens at distances 0, 1, 2, 4, 8, ... (LogSparse Transformer)"};
  }

  explicit LogSparse(const Settings&) {}

  AttentionGraph build(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    const DistanceRelations doublings{num_doublings(options.length)};
    builder.add_relations(doublings.count(), DistanceRelations::name);
    builder.add_rule([=, length = builder.length(), causal = builder.causal()](std::int32_t token, InEdges& in) {
      for (std::int64_t step = num_doublings(token + 1); step > 0; --step) {
        in.add(token - (std::int32_t{1} << (step - 1)), doublings.left(step));
      }
      in.add(token, doublings.first);
      if (causal) return;
      for (std::int64_t step = 1; step <= num_doublings(length - token); ++step) {
        in.add(token + (std::int32_t{1} << (step - 1)), doublings.right(step));
      }
    });
    return builder.build();
  }

  std::int64_t num_relations(std::int64_t max_length) const override {
    return DistanceRelations{num_doublings(max_length)}.count();
  }

 private:
  /// How many of 1, 2, 4, ... are below `length`.
  static std::int64_t num_doublings(std::int64_t length) {
    return std::bit_width(static_cast<std::uint64_t>(length - 1));
  }
};

}  // namespace

void add_logsparse(GeneratorRegistry& registry) { registry.add<LogSparse>(); }

}  // namespace bough
