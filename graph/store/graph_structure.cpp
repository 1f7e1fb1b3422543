#include "graph/store/graph_structure.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <new>
#include <string_view>

#include "bough/core/errors.h"
#include "bough/core/parallel.h"
#include "graph/store/rows.h"

namespace bough {
namespace {

constexpr std::int64_t max_count = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t scan_chunk = 1 << 17;

/// True if test(begin, end) is for every chunk of [0, count). Chunks that start after one has failed are spared.
template <typename Test>
bool all_chunks(std::int64_t count, Test test) {
  std::atomic<bool> all = true;
  parallel_chunks(count, scan_chunk, [&](std::int64_t begin, std::int64_t end) {
    if (all && !test(begin, end)) all = false;
  });
  return all;
}

bool all_below(std::span<const std::int32_t> ids, std::int64_t limit) {
  const auto last = static_cast<std::uint32_t>(limit - 1);
  return all_chunks(static_cast<std::int64_t>(ids.size()), [&](std::int64_t begin, std::int64_t end) {
    // The sign bit shows an id that is negative or above the last one; no comparison, so that any machine vectorises
    // it.
    std::uint32_t signs = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto id = static_cast<std::uint32_t>(ids[static_cast<std::size_t>(i)]);
      signs |= id | (last - id);
    }
    return signs >> 31 == 0;
  });
}

std::int32_t largest(std::span<const std::int32_t> ids) {
  std::int32_t result = -1;
  std::mutex mutex;
  parallel_chunks(static_cast<std::int64_t>(ids.size()), scan_chunk, [&](std::int64_t begin, std::int64_t end) {
    const std::int32_t largest_of_chunk = *std::max_element(ids.begin() + begin, ids.begin() + end);
    const std::lock_guard lock(mutex);
    result = std::max(result, largest_of_chunk);
  });
  return result;
}

bool ascends(std::span<const std::int32_t> ids) {
  const std::int32_t* id = ids.data();
  return all_chunks(static_cast<std::int64_t>(ids.size()) - 1, [=](std::int64_t begin, std::int64_t end) {
    std::int32_t descents = 0;
    for (std::int64_t i = begin; i < end; ++i) descents |= static_cast<std::int32_t>(id[i] > id[i + 1]);
    return descents == 0;
  });
}

/// Whether the pairs ascend, by major, then minor.
bool pairs_ascend(std::span<const std::int32_t> major, std::span<const std::int32_t> minor) {
  const std::int32_t* a = major.data();
  const std::int32_t* b = minor.data();
  return all_chunks(static_cast<std::int64_t>(major.size()) - 1, [=](std::int64_t begin, std::int64_t end) {
    std::int32_t descents = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      descents |= static_cast<std::int32_t>(a[i] > a[i + 1]) |
                  (static_cast<std::int32_t>(a[i] == a[i + 1]) & static_cast<std::int32_t>(b[i] > b[i + 1]));
    }
    return descents == 0;
  });
}

void require_count(const char* where, std::string_view what, std::int64_t count) {
  if (count < 0) throw GraphError(where, fmt::format("{} must not be negative, it is {}", what, count));
  if (count > max_count) {
    throw GraphError(where, fmt::format("{} is {}, but ids have 32 bits: at most {}", what, count, max_count));
  }
}

/// Checks that ids lie in 0..count-1, where count defaults to the largest id + 1, and returns the count.
std::int64_t checked_count(const char* where, std::span<const std::int32_t> ids, std::optional<std::int64_t> count,
                           std::string_view one, std::string_view many) {
  if (count) require_count(where, fmt::format("the number of {}", many), *count);
  const std::int64_t limit = count.value_or(max_count);
  if (!all_below(ids, limit)) {
    const auto bad = std::find_if(ids.begin(), ids.end(), [=](std::int32_t id) { return id < 0 || id >= limit; });
    const std::string allowed = !count       ? fmt::format("ids go from 0 to {}", max_count - 1)
                                : limit == 0 ? fmt::format("there are no {}", many)
                                             : fmt::format("there are {} {}, ids 0 to {}", limit, many, limit - 1);
    throw GraphError(where, fmt::format("edge {} has {} {}, but {}", bad - ids.begin(), one, *bad, allowed));
  }
  return count ? *count : std::int64_t{largest(ids)} + 1;
}

void require_offsets(const char* where, const char* name, std::span<const std::int64_t> offsets, std::int64_t total,
                     const char* what) {
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != total ||
      !std::is_sorted(offsets.begin(), offsets.end())) {
    throw GraphError(where, fmt::format("{} must start at 0, never descend and end at the {} {}", name, total, what));
  }
}

}  // namespace

std::shared_ptr<const void> DerivedValues::get(std::type_index type, std::uint64_t key, const Make& make) const {
  std::shared_ptr<const Slot> slot;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const Slot>& entry = slots_[{type, key}];
    if (!entry) entry = std::make_shared<const Slot>();
    slot = entry;
  }
  return slot->get(make);
}

