#pragma once

#include <map>
#include <string>

#include "bough/core/tensor.h"
#include "bough/graph/graph.h"

namespace bough {

/// Reads a graph from a file of any of three kinds, recognised by their content:
///
/// - bough's own binary format (layout: graph/io/binary.h): everything, batches included, with checksums;
/// - NumPy .npz, as numpy.savez and savez_compressed write it: 1-d integer arrays src, dst and optionally edge_types,
///   integers num_nodes, or num_src and num_dst for a bipartite graph, optionally num_edge_types, and for batches
///   edge_offsets with graph_offsets, or with src_offsets and dst_offsets. Or a matrix as scipy.sparse.save_npz writes
///   it (coo, csr or csc): an entry in row i and column j is an edge from i to j, square matrices are not bipartite.
///   Further arrays may stand beside the graph, and are not read: load_graph_with_tensors gives them. A name that is
///   one letter, or capital letters, away from an array of the graph which is not there, as edge_type, is taken for a
///   slip and an IoError;
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
/// Derived formats are not saved, nor is what attention_form tells: loaded again, the graph is plain. IoError for
/// another ending or if the file cannot be written.
void save_graph(const std::string& path, const Graph& graph);

/// Tensors by name: features, labels, masks.
class NamedTensors : public std::map<std::string, Tensor> {
 public:
  using std::map<std::string, Tensor>::map;
  /// The tensor of that name; IndexError with the names there are, and the nearest, if there is none.
  const Tensor& at(const std::string& name) const;
  Tensor& at(const std::string& name);
};

/// All arrays of a NumPy .npz file, on the CPU. Types are kept; int8, int16 and their unsigned kinds become int32, and
/// uint32 int64. IoError, naming the array, for types that tensors lack (float16, complex, text, objects), big-endian
/// numbers, several axes in Fortran order, and for whatever is cut short or damaged. Memory as in load_graph.
///
///     const NamedTensors data = load_npz("cora.npz");
///     const Tensor x = data.at("features"), labels = data.at("labels");
NamedTensors load_npz(const std::string& path);
/// Writes what numpy.load reads: uncompressed, in row-major order, the same bytes each time. The file appears complete
/// or not at all. Tensors of a GPU are copied to the host; history of autograd is not saved. TypeError for bfloat16,
/// which NumPy lacks; IoError for a name that is empty or longer than 1000 bytes, for an undefined tensor, or if the
/// file cannot be written.
void save_npz(const std::string& path, const NamedTensors& tensors);

/// What load_graph_with_tensors reads.
struct GraphWithTensors {
  Graph graph;           ///< the structure
  NamedTensors tensors;  ///< what stands beside it
};

/// A graph and the tensors beside it, in one .npz file. Saving refuses names that mean an array of the graph, and
/// those that load_graph takes for slips (IoError). Loading gives load_graph(path) and all arrays that are not part of
/// it, as load_npz does; of a scipy matrix the values are the tensor "data", one for each edge. Files of other kinds
/// have no tensors.
///
///     save_npz("cora.npz", graph, {{"features", x}, {"labels", y}});
///     const auto [graph, tensors] = load_graph_with_tensors("cora.npz");
void save_npz(const std::string& path, const Graph& graph, const NamedTensors& tensors);
GraphWithTensors load_graph_with_tensors(const std::string& path);

}  // namespace bough
