#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bough/core/parallel.h"
#include "bough/graph/graph.h"

namespace bough {

/// A regular file, open for reading at any position, or bytes in memory that stand for one.
class InputFile {
 public:
  /// IoError if it cannot be opened.
  explicit InputFile(std::string path);
  InputFile(std::string name, std::string content);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  std::int64_t size() const { return size_; }
  /// IoError if the file ends before.
  void read(std::int64_t offset, void* to, std::size_t bytes) const;
  /// IoError with the file's name and what is wrong with it.
  [[noreturn]] void fail(std::string_view problem) const;

  /// Runs make(), which builds a graph from the file's content. IoError instead of its GraphError, or if the graph has
  /// implausibly many nodes or edge types; see load_graph.
  Graph build(FunctionRef<Graph()> make) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::string content_;  ///< if there is no descriptor
  std::int64_t size_ = 0;
};

/// load_graph for a file that is open already.
Graph load_graph(const InputFile& file);

}  // namespace bough
