#include <fmt/format.h>

#include "bough/core/errors.h"
#include "graph/generators/pattern_parts.h"
#include "graph/generators/patterns.h"

namespace bough {
namespace {

class SparseFixed final : public RulePattern {
 public:
  static GeneratorDescription description() {
    return {
        .name = "sparse_fixed",
        .summary = "the token's own block, and the last tokens of every other block (Sparse Transformer, fixed)",
        .parameters =
            {
                integer_parameter("stride", "tokens of a block", {.initial = 128, .smallest = 1, .largest = 1 << 20}),
                integer_parameter("c", "tokens at the end of each block that all later ones see",
                                  {.initial = 8, .smallest = 1, .largest = 1 << 20}),
            },
        .degree = {.parameter = "c", .companion = "stride", .companion_value = suited_stride}};
  }

  explicit SparseFixed(const Settings& settings)
      : stride_(settings.integer("stride")), summary_(settings.integer("c")), inside_{stride_ - 1} {
    if (summary_ > stride_) {
      throw ConfigError("sparse_fixed",
                        fmt::format("c must be at most stride, but c is {} and stride {}", summary_, stride_));
    }
  }

  /// The power of two next to the root of the length: own block and the summaries of the others then are about as many.
  static std::int64_t suited_stride(std::int64_t length) {
    std::int64_t stride = 1;
    while (stride * stride < length) stride *= 2;
    return stride;
  }

  AttentionGraphBuilder prepare(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    builder.add_relations(inside_.count(), DistanceRelations::name);
    const std::int32_t summary =
        builder.add_relations(summary_, [](std::int64_t place) { return fmt::format("summary({})", place); });
    builder.add_rule(
        [=, this, length = std::int64_t{builder.length()}, causal = builder.causal()](std::int32_t token, InEdges& in) {
          const std::int64_t own = token / stride_ * stride_;
          const auto add_summaries = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t block = begin; block < end; block += stride_) {
              in.add_interval(block + stride_ - summary_, std::min(length, block + stride_), summary, 1);
            }
          };
          add_summaries(0, own);
          inside_.add_interval(in, token, own, causal ? token + 1 : std::min(length, own + stride_));
          if (!causal) add_summaries(own + stride_, length);
        });
    return builder;
  }

  std::int64_t num_relations(std::int64_t) const override { return inside_.count() + summary_; }

 private:
  std::int64_t stride_;
  std::int64_t summary_;
  DistanceRelations inside_;
};

}  // namespace

void add_sparse_fixed(GeneratorRegistry& registry) { registry.add<SparseFixed>(); }

}  // namespace bough
