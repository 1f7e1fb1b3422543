#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "bough/core/errors.h"
#include "bough/detail/simt/context.h"
#include "bough/detail/simt/row_items.h"
#include "kernels/attention/views.h"

/// Gradients of relation tables. In one row every edge of a relation adds a multiple of the same vector (the row's
/// query, or its d_out) to the relation's entry, so a warp sums the multiples by relation, and the block then adds the
/// products of the sums of its warps with their vectors to its own tables. At the end the tables of all blocks are
/// added up in order.
namespace bough::simt {

/// Shared memory of RelationSums.
template <typename T>
constexpr std::size_t relation_sums_bytes(std::int64_t num_relations, std::int64_t warps) {
  return 2 * shared_bytes<T>(num_relations * warps);
}

/// For each warp of a block and each relation: the sums of d_score and of the share over the edges of the warp's row.
template <typename T, typename Context>
class RelationSums {
 public:
  BOUGH_DEVICE RelationSums(Context& context, std::int64_t num_relations)
      : num_relations_(num_relations),
        d_scores_(context.template shared<T>(num_relations * (context.block_size() / warp_size))),
        shares_(context.template shared<T>(num_relations * (context.block_size() / warp_size))) {}

  BOUGH_DEVICE void clear(Context& context) const {
    for (std::int64_t i = context.lane(); i < num_relations_; i += warp_size) {
      d_scores_.set(context.warp() * num_relations_ + i, T{0});
      shares_.set(context.warp() * num_relations_ + i, T{0});
    }
    context.sync_warp();
  }

  /// Adds one edge of each active group, group after group, because two of them may be of the same relation.
  template <typename ShareOf>
  BOUGH_DEVICE void add(Context& context, bool active, std::int32_t type, T d_score, T share) const {
    const std::int64_t place = context.warp() * num_relations_ + type;
    for (int group = 0; group < ShareOf::groups; ++group) {
      if (active && context.lane() == group * ShareOf::lanes) {
        d_scores_.set(place, d_scores_.get(place) + d_score);
        shares_.set(place, shares_.get(place) + share);
      }
      context.sync_warp();
    }
  }

  BOUGH_DEVICE T d_score(int warp, std::int64_t relation) const {
    return d_scores_.get(warp * num_relations_ + relation);
  }
  BOUGH_DEVICE T share(int warp, std::int64_t relation) const { return shares_.get(warp * num_relations_ + relation); }

 private:
  using Array = decltype(std::declval<Context&>().template shared<T>(1));
  std::int64_t num_relations_;
  Array d_scores_, shares_;
};

/// The tables of blocks. Each element belongs to one thread of the block, which alone reads and writes it.
template <typename T>
struct RelationOuterProducts {
  using Number = AccumType<T>;
  const AttentionInputs<T>& in;
  const AttentionGradients<T>& gradients;
  const RelationTables<Number>& tables;
  const RowItem* items;

  template <typename Context>
  BOUGH_DEVICE void clear(Context& context) const {
    const auto each = [&](const HeadRows<Number>& table, std::int64_t width) {
      for (std::int64_t i = context.thread(); table && i < gradients.num_relations * width; i += context.block_size()) {
        context.store(block_table(context, table) + i, Number{0});
      }
    };
    each(tables.keys, in.width);
    each(tables.values, in.value_width);
    each(tables.bias, 1);
  }

  /// Adds what the items first, first + 1, ... gave, of which the warps of the block have one each.
  template <typename Context, typename Sums>
  BOUGH_DEVICE void add(Context& context, const Sums& sums, std::int64_t head, std::int64_t first, int count) const {
    const auto row_of = [&](int warp) { return context.load(&items[first + warp].row); };
    add_to(context, tables.keys, in.width, count, [&](int warp, std::int64_t relation, std::int64_t i) {
      const Number factor = sums.d_score(warp, relation);
      return factor == 0 ? Number{0} : in.scale * factor * Number{context.load(in.q(row_of(warp), head) + i)};
    });
    add_to(context, tables.values, in.value_width, count, [&](int warp, std::int64_t relation, std::int64_t i) {
      const Number factor = sums.share(warp, relation);
      return factor == 0 ? Number{0} : factor * Number{context.load(gradients.d_out(row_of(warp), head) + i)};
    });
    add_to(context, tables.bias, 1, count,
           [&](int warp, std::int64_t relation, std::int64_t) { return sums.d_score(warp, relation); });
  }

 private:
  /// [relations, width], the block's own.
  template <typename Context>
  BOUGH_DEVICE static Number* block_table(Context& context, const HeadRows<Number>& table) {
    return table.data + context.block() * table.head_stride;
  }

