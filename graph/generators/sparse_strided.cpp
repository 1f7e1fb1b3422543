#include <fmt/format.h>

#include "graph/generators/pattern_parts.h"
#include "graph/generators/patterns.h"

namespace bough {
namespace {

class SparseStrided final : public RulePattern {
 public:
  static GeneratorDescription description() {
    return {.name = "sparse_strided",
            .summary = "the last tokens, and every stride-th one (Sparse Transformer, strided)",
            .parameters =
                {
                    integer_parameter("stride", "reach of the near part and step of the far one",
                                      {.initial = 128, .smallest = 1, .largest = 1 << 20}),
                    boolean_parameter("split_heads", "half of the heads see the near part, half the far one"),
                },
            .degree = {.parameter = "stride"}};
  }

  explicit SparseStrided(const Settings& settings)
      : stride_(settings.integer("stride")), split_heads_(settings.boolean("split_heads")), near_{stride_ - 1} {}

  AttentionGraphBuilder prepare(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    const std::int64_t length = builder.length();
    const bool causal = builder.causal();
    builder.add_relations(near_.count(), DistanceRelations::name);
    builder.add_relations(2 * far_steps(length),
                          [](std::int64_t i) { return "far " + DistanceRelations::name(i + 1); });

    const auto add_near = [=, this](std::int32_t token, InEdges& in) {
      near_.add_interval(in, token, std::max<std::int64_t>(0, token - stride_ + 1),
                         causal ? token + 1 : std::min(length, token + stride_));
    };
    if (!split_heads_) {
      builder.add_rule([=, this](std::int32_t token, InEdges& in) {
        add_far_left(token, in);
        add_near(token, in);
        if (!causal) add_far_right(token, length, in);
      });
      return builder;
    }
    builder.start_head_group();
    builder.add_rule(add_near);
    builder.start_head_group();
    builder.add_rule([=, this](std::int32_t token, InEdges& in) {
      add_far_left(token, in);
      in.add(token, near_.of(0, 0));
      if (!causal) add_far_right(token, length, in);
    });
    return builder;
  }

  std::int64_t num_relations(std::int64_t max_length) const override {
    return near_.count() + 2 * far_steps(max_length);
  }

 private:
  std::int64_t far_steps(std::int64_t length) const { return (length - 1) / stride_; }

  void add_far_left(std::int64_t token, InEdges& in) const {
    const DistanceRelations far{far_steps(max_sequence_length), static_cast<std::int32_t>(near_.count()) - 1};
    for (std::int64_t step = token / stride_; step > 0; --step) {
      in.add(static_cast<std::int32_t>(token - step * stride_), far.left(step));
    }
  }
  void add_far_right(std::int64_t token, std::int64_t length, InEdges& in) const {
    const DistanceRelations far{far_steps(max_sequence_length), static_cast<std::int32_t>(near_.count()) - 1};
    for (std::int64_t step = 1; token + step * stride_ < length; ++step) {
      in.add(static_cast<std::int32_t>(token + step * stride_), far.right(step));
    }
  }

  std::int64_t stride_;
  bool split_heads_;
  DistanceRelations near_;
};

}  // namespace

void add_sparse_strided(GeneratorRegistry& registry) { registry.add<SparseStrided>(); }

}  // namespace bough
