#pragma once

#include <algorithm>
#include <span>

#include "kernels/attention/simt/rows_backward.h"
#include "kernels/attention/simt/tile.h"

/// Gradients of graph attention on dense tiles, all in one pass: a block for each tile and head has everything that the
/// gradients of its queries, of its columns' keys and values and of their relations are made of.
///
/// The vectors of each column go to memory and are added up by source in the order of the tiles. Writing and reading
/// them again moves four vectors a column; a pass over the edges of each source, as for rows, would move two an edge,
/// and columns of tiles have many more than two edges. Batches of tiles bound the memory that this takes.
namespace bough::simt {

/// A vector's pack, as one thread of a group has it.
template <typename Shape>
struct SummedPack {
  typename Shape::RowPack pack;
  int number;
  bool active;  ///< false where there is no such pack
};

/// Leaves the vectors of a batch in memory. Null where they are not wanted.
template <typename T>
struct TileParts {
  TileBatch batch;
  T* keys = nullptr;       ///< [columns, heads, width]
  T* values = nullptr;     ///< [columns, heads, value_width]
  T* relations = nullptr;  ///< [listed relations, heads, width]

  BOUGH_DEVICE bool wants_keys() const { return keys != nullptr; }
  BOUGH_DEVICE bool wants_values() const { return values != nullptr; }
  BOUGH_DEVICE bool wants_relations() const { return relations != nullptr; }

  template <typename Shape, typename Context, typename Inputs>
  BOUGH_DEVICE void key(Context& context, const Inputs& in, std::int64_t head, std::int64_t entry, const TileColumn&,
                        const SummedPack<Shape>& sum, bool aligned) const {
    put(context, keys, (entry - batch.column_begin) * in.heads + head, in.width, sum, aligned);
  }
  template <typename Shape, typename Context, typename Inputs>
  BOUGH_DEVICE void value(Context& context, const Inputs& in, std::int64_t head, std::int64_t entry, const TileColumn&,
                          const SummedPack<Shape>& sum, bool aligned) const {
    put(context, values, (entry - batch.column_begin) * in.heads + head, in.value_width, sum, aligned);
  }
  template <typename Shape, typename Context, typename Inputs>
  BOUGH_DEVICE void relation(Context& context, const Inputs& in, std::int64_t head, std::int64_t entry, std::int32_t,
                             const SummedPack<Shape>& sum, bool aligned) const {
    put(context, relations, (entry - batch.relation_begin) * in.heads + head, in.width, sum, aligned);
  }

 private:
  template <typename Shape, typename Context>
  BOUGH_DEVICE static void put(Context& context, T* vectors, std::int64_t place, std::int64_t width,
                               const SummedPack<Shape>& sum, bool aligned) {
    if (sum.active) {
      store_pack<Shape>(context, vectors + place * width, sum.number, width, aligned, sum.pack, T{1});
    }
  }
};

/// Adds the vectors to the gradients at once, in whatever order the blocks come.
template <typename T>
struct TileAdditions {
  HeadRows<T> keys, values, relations;

  BOUGH_DEVICE bool wants_keys() const { return keys || relations; }
  BOUGH_DEVICE bool wants_values() const { return static_cast<bool>(values); }
  BOUGH_DEVICE bool wants_relations() const { return static_cast<bool>(relations); }

  template <typename Shape, typename Context, typename Inputs>
  BOUGH_DEVICE void key(Context& context, const Inputs& in, std::int64_t head, std::int64_t, const TileColumn& column,
                        const SummedPack<Shape>& sum, bool) const {
    if (keys) add(context, keys(column.source, head), in.width, in.scale, sum, true);
    if (relations) {
      const bool related = column.relation >= 0;
      add(context, relations(related ? column.relation : 0, head), in.width, in.scale, sum, related);
    }
  }
  template <typename Shape, typename Context, typename Inputs>
  BOUGH_DEVICE void value(Context& context, const Inputs& in, std::int64_t head, std::int64_t, const TileColumn& column,
                          const SummedPack<Shape>& sum, bool) const {
    add(context, values(column.source, head), in.value_width, T{1}, sum, true);
  }
  template <typename Shape, typename Context, typename Inputs>
  BOUGH_DEVICE void relation(Context& context, const Inputs& in, std::int64_t head, std::int64_t, std::int32_t number,
                             const SummedPack<Shape>& sum, bool) const {
    add(context, relations(number, head), in.width, in.scale, sum, true);
  }

