#include "graph/generators/partition_tree.h"
#include "graph/generators/patterns.h"

namespace bough {
namespace {

class BinaryPartition final : public RulePattern {
 public:
  static GeneratorDescription description() {
    return {
        .name = "bpt",
        .summary = "binary partition tree: near tokens one by one, far ones as ever larger spans (BP-Transformer)",
        .parameters =
            {
                integer_parameter("k", "nodes of each level that a token attends to on each side",
                                  {.initial = 4, .smallest = 1, .largest = 65536}),
                choice_parameter("alignment",
                                 "where a node without its sibling goes: beyond the k of its level, or into the next "
                                 "level's first place",
                                 {"pair", "slot"}),
                integer_parameter("clip_levels", "levels above this one share its relations", {.largest = 64}),
            },
        .degree = {.parameter = "k"}};
  }

  explicit BinaryPartition(const Settings& settings)
      : options_{.k = settings.integer("k"),
                 .arity = 2,
                 .alignment = settings.string("alignment") == "slot" ? Alignment::slot : Alignment::pair,
                 .clip_levels = settings.optional_integer("clip_levels")} {}

  AttentionGraphBuilder prepare(const BuildOptions& options) const override {
    return prepare_partition_graph("bpt", options_, options);
  }

  std::int64_t num_relations(std::int64_t max_length) const override {
    return PartitionRelations(options_).count(max_length);
  }

 private:
  PartitionOptions options_;
};

}  // namespace

void add_bpt(GeneratorRegistry& registry) { registry.add<BinaryPartition>(); }

}  // namespace bough