GraphStructure::GraphStructure(const char* where, GraphParts parts)
    : src(std::move(parts.src)),
      dst(std::move(parts.dst)),
      edge_types(std::move(parts.edge_types)),
      bipartite(parts.bipartite) {
  if (src.size() != dst.size()) {
    throw GraphError(where, fmt::format("each edge needs both ends, but there are {} sources and {} destinations",
                                        src.size(), dst.size()));
  }
  require_count(where, "the number of edges", src.size());
  if (!edge_types.empty() && edge_types.size() != src.size()) {
    throw GraphError(where, fmt::format("edge_types needs one entry for each of the {} edges, but has {}", src.size(),
                                        edge_types.size()));
  }
  if (bipartite) {
    num_src = checked_count(where, src.span(), parts.num_src, "source", "source nodes");
    num_dst = checked_count(where, dst.span(), parts.num_dst, "destination", "destination nodes");
  } else {
    num_src = checked_count(where, src.span(), parts.num_src, "source", "nodes");
    num_dst = checked_count(where, dst.span(), parts.num_src, "destination", "nodes");
    num_src = num_dst = std::max(num_src, num_dst);
  }
  if (edge_types.empty() && !src.empty() && parts.num_edge_types.value_or(0) > 0) {
    throw GraphError(where, fmt::format("there are {} edge types, but edge_types does not say which edge has which",
                                        *parts.num_edge_types));
  }
  num_edge_types = checked_count(where, edge_types.span(), parts.num_edge_types, "type", "edge types");
  const bool by_source = pairs_ascend(src.span(), dst.span());
  const bool by_destination = pairs_ascend(dst.span(), src.span());
  source_order = {.sorted = by_source, .others_sorted = by_destination || ascends(dst.span())};
  destination_order = {.sorted = by_destination, .others_sorted = by_source || ascends(src.span())};
  take_offsets(where, std::move(parts));
}

void GraphStructure::take_offsets(const char* where, GraphParts parts) {
  src_offsets = std::move(parts.src_offsets);
  dst_offsets = std::move(parts.dst_offsets);
  edge_offsets = std::move(parts.edge_offsets);
  if (src_offsets.empty() && dst_offsets.empty() && edge_offsets.empty()) {
    src_offsets = {0, num_src};
    dst_offsets = {0, num_dst};
    edge_offsets = {0, src.size()};
    return;
  }
  require_offsets(where, bipartite ? "src_offsets" : "graph_offsets", src_offsets, num_src, "nodes");
  require_offsets(where, bipartite ? "dst_offsets" : "graph_offsets", dst_offsets, num_dst, "nodes");
  require_offsets(where, "edge_offsets", edge_offsets, src.size(), "edges");
  if (src_offsets.size() != dst_offsets.size() || src_offsets.size() != edge_offsets.size()) {
    throw GraphError(where, fmt::format("offsets of {} graphs for sources, {} for destinations and {} for edges",
                                        src_offsets.size() - 1, dst_offsets.size() - 1, edge_offsets.size() - 1));
  }
  const auto first_outside = [this](std::int64_t begin, std::int64_t end) {
    std::size_t graph = graph_of_edge(begin);
    for (std::int64_t edge = begin; edge < end; ++edge) {
      while (edge_offsets[graph + 1] <= edge) ++graph;
      const bool inside = src[edge] >= src_offsets[graph] && src[edge] < src_offsets[graph + 1] &&
                          dst[edge] >= dst_offsets[graph] && dst[edge] < dst_offsets[graph + 1];
      if (!inside) return edge;
    }
    return end;
  };
  const auto stay_inside = [&](std::int64_t begin, std::int64_t end) { return first_outside(begin, end) == end; };
  if (!all_chunks(src.size(), stay_inside)) {
    const std::int64_t edge = first_outside(0, src.size());
    throw GraphError(where, fmt::format("edge {} from {} to {} belongs to graph {} but leaves its nodes", edge,
                                        src[edge], dst[edge], graph_of_edge(edge)));
  }
}

std::size_t GraphStructure::graph_of_edge(std::int64_t edge) const {
  const auto next = std::upper_bound(edge_offsets.begin(), edge_offsets.end(), edge);
  return static_cast<std::size_t>(next - edge_offsets.begin()) - 1;
}

CompressedView GraphStructure::view(const Format& format, const IdArray& keys, std::int64_t num_keys,
                                    const IdArray& others, std::int64_t num_others, EdgeOrder order, EdgeIds ids) {
  const Compressed& rows = format.rows.get([&] {
    try {
      return compress(keys, num_keys, others, num_others, order);
    } catch (const std::bad_alloc&) {
      throw AllocationError("Graph",
                            fmt::format("not enough memory to group {} edges by {} nodes", keys.size(), num_keys));
    }
  });
  CompressedView view{rows.offsets, rows.indices.span(), rows.edge_ids.span(), rows.in_edge_order};
  if (rows.in_edge_order && ids == EdgeIds::listed) {
    view.edge_ids = format.listed_ids.get([&] { return identity_ids(rows.indices.size()); }).span();
  }
  return view;
}

CompressedView GraphStructure::by_source(EdgeIds ids) const {
  return view(by_source_, src, num_src, dst, num_dst, source_order, ids);
}

CompressedView GraphStructure::by_destination(EdgeIds ids) const {
  return view(by_destination_, dst, num_dst, src, num_src, destination_order, ids);
}

std::int64_t GraphStructure::Format::memory_bytes() const {
  std::int64_t bytes = 0;
  if (const Compressed* built = rows.peek()) {
    bytes += static_cast<std::int64_t>(built->offsets.size() * sizeof(std::int64_t));
    // A format in edge order shares its indices with the edges as given.
    if (!built->in_edge_order) bytes += (built->indices.size() + built->edge_ids.size()) * std::int64_t{4};
  }
  if (const IdArray* listed = listed_ids.peek()) bytes += listed->size() * std::int64_t{4};
  return bytes;
}

std::int64_t GraphStructure::memory_bytes() const {
  return (src.size() + dst.size() + edge_types.size()) * std::int64_t{4} + by_source_.memory_bytes() +
         by_destination_.memory_bytes();
}

}  // namespace bough
