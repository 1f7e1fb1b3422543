#pragma once

#include <cstdint>

#include "bough/detail/simt/context.h"
#include "kernels/attention/simt/tile_view.h"
#include "kernels/attention/views.h"

/// Vectors that tiles have left for sources or relations, added up in the order of the tiles.
namespace bough::simt {

/// Adds factor * the sum of the vectors of an item to its row: a warp for each item and head, or for all heads of an
/// item where they share the row. Up to 128 features.
template <typename T>
struct AddParts {
  static constexpr int block_size = 128;
  static constexpr int per_lane = 4;

  PartView parts;
  std::int64_t heads = 0, width = 0;
  const T* vectors = nullptr;    ///< [entries, heads, width]
  std::int64_t first_entry = 0;  ///< the one that stands at `vectors`
  T factor = 1;
  HeadRows<T> target;
  T* partials = nullptr;  ///< [num_partials, heads that the target has, width]

  BOUGH_HOST_DEVICE std::int64_t target_heads() const { return target.head_stride == 0 ? 1 : heads; }

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t work = warp_number<block_size>(context);
    if (work >= parts.rows.num_items * target_heads()) return;
    const RowItem item = context.load(parts.rows.items + work / target_heads());
    const std::int64_t head = work % target_heads(), summed = heads / target_heads();
    T sums[per_lane] = {};
    for (std::int64_t start = item.begin; start < item.end; start += warp_size) {
      const std::int64_t count = item.end - start < warp_size ? item.end - start : warp_size;
      const std::int32_t own = context.lane() < count ? context.load(parts.order + start + context.lane()) : 0;
      for (int i = 0; i < count; ++i) {
        const std::int64_t entry = context.shuffle(own, i) - first_entry;
        for (std::int64_t h = 0; h < summed; ++h) {
          const T* vector = vectors + (entry * heads + head + h) * width;
          for (int j = 0; j < per_lane; ++j) {
            const std::int64_t feature = context.lane() + j * warp_size;
            if (feature < width) sums[j] += context.load(vector + feature);
          }
        }
      }
    }
    for (int j = 0; j < per_lane; ++j) {
      const std::int64_t feature = context.lane() + j * warp_size;
      if (feature >= width) continue;
      if (item.partial < 0) {
        T* element = target(item.row, head) + feature;
        context.store(element, context.load(element) + factor * sums[j]);
      } else {
        context.store(partials + (item.partial * target_heads() + head) * width + feature, sums[j]);
      }
    }
  }
};

/// target[row] += factor * (part 0 + part 1 + ...) of the row, in this order: a warp for each split row and head.
template <typename T>
struct AddCutParts {
  static constexpr int block_size = 128;

  RowItemView rows;
  std::int64_t heads = 0, width = 0;
  T factor = 1;
  const T* partials = nullptr;
  HeadRows<T> target;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t work = warp_number<block_size>(context);
    if (work >= rows.num_split_rows * heads) return;
    const SplitRow row = context.load(rows.split_rows + work / heads);
    const std::int64_t head = work % heads;
    for (std::int64_t i = context.lane(); i < width; i += warp_size) {
      T sum = 0;
      for (std::int32_t part = 0; part < row.num_partials; ++part) {
        sum += context.load(partials + ((row.first_partial + part) * heads + head) * width + i);
      }
      T* element = target(row.row, head) + i;
      context.store(element, context.load(element) + factor * sum);
    }
  }
};

/// Does nothing without a target.
template <typename Queue, typename T>
void add_parts(Queue& queue, AddParts<T> body) {
  if (!body.target) return;
  const std::int64_t heads = body.target_heads();
  const auto partials = queue.template scratch<T>(body.parts.rows.num_partials * heads * body.width);
  body.partials = partials.data();
  launch_warps(queue, "graph_attention_add_parts", body.parts.rows.num_items * heads, body);
  using Cut = AddCutParts<T>;
  launch_warps(queue, "graph_attention_add_cut_parts", body.parts.rows.num_split_rows * heads,
               Cut{body.parts.rows, heads, body.width, body.factor, partials.data(), body.target});
}

}  // namespace bough::simt