 private:
  /// Neighbouring threads add to neighbouring features, which the packs are exchanged for: a vector then takes a
  /// quarter of the transactions. `wanted` is the same for all threads of a group.
  template <typename Shape, typename Context>
  BOUGH_DEVICE static void add(Context& context, T* vector, std::int64_t width, T factor, const SummedPack<Shape>& sum,
                               bool wanted) {
    static_assert(Shape::packs % Shape::pack == 0);
    const int thread = context.lane() % Shape::packs, group = context.lane() - thread, own = thread % Shape::pack;
    const bool any = context.shuffle(sum.active, group);
    for (int i = 0; i < Shape::pack; ++i) {
      const int holder = group + (i * Shape::packs + thread) / Shape::pack;
      T value = 0;
      for (int j = 0; j < Shape::pack; ++j) {
        const T held = context.shuffle(sum.pack.values[j], holder);
        if (j == own) value = held;
      }
      const int feature = i * Shape::packs + thread;
      if (wanted && any && feature < width) context.atomic_add(vector + feature, factor * value);
    }
  }
};

// Vectors that tiles have left for sources or relations, added up in the order of the tiles.

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

/// Does nothing without a target.
template <typename Queue, typename T>
void add_parts(Queue& queue, AddParts<T> body) {
  if (!body.target) return;
  const std::int64_t heads = body.target_heads();
  const auto partials = queue.template scratch<T>(body.parts.rows.num_partials * heads * body.width);
  body.partials = partials.data();
  launch_warps(queue, "graph_attention_add_parts", body.parts.rows.num_items * heads, body);
  sum_splits(queue, SumSplits<T, true>{body.parts.rows, heads, body.width, body.factor, partials.data(), body.target});
}

/// `Sink` takes the vectors of columns and relations.
template <typename Shape, typename Sink>
struct AttendTilesBackward {
  static constexpr int block_size = Shape::block_size;
  using Stored = typename Shape::Stored;
  using T = typename Shape::Number;

  TileView plan;
  std::int64_t first_tile = 0;
  AttentionInputs<Stored> in;
  AttentionGradients<Stored> gradients;
  T* partials = nullptr;  ///< [num_partials, heads, width]
  Sink sink;
  bool aligned = false;

  static std::size_t shared_bytes_of(bool relations) {
    return tile_inputs_bytes<Shape>(relations) + shared_bytes<typename Shape::RowPack>(tile_lanes * Shape::stride) +
           2 * shared_bytes<Quad<T>>(quad_lanes * step_columns) +
           shared_bytes<Quad<T>>(relations ? quad_lanes * step_columns : 1);
  }

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t tile = first_tile + context.block() / in.heads, head = context.block() % in.heads;
    const TileHeader header = context.load(plan.tiles + tile);
    TileInputs<Shape, Context> inputs(context, plan, in, aligned, tile, head);
    const auto d_outs = context.template shared<typename Shape::RowPack>(tile_lanes * Shape::stride);
    const auto weights = context.template shared<Quad<T>>(quad_lanes * step_columns);
    const auto d_scores = context.template shared<Quad<T>>(quad_lanes * step_columns);
    const auto d_products = context.template shared<Quad<T>>(in.relation_keys ? quad_lanes * step_columns : 1);
    inputs.stage_lanes(context, d_outs, gradients.d_out, in.value_width);
    T lse[quad_lanes], delta[quad_lanes];
    for (int i = 0; i < quad_lanes; ++i) {
      const std::int32_t row = inputs.row(context, i);
      lse[i] = row < 0 ? std::numeric_limits<T>::infinity() : context.load(gradients.lse(row, head));
      delta[i] = row < 0 ? T{0} : context.load(gradients.delta(row, head));
    }
    LaneSums<Shape> d_queries;
    for (std::int32_t s = header.step_begin; s < header.step_end; ++s) {
      const TileStep step = context.load(plan.steps + s);
      context.sync();
      inputs.begin_step(context, step);
      inputs.stage_values(context);
      context.sync();
      Quad<T> value_products;
      if (context.lane() < step.num_columns) {
        value_products =
            lane_products<Shape>(d_outs, context.warp() * quad_lanes, inputs.rows, context.lane(), in.value_width);
      }
      context.sync();
      inputs.stage_keys(context);
      context.sync();
      score_gradients(context, inputs, value_products, lse, delta, weights, d_scores);
      context.sync();
      if (gradients.q) d_queries.add(context, inputs.rows, step.num_columns, in.width, d_scores);
      give_columns(context, inputs, step, head, d_outs, weights, d_scores);
      if (step.num_relations > 0 && in.relation_keys) {
        take_relations(context, inputs, step, head, d_scores, d_products, d_queries);
      }
    }
    if (gradients.q) finish(context, inputs, tile, head, d_queries);
  }

