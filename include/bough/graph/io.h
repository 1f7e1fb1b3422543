#pragma once

#include <string>

#include "bough/graph/graph.h"

namespace bough {

/// Reads a graph from a file of any of three kinds, recognised by their content:
///
/// - bough's own binary format (layout: graph/io/binary.h): everything, batches included, with checksums;
/// - NumPy .npz, as numpy.savez and savez_compressed write it: 1-d integer arrays src, dst and optionally edge_types,
///   integers num_nodes, or num_src and num_dst for a bipartite graph, optionally num_edge_types, and for batches
///   edge_offsets with graph_offsets, or with src_offsets and dst_offsets. Further arrays are passed over unless their
///   name looks like a slip of one of these. Or a matrix as scipy.sparse.save_npz writes it (coo, csr or csc): an
///   entry in row i and column j is an edge from i to j, square matrices are not bipartite, values are ignored;
/// - an edge list: a line "source destination" or "source destination type" for each edge, separated by spaces, tabs
///   or commas; empty lines and those that start with # or % are passed over. Counts are the largest id + 1 unless the
///   file starts with a line such as "# bough edge list num_nodes=5 num_edges=7 num_edge_types=2"
///   (num_src= and num_dst= for a bipartite graph).
///
/// IoError names the file and what is wrong with it, if it cannot be read, is cut short, damaged or does not describe a
/// graph. Nothing is allocated that the size of the file does not warrant (compressed arrays: at most 1032 times the
/// file). Nodes and edge types that no edge uses are cheap to claim and dear to work with, so files may have at most
/// 2^24 of each, or 64 an edge if that is more. AllocationError if the machine has too little memory for the graph.
Graph load_graph(const std::string& path);

/// Writes a graph; the file appears complete or not at all. The ending of the name chooses the kind: .bough (binary),
/// .npz (uncompressed int32 arrays as above) or .txt, .tsv, .edges (edge list; a batch is written as one graph).
/// Derived formats are not saved. IoError for another ending or if the file cannot be written.
void save_graph(const std::string& path, const Graph& graph);

}  // namespace bough
