#pragma once

#include <span>
#include <string>
#include <string_view>

#include "bough/graph/graph.h"
#include "bough/graph/io.h"
#include "graph/io/input_file.h"
#include "graph/io/zip.h"

namespace bough {

/// Writes arrays the way numpy.savez does, uncompressed.
class NpzWriter {
 public:
  explicit NpzWriter(const std::string& path) : archive_(path) {}

  void add(std::string_view name, std::span<const std::int32_t> values);
  void add(std::string_view name, std::span<const std::int64_t> values);
  void add_scalar(std::string_view name, std::int64_t value);
  /// From any device. TypeError for a type that NumPy lacks.
  void add(std::string_view name, const Tensor& tensor);
  /// The arrays from which load_npz_graph makes the graph again.
  void add_graph(const Graph& graph);
  /// Whether an array of this name was added.
  bool has(std::string_view name) const;
  void commit() { archive_.commit(); }

 private:
  void add(std::string_view name, const std::string& header, std::span<const std::byte> elements);

  ZipWriter archive_;
};

/// The graph of a NumPy archive; load_graph describes the arrays.
Graph load_npz_graph(const InputFile& file);
/// Of files that are open already.
NamedTensors load_npz(const InputFile& file);
GraphWithTensors load_graph_with_tensors(const InputFile& file);

}  // namespace bough
