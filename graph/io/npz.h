#pragma once

#include <span>
#include <string>
#include <string_view>

#include "bough/graph/graph.h"
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
  /// The arrays from which load_npz makes the graph again.
  void add_graph(const Graph& graph);
  void commit() { archive_.commit(); }

 private:
  void add(std::string_view name, const std::string& header, std::span<const std::byte> elements);

  ZipWriter archive_;
};

/// NumPy archives; load_graph describes the arrays.
Graph load_npz(const InputFile& file);
void save_npz(const std::string& path, const Graph& graph);

}  // namespace bough
