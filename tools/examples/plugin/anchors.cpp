#include <bough/bough.h>

namespace {

/// Tokens see their neighbours and, through one anchor node for each block, every other block.
class Anchors final : public bough::GraphGenerator {
 public:
  static bough::GeneratorDescription description() {
    return {
        .name = "anchors",
        .summary = "neighbours, and one anchor for each other block",
        .parameters =
            {
                bough::integer_parameter("width", "neighbours on each side", {.initial = 2, .largest = 1024}),
                bough::integer_parameter("block", "tokens of a block", {.initial = 8, .smallest = 1, .largest = 65536}),
            },
        .degree = {.parameter = "width"}};
  }

  explicit Anchors(const bough::Settings& settings)
      : width_(settings.integer("width")), block_(settings.integer("block")) {}

  bough::AttentionGraph build(const bough::BuildOptions& options) const override {
    bough::AttentionGraphBuilder builder(options);  // nodes 0 .. length-1 are the tokens
    const std::int64_t length = builder.length();
    const std::int64_t first_anchor = length;
    for (std::int64_t begin = 0; begin < length; begin += block_) {
      builder.add_span(1, begin, std::min(length, begin + block_));
    }
    const std::int64_t end_anchor = builder.num_nodes();

    const auto self = builder.add_relation("self");
    const auto near = builder.add_relation("near");
    const auto far = builder.add_relation("far");
    const auto member = builder.add_relation("member");

    // What a token attends to: sources in ascending order are cheapest, intervals cheaper than single edges.
    builder.add_rule([=, this, causal = builder.causal()](std::int32_t token, bough::InEdges& in) {
      in.add_interval(std::max<std::int64_t>(0, token - width_), token, near);
      in.add(token, self);
      if (!causal) in.add_interval(token + 1, std::min(length, token + width_ + 1), near);
      const std::int64_t own_anchor = first_anchor + token / block_;
      in.add_interval(first_anchor, own_anchor, far);
      if (!causal) in.add_interval(own_anchor + 1, end_anchor, far);
    });
    // What an anchor attends to: the tokens of its block.
    builder.add_rule(first_anchor, end_anchor, [=, this](std::int32_t anchor, bough::InEdges& in) {
      const std::int64_t begin = (anchor - first_anchor) * block_;
      in.add_interval(begin, std::min(length, begin + block_), member);
    });
    return builder.build();
  }

  std::int64_t num_relations(std::int64_t) const override { return 4; }

 private:
  std::int64_t width_, block_;
};

}  // namespace

extern "C" void bough_register(bough::GeneratorRegistry& registry) { registry.add<Anchors>(); }