 private:
  /// Weights (dropout included) and gradients of scores; see EdgeGradient.
  template <typename Context, typename Weights>
  BOUGH_DEVICE void score_gradients(Context& context, const TileInputs<Shape, Context>& inputs,
                                    const Quad<T>& value_products, const T (&lse)[quad_lanes],
                                    const T (&delta)[quad_lanes], const Weights& weights,
                                    const Weights& d_scores) const {
    const auto scores = inputs.scores(context);
    Quad<T> weight, d_score;
    for (int i = 0; i < quad_lanes; ++i) {
      const std::int32_t row = inputs.row(context, i);
      if ((scores.edges >> i & 1u) == 0) continue;
      const T dropout = inputs.dropout_factor(context, scores.column.source, row);
      const T p = std::exp(scores.values.values[i] - lse[i]);
      weight.values[i] = dropout * p;
      d_score.values[i] = p * (dropout * value_products.values[i] - delta[i]);
    }
    const int place = context.warp() * step_columns + context.lane();
    weights.set(place, weight);
    d_scores.set(place, d_score);
  }

  template <typename Context, typename Rows, typename Weights>
  BOUGH_DEVICE void give_columns(Context& context, const TileInputs<Shape, Context>& inputs, const TileStep& step,
                                 std::int64_t head, const Rows& d_outs, const Weights& weights,
                                 const Weights& d_scores) const {
    const auto column_at = [&](int column) {
      return column < step.num_columns ? inputs.columns.get(column) : TileColumn{};
    };
    if (sink.wants_keys()) {
      column_sums<Shape>(context, inputs.queries, step.num_columns, in.width, d_scores,
                         [&](int column, int number, const typename Shape::RowPack& pack, bool active) {
                           sink.key(context, in, head, step.column_begin + column, column_at(column),
                                    SummedPack<Shape>{pack, number, active}, aligned);
                         });
    }
    if (sink.wants_values()) {
      column_sums<Shape>(context, d_outs, step.num_columns, in.value_width, weights,
                         [&](int column, int number, const typename Shape::RowPack& pack, bool active) {
                           sink.value(context, in, head, step.column_begin + column, column_at(column),
                                      SummedPack<Shape>{pack, number, active}, aligned);
                         });
    }
  }

  /// Listed relations are like columns whose score of a lane is the sum of the scores of its edges of that relation.
  template <typename Context, typename Weights>
  BOUGH_DEVICE void take_relations(Context& context, const TileInputs<Shape, Context>& inputs, const TileStep& step,
                                   std::int64_t head, const Weights& d_scores, const Weights& d_products,
                                   LaneSums<Shape>& d_queries) const {
    for (int first = 0; first < step.num_relations; first += step_columns) {
      Quad<T> sum;
      for (int column = 0; column < step.num_columns; ++column) {
        const RelationPlaces places = context.shuffle(inputs.relation_places(), column);
        const Quad<T> d_score = d_scores.get(context.warp() * step_columns + column);
        for (int i = 0; i < quad_lanes; ++i) {
          if (place_of_lane(places, i) == static_cast<RelationPlaces>(first + context.lane())) {
            sum.values[i] += d_score.values[i];
          }
        }
      }
      context.sync();
      d_products.set(context.warp() * step_columns + context.lane(), sum);
      const int count = inputs.stage_relations(context, first);
      context.sync();
      if (gradients.q) d_queries.add(context, inputs.rows, count, in.width, d_products);
      if (!sink.wants_relations()) continue;
      column_sums<Shape>(
          context, inputs.queries, count, in.width, d_products,
          [&](int listed, int number, const typename Shape::RowPack& pack, bool active) {
            const std::int64_t entry = step.relation_begin + first + listed;
            const std::int32_t relation = listed < count ? context.load(plan.relations + entry) : 0;
            sink.relation(context, in, head, entry, relation, SummedPack<Shape>{pack, number, active}, aligned);
          });
    }
  }

  template <typename Context>
  BOUGH_DEVICE void finish(Context& context, const TileInputs<Shape, Context>& inputs, std::int64_t tile,
                           std::int64_t head, LaneSums<Shape>& d_queries) const {
    d_queries.merge(context);
    const int number = context.lane() % Shape::packs, group = context.lane() / Shape::packs;
    const bool split = plan.split_rows.num_partials > 0;
    for (int i = 0; i < quad_lanes; ++i) {
      const std::int32_t row = inputs.row(context, i);
      if (row < 0 || group != i % Shape::groups || number * Shape::pack >= in.width) continue;
      const std::int32_t partial =
          split ? context.load(plan.lane_partials + tile * tile_lanes + context.warp() * quad_lanes + i) : -1;
      if (partial < 0) {
        store_pack<Shape>(context, gradients.q(row, head), number, in.width, aligned, d_queries.sums[i], in.scale);
      } else {
        T* vector = partials + (partial * in.heads + head) * in.width;
        store_pack<Shape>(context, vector, number, in.width, aligned, d_queries.sums[i], T{1});
      }
    }
  }
};

