#pragma once

#include "bough/graph/attention_graph_builder.h"
#include "bough/graph/graph_generator.h"

/// What is built in: one file and one function for each pattern, called in registry.cpp.
namespace bough {

/// A pattern that is all in what it tells a builder, so its degree can be counted without making edges.
class RulePattern : public GraphGenerator {
 public:
  AttentionGraph build(const BuildOptions& options) const final { return prepare(options).build(); }
  double attention_degree(const BuildOptions& options) const final { return prepare(options).attention_degree(); }

 protected:
  /// A builder that lacks nothing but build(). What it holds may refer to the pattern.
  virtual AttentionGraphBuilder prepare(const BuildOptions& options) const = 0;
};

void add_adaptive_span(GeneratorRegistry& registry);
void add_bigbird(GeneratorRegistry& registry);
void add_blocks(GeneratorRegistry& registry);
void add_bpt(GeneratorRegistry& registry);
void add_chain(GeneratorRegistry& registry);
void add_cross(GeneratorRegistry& registry);
void add_dilated(GeneratorRegistry& registry);
void add_expander(GeneratorRegistry& registry);
void add_file(GeneratorRegistry& registry);
void add_full(GeneratorRegistry& registry);
void add_hierarchical(GeneratorRegistry& registry);
void add_kary(GeneratorRegistry& registry);
void add_logsparse(GeneratorRegistry& registry);
void add_longformer(GeneratorRegistry& registry);
void add_memory(GeneratorRegistry& registry);
void add_sentences(GeneratorRegistry& registry);
void add_sparse_fixed(GeneratorRegistry& registry);
void add_sparse_strided(GeneratorRegistry& registry);
void add_star(GeneratorRegistry& registry);
void add_window(GeneratorRegistry& registry);

/// Patterns made of other patterns.
void add_causal(GeneratorRegistry& registry);
void add_remap(GeneratorRegistry& registry);
void add_union(GeneratorRegistry& registry);

}  // namespace bough