  template <typename Context, typename Term>
  BOUGH_DEVICE void add_to(Context& context, const HeadRows<Number>& table, std::int64_t width, int count,
                           const Term& term) const {
    if (!table) return;
    for (std::int64_t i = context.thread(); i < gradients.num_relations * width; i += context.block_size()) {
      Number sum = 0;
      for (int warp = 0; warp < count; ++warp) sum += term(warp, i / width, i % width);
      if (sum == 0) continue;
      Number* element = block_table(context, table) + i;
      context.store(element, context.load(element) + sum);
    }
  }
};

/// How many tables a pass keeps, and how large they are.
struct RelationTableSizes {
  std::int64_t ranges = 0, items_per_range = 0, heads = 0, num_relations = 0;
  std::int64_t key_width = 0, value_width = 0, bias_width = 0;  ///< 0: not wanted

  std::int64_t block_elements() const { return num_relations * (key_width + value_width + bias_width); }
  std::int64_t elements() const { return ranges * heads * block_elements(); }

  /// Those of block 0, in memory of `elements()` numbers; head_stride leads to the next block, whose head is the next
  /// one.
  template <typename T>
  RelationTables<T> tables(T* memory) const {
    const std::int64_t blocks = ranges * heads, keys = num_relations * key_width, values = num_relations * value_width;
    const auto part = [&](std::int64_t before, std::int64_t width) {
      return width == 0 ? HeadRows<T>{} : HeadRows<T>{memory + blocks * before, width, num_relations * width};
    };
    return {part(0, key_width), part(keys, value_width), part(keys + values, bias_width)};
  }
};

/// Without tables, every block has one item for each warp; with them, as many as keep the tables within 64 MB.
template <typename T>
RelationTableSizes relation_table_sizes(const AttentionGradients<T>& gradients, const AttentionInputs<T>& in,
                                        std::int64_t num_items, std::int64_t warps) {
  RelationTableSizes sizes{.ranges = blocks_for(num_items, warps), .items_per_range = warps, .heads = in.heads};
  if (!gradients.relations || gradients.num_relations == 0) return sizes;
  if (relation_sums_bytes<AccumType<T>>(gradients.num_relations, warps) > most_shared_bytes) {
    throw DeviceError("graph_attention", "has no gradient of tables of " + std::to_string(gradients.num_relations) +
                                             " relations on a GPU; use fewer, or Device::cpu()");
  }
  sizes.num_relations = gradients.num_relations;
  sizes.key_width = gradients.relations.keys ? in.width : 0;
  sizes.value_width = gradients.relations.values ? in.value_width : 0;
  sizes.bias_width = gradients.relations.bias ? 1 : 0;
  const std::int64_t most_bytes = std::int64_t{64} << 20;
  const std::int64_t bytes =
      std::max<std::int64_t>(1, sizes.block_elements()) * static_cast<std::int64_t>(sizeof(AccumType<T>));
  const std::int64_t most_ranges =
      std::clamp<std::int64_t>(most_bytes / (bytes * std::max<std::int64_t>(1, in.heads)), 1, 256);
  sizes.items_per_range =
      blocks_for(blocks_for(num_items, std::min(most_ranges, std::max<std::int64_t>(1, sizes.ranges))), warps) * warps;
  sizes.ranges = num_items == 0 ? 0 : blocks_for(num_items, std::max(warps, sizes.items_per_range));
  return sizes;
}

/// target += the tables of all ranges, in order; of all heads too, where they share the target. A thread an element.
template <typename T>
struct MergeRelationTables {
  static constexpr int block_size = 128;

  std::int64_t ranges = 0, heads = 0, num_relations = 0, width = 0;
  HeadRows<T> tables, target;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t table = num_relations * width, index = thread_number<block_size>(context);
    const bool shared = target.head_stride == 0;
    if (index >= (shared ? table : table * heads)) return;
    const std::int64_t element = index % table, only = index / table;
    T sum = 0;
    for (std::int64_t head = shared ? 0 : only; head < (shared ? heads : only + 1); ++head) {
      for (std::int64_t range = 0; range < ranges; ++range) {
        sum += context.load(tables.data + (range * heads + head) * table + element);
      }
    }
    T* result = target(element / width, only) + element % width;
    context.store(result, context.load(result) + sum);
  }
};

template <typename Queue, typename T>
void merge_relation_tables(Queue& queue, const RelationTableSizes& sizes, T* memory, const RelationTables<T>& targets) {
  const RelationTables<T> tables = sizes.tables(memory);
  const auto merge = [&](const HeadRows<T>& from, std::int64_t width, const HeadRows<T>& target) {
    if (!target) return;
    using Body = MergeRelationTables<T>;
    const std::int64_t elements = sizes.num_relations * width * (target.head_stride == 0 ? 1 : sizes.heads);
    launch_threads(queue, "graph_attention_merge_tables", elements,
                   Body{sizes.ranges, sizes.heads, sizes.num_relations, width, from, target});
  };
  merge(tables.keys, sizes.key_width, targets.keys);
  merge(tables.values, sizes.value_width, targets.values);
  merge(tables.bias, sizes.bias_width, targets.bias);
}

}  // namespace bough::simt
