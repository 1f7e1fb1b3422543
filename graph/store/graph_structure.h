#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <typeindex>
#include <utility>
#include <vector>

#include "bough/graph/graph.h"
#include "graph/store/compress.h"

namespace bough {

/// A value made when first asked for. Any number of threads may ask; one makes it, the others wait. If making throws,
/// the next one tries again.
template <typename T>
class Lazy {
 public:
  template <typename Make>
  const T& get(Make&& make) const {
    if (const T* value = ready_.load(std::memory_order_acquire)) return *value;
    const std::lock_guard lock(mutex_);
    if (!value_) {
      value_.emplace(make());
      ready_.store(&*value_, std::memory_order_release);
    }
    return *value_;
  }

  /// The value if it exists already.
  const T* peek() const { return ready_.load(std::memory_order_acquire); }

  /// Before the owner is shared.
  void set(T value) {
    value_.emplace(std::move(value));
    ready_.store(&*value_, std::memory_order_release);
  }

 private:
  mutable std::mutex mutex_;
  mutable std::optional<T> value_;
  mutable std::atomic<const T*> ready_ = nullptr;
};

/// The values of Graph::cached.
class DerivedValues {
 public:
  using Make = std::function<std::shared_ptr<const void>()>;
  std::shared_ptr<const void> get(std::type_index type, std::uint64_t key, const Make& make) const;

 private:
  using Slot = Lazy<std::shared_ptr<const void>>;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<std::type_index, std::uint64_t>, std::shared_ptr<const Slot>> slots_;
};

/// What a graph is made of before it is checked. Counts that are not given follow from the largest id.
struct GraphParts {
  IdArray src = {};
  IdArray dst = {};
  bool bipartite = false;
  std::optional<std::int64_t> num_src = {};
  std::optional<std::int64_t> num_dst = {};  ///< equal to num_src unless bipartite
  IdArray edge_types = {};
  std::optional<std::int64_t> num_edge_types = {};
  /// Where the graphs of a disjoint union begin, and the end; all empty for a single graph.
  std::vector<std::int64_t> src_offsets = {};
  std::vector<std::int64_t> dst_offsets = {};
  std::vector<std::int64_t> edge_offsets = {};
};

/// The body behind the handles: edges as given, and what has been derived from them so far.
class GraphStructure {
 public:
  /// GraphError naming `where` if the parts do not make a graph.
  GraphStructure(const char* where, GraphParts parts);

  IdArray src;
  IdArray dst;
  IdArray edge_types;
  std::int64_t num_src = 0;
  std::int64_t num_dst = 0;
  std::int64_t num_edge_types = 0;
  bool bipartite = false;
  std::vector<std::int64_t> src_offsets;
  std::vector<std::int64_t> dst_offsets;
  std::vector<std::int64_t> edge_offsets;
  EdgeOrder source_order;       ///< for grouping by source
  EdgeOrder destination_order;  ///< for grouping by destination

  CompressedView by_source(EdgeIds ids) const;
  CompressedView by_destination(EdgeIds ids) const;
  std::int64_t memory_bytes() const;
  const DerivedValues& derived(bool reversed) const { return derived_[reversed ? 1 : 0]; }

 private:
  struct Format {
    Lazy<Compressed> rows;
    Lazy<IdArray> listed_ids;  ///< 0, 1, 2, ... for a format in edge order, made on first use

    std::int64_t memory_bytes() const;
  };
  static CompressedView view(const Format& format, const IdArray& keys, std::int64_t num_keys, const IdArray& others,
                             std::int64_t num_others, EdgeOrder order, EdgeIds ids);

  void take_offsets(const char* where, GraphParts parts);
  std::size_t graph_of_edge(std::int64_t edge) const;

  Format by_source_;
  Format by_destination_;
  DerivedValues derived_[2];
};

}  // namespace bough
