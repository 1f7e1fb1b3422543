#pragma once

#include <map>
#include <memory>

#include "bough/tasks/token_graph.h"
#include "tasks/language_model/windows.h"

namespace bough {

/// The graphs with which a model reads windows of a text. Each is built once: usual() at once, those of the first
/// windows of a text when they are asked for.
class TextGraphs {
 public:
  /// With `carry`, a pattern that reads remembered states (Transformer-XL) reads those of the windows before; without,
  /// and every other pattern, each window stands alone. The generator must outlive the graphs. Errors as for
  /// TokenGraph.
  TextGraphs(const GraphGenerator& generator, WindowShape shape, std::int64_t layers, bool carry, Device device);

  const WindowShape& shape() const { return shape_; }
  /// Whether windows read what those before have left: a nn::SegmentMemory goes with them, empty before the first.
  bool carries() const { return warm_up_ > 0; }
  /// Of a window that comes after so many of its text. The same for all if they stand alone or have all before them
  /// that the pattern remembers.
  const TokenGraph& after(std::int64_t windows);
  /// The graph of most windows of a long text.
  const TokenGraph& usual();

 private:
  const GraphGenerator& generator_;
  WindowShape shape_;
  std::int64_t layers_;
  Device device_;
  std::int64_t warm_up_;  ///< windows that have less to remember than the pattern can; 0: none remembers anything
  std::map<std::int64_t, TokenGraph> built_;
};

}  // namespace bough
