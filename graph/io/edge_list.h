#pragma once

#include <string>

#include "bough/graph/graph.h"
#include "graph/io/input_file.h"

namespace bough {

/// Edge lists as text; load_graph describes them.
Graph load_edge_list(const InputFile& file);
void save_edge_list(const std::string& path, const Graph& graph);

}  // namespace bough