template <typename Queue, typename T, typename Sink>
void launch_tiles_backward(Queue& queue, const TileView& plan, std::int64_t tile_begin, std::int64_t tile_end,
                           const AttentionInputs<T>& in, const AttentionGradients<T>& gradients, AccumType<T>* partials,
                           const Sink& sink) {
  const auto launch = [&]<typename Shape>(Shape, bool aligned) {
    using Body = AttendTilesBackward<Shape, Sink>;
    queue.launch({.name = "graph_attention_tiles_backward",
                  .num_blocks = (tile_end - tile_begin) * in.heads,
                  .block_size = Body::block_size,
                  .shared_bytes = Body::shared_bytes_of(static_cast<bool>(in.relation_keys))},
                 Body{plan, tile_begin, in, gradients, partials, sink, aligned});
  };
  with_tile_shape(in, launch, gradients.d_out, gradients.q);
}

/// Gradients of q for the rows that tiles have are written; those of k, v and relation keys are added to what is there.
/// `delta` has been computed for all rows. The widths fit.
template <typename Queue, typename T>
void attend_tiles_backward(Queue& queue, const TileView& plan, std::span<const TileBatchView> batches,
                           const AttentionInputs<T>& in, const AttentionGradients<T>& gradients) {
  const auto partials = queue.template scratch<AccumType<T>>(plan.split_rows.num_partials * in.heads * in.width);
  std::int64_t most_columns = 0, most_relations = 0;
  for (const TileBatchView& view : batches) {
    most_columns = std::max<std::int64_t>(most_columns, view.batch.column_end - view.batch.column_begin);
    most_relations = std::max<std::int64_t>(most_relations, view.batch.relation_end - view.batch.relation_begin);
  }
  const bool relations = static_cast<bool>(gradients.relations.keys);
  const auto room = [&](bool wanted, std::int64_t entries, std::int64_t width) {
    return queue.template scratch<AccumType<T>>(wanted ? entries * in.heads * width : 0);
  };
  const auto keys = room(gradients.k || relations, most_columns, in.width);
  const auto values = room(static_cast<bool>(gradients.v), most_columns, in.value_width);
  const auto listed = room(relations, most_relations, in.width);
  for (const TileBatchView& view : batches) {
    const TileBatch& batch = view.batch;
    launch_tiles_backward(
        queue, plan, batch.tile_begin, batch.tile_end, in, gradients, partials.data(),
        TileParts<AccumType<T>>{batch, gradients.k || relations ? keys.data() : nullptr,
                                gradients.v ? values.data() : nullptr, relations ? listed.data() : nullptr});
    const auto add = [&](const PartView& parts, std::int64_t first, const AccumType<T>* vectors, std::int64_t width,
                         AccumType<T> factor, const HeadRows<AccumType<T>>& target) {
      add_parts(queue, AddParts<AccumType<T>>{parts, in.heads, width, vectors, first, factor, target});
    };
    add(view.columns_by_source, batch.column_begin, keys.data(), in.width, in.scale, gradients.k);
    add(view.columns_by_source, batch.column_begin, values.data(), in.value_width, 1, gradients.v);
    add(view.columns_by_relation, batch.column_begin, keys.data(), in.width, in.scale, gradients.relations.keys);
    add(view.relations_by_relation, batch.relation_begin, listed.data(), in.width, in.scale, gradients.relations.keys);
  }
  sum_splits(queue, SumSplits<T>{plan.split_rows, in.heads, in.width, in.scale, partials.data(), gradients.q});
}

/// The same with atomic additions: one pass without collections, whose sums differ by rounding from run to run.
template <typename Queue, typename T>
void attend_tiles_backward_atomically(Queue& queue, const TileView& plan, const AttentionInputs<T>& in,
                                      const AttentionGradients<T>& gradients) {
  const auto partials = queue.template scratch<AccumType<T>>(plan.split_rows.num_partials * in.heads * in.width);
  launch_tiles_backward(queue, plan, 0, plan.num_tiles, in, gradients, partials.data(),
                        TileAdditions<AccumType<T>>{gradients.k, gradients.v, gradients.relations.keys});
  sum_splits(queue, SumSplits<T>{plan.split_rows, in.heads, in.width, in.scale, partials.data(), gradients.q});
}

}  // namespace bough::simt
