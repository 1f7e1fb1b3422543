#include "graph/generators/partition_tree.h"
#include "graph/generators/patterns.h"

namespace bough {
namespace {

class KaryPartition final : public RulePattern {
 public:
  static GeneratorDescription description() {
    return {
        .name = "kary",
        .summary = "partition tree of any arity; arity 2 is bpt with alignment \"pair\"",
        .parameters =
            {
                integer_parameter("arity", "children of each span", {.initial = 4, .smallest = 2, .largest = 65536}),
                integer_parameter("k",
                                  "nodes of each level that a token attends to on each side, before the siblings "
                                  "that complete a group",
                                  {.initial = 4, .smallest = 1, .largest = 65536}),
            },
        .degree = {.parameter = "k"}};
  }

  explicit KaryPartition(const Settings& settings)
      : options_{.k = settings.integer("k"), .arity = settings.integer("arity")} {}

  AttentionGraphBuilder prepare(const BuildOptions& options) const override {
    return prepare_partition_graph("kary", options_, options);
  }

  std::int64_t num_relations(std::int64_t max_length) const override {
    return PartitionRelations(options_).count(max_length);
  }

 private:
  PartitionOptions options_;
};

}  // namespace

void add_kary(GeneratorRegistry& registry) { registry.add<KaryPartition>(); }

}  // namespace bough
