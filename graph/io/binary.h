#pragma once

#include <string>

#include "bough/graph/graph.h"
#include "graph/io/input_file.h"

namespace bough {

/// The binary format, version 1. All numbers are little-endian.
///
///     bytes  what
///     8      magic: 89 'b' 'g' 'r' 0d 0a 1a 0a (a transfer as text damages it visibly)
///     4      version, 1
///     4      flags: 1 bipartite, 2 typed, 4 batch; the others are 0
///     8 x 5  num_src, num_dst, num_edges, num_edge_types, num_graphs (int64)
///     4      CRC-32 of the 56 bytes before
///     then sections, each followed by its CRC-32 (4 bytes):
///     4 E    sources, in edge order (int32)
///     4 E    destinations
///     4 E    edge types, if typed
///     8(G+1) src_offsets, dst_offsets and edge_offsets, if batch: three sections (int64)
///
/// The file ends after the last section.
bool is_binary_graph(const InputFile& file);
Graph load_binary(const InputFile& file);
void save_binary(const std::string& path, const Graph& graph);

}  // namespace bough
