#include <numeric>

#include "graph/generators/pattern_parts.h"
#include "graph/generators/patterns.h"

namespace bough {
namespace {

class Hierarchical final : public RulePattern {
 public:
  static GeneratorDescription description() {
    return {.name = "hierarchical",
            .summary = "tokens within their block, a node for each block, blocks among each other (HAN, Bi-BloSAN)",
            .parameters =
                {
                    integer_parameter("size", "tokens of a block", {.initial = 16, .smallest = 1, .largest = 1 << 20}),
                    boolean_parameter("feedback",
                                      "tokens also attend to the nodes of all blocks (causal: of earlier ones)"),
                },
            .degree = {.parameter = "size"}};
  }

  explicit Hierarchical(const Settings& settings)
      : size_(settings.integer("size")), feedback_(settings.boolean("feedback")), inside_{size_ - 1} {}

  AttentionGraphBuilder prepare(const BuildOptions& options) const override {
    AttentionGraphBuilder builder(options);
    const std::int64_t length = builder.length();
    const std::int32_t first_block = builder.num_nodes();
    const std::int64_t num_blocks = blocks_of(length);
    for (std::int64_t begin = 0; begin < length; begin += size_) {
      builder.add_span(1, begin, std::min(length, begin + size_));
    }

    builder.add_relations(inside_.count(), DistanceRelations::name);
    const std::int32_t member = builder.add_relation("member");
    const std::int32_t block_before = builder.add_relation("block before");
    const std::int32_t own_block = builder.add_relation("own block");
    const std::int32_t block_after = builder.add_relation("block after");
    DistanceRelations among{num_blocks - 1};
    among.first =
        builder.add_relations(among.count(), [](std::int64_t i) { return "block " + DistanceRelations::name(i); });

    builder.add_rule([=, this, causal = builder.causal()](std::int32_t token, InEdges& in) {
      const std::int64_t block = token / size_;
      inside_.add_interval(in, token, block * size_, causal ? token + 1 : std::min(length, (block + 1) * size_));
      if (!feedback_) return;
      in.add_interval(first_block, first_block + block, block_before);
      if (causal) return;
      in.add_interval(first_block + block, first_block + block + 1, own_block);
      in.add_interval(first_block + block + 1, first_block + num_blocks, block_after);
    });
    builder.add_rule(first_block, builder.num_nodes(),
                     [=, this, causal = builder.causal()](std::int32_t node, InEdges& in) {
                       const std::int64_t block = node - first_block;
                       in.add_interval(block * size_, std::min(length, (block + 1) * size_), member);
                       among.add_interval(in, block, 0, causal ? block + 1 : num_blocks, first_block);
                     });
    std::vector<std::int32_t> blocks(static_cast<std::size_t>(num_blocks));
    std::iota(blocks.begin(), blocks.end(), first_block);
    builder.set_readout(std::move(blocks));
    return builder;
  }

  std::int64_t num_relations(std::int64_t max_length) const override {
    return inside_.count() + 4 + DistanceRelations{blocks_of(max_length) - 1}.count();
  }

 private:
  std::int64_t blocks_of(std::int64_t length) const { return (length + size_ - 1) / size_; }

  std::int64_t size_;
  bool feedback_;
  DistanceRelations inside_;
};

}  // namespace

void add_hierarchical(GeneratorRegistry& registry) { registry.add<Hierarchical>(); }

}  // namespace bough
