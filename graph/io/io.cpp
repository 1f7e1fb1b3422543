#include "bough/graph/io.h"

#include <fmt/format.h>

#include <filesystem>
#include <new>

#include "bough/core/errors.h"
#include "graph/io/binary.h"
#include "graph/io/edge_list.h"
#include "graph/io/input_file.h"
#include "graph/io/npz.h"

namespace bough {

Graph load_graph(const std::string& path) { return load_graph(InputFile(path)); }

Graph load_graph(const InputFile& file) {
  try {
    if (is_binary_graph(file)) return load_binary(file);
    if (is_zip(file)) return load_npz_graph(file);
    if (file.path().ends_with(".npz")) file.fail("is not a NumPy .npz archive");
    return load_edge_list(file);
  } catch (const std::bad_alloc&) {
    throw AllocationError("load_graph", fmt::format("there is not enough memory for the graph in '{}'", file.path()));
  }
}

NamedTensors load_npz(const std::string& path) { return load_npz(InputFile(path)); }

GraphWithTensors load_graph_with_tensors(const std::string& path) { return load_graph_with_tensors(InputFile(path)); }

void save_graph(const std::string& path, const Graph& graph) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".bough") return save_binary(path, graph);
  if (ending == ".npz") return save_npz(path, graph, {});
  if (ending == ".txt" || ending == ".tsv" || ending == ".edges") return save_edge_list(path, graph);
  throw IoError("save_graph", fmt::format("'{}' must end in .bough (binary), .npz (NumPy) or .txt, .tsv, .edges (edge "
                                          "list)",
                                          path));
}

}  // namespace bough
