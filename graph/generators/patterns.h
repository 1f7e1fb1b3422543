#pragma once

#include "bough/graph/attention_graph_builder.h"
#include "bough/graph/graph_generator.h"

/// What is built in: one file and one function for each pattern, called in registry.cpp.
namespace bough {

void add_bpt(GeneratorRegistry& registry);
void add_full(GeneratorRegistry& registry);
void add_kary(GeneratorRegistry& registry);
void add_window(GeneratorRegistry& registry);

}  // namespace bough
