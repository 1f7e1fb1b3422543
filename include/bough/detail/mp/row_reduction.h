#pragma once

#include <algorithm>
#include <memory>
#include <type_traits>

#include "bough/detail/mp/edge_kernel.h"
#include "bough/detail/mp/instruction_set.h"
#include "bough/detail/mp/traversal_plan.h"

/// The two traversals: of rows, whose edges are reduced into one result each, and of edges, which each have their own.
namespace bough::mp {

/// What a row reduction writes.
template <typename T>
struct RowResults {
  T* rows = nullptr;
  std::int64_t width = 1;
  std::int32_t* arg_indices = nullptr;  ///< the edges that maximum and minimum selected; null if not needed
  T empty{};                            ///< for rows without edges

  ResultRow<T> row(std::int64_t number) const {
    return {rows + number * width, arg_indices == nullptr ? nullptr : arg_indices + number * width};
  }
};

template <bool KeepArg, typename T, typename Kernel, typename Reduce>
class RowReduction {
 public:
  RowReduction(const Adjacency& adjacency, const Kernel& kernel, const Reduce& reduce, const RowResults<T>& results)
      : adjacency_(adjacency), kernel_(kernel), reduce_(reduce), results_(results) {}

  void run(const TraversalPlan& plan, const TraversalSchedule& schedule) {
    const Scratch scratch(schedule.split ? plan.num_splits() : 0, results_.width);
    traverse(plan, schedule,
             {.rows = [&](std::int64_t begin, std::int64_t end,
                          const FeatureBlock& block) { reduce_rows(begin, end, block, schedule.split); },
              .split =
                  [&](const TraversalPlan::SplitRow& split_row, std::int64_t split, const FeatureBlock& block) {
                    reduce_split(split_row.row, split - split_row.first_split, block, scratch.row(split));
                  },
              .merge =
                  [&](const TraversalPlan::SplitRow& split_row, const FeatureBlock& block) {
                    const ResultRow<T> target = results_.row(split_row.row);
                    copy(scratch.row(split_row.first_split), block, target);
                    for (std::int64_t i = 1; i < split_row.num_splits; ++i) {
                      merge(scratch.row(split_row.first_split + i), block, target);
                    }
                    finish(split_row.row, block);
                  }});
  }

 private:
  static constexpr std::size_t edges_at_once = 4;
  static constexpr std::int64_t edges_ahead = 2;

  /// Rows for results that are not final.
  class Scratch {
   public:
    Scratch(std::int64_t rows, std::int64_t width)
        : width_(width),
          values_(std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(rows * width))),
          arg_indices_(
              std::make_unique_for_overwrite<std::int32_t[]>(KeepArg ? static_cast<std::size_t>(rows * width) : 0)) {}
    ResultRow<T> row(std::int64_t number) const {
      return {values_.get() + number * width_, KeepArg ? arg_indices_.get() + number * width_ : nullptr};
    }

   private:
    std::int64_t width_;
    std::unique_ptr<T[]> values_;
    std::unique_ptr<std::int32_t[]> arg_indices_;
  };

  std::int64_t degree(std::int64_t row) const { return adjacency_.offsets[row + 1] - adjacency_.offsets[row]; }

  void reduce_rows(std::int64_t begin, std::int64_t end, const FeatureBlock& block, bool skip_split_rows) const {
    reduce_whole_rows(begin, end, block);
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t edges = degree(row);
      if (edges == 0) {
        fill(results_.row(row), block, results_.empty, -1);
      } else if (edges <= TraversalPlan::split_edges) {
        finish(row, block);
      } else if (!skip_split_rows) {
        reduce_split_row(row, block);
        finish(row, block);
      }
    }
  }

  void reduce_split_row(std::int64_t row, const FeatureBlock& block) const {
    const Scratch scratch(1, results_.width);
    const std::int64_t splits = num_chunks(degree(row), TraversalPlan::split_edges);
    reduce_split(row, 0, block, results_.row(row));
    for (std::int64_t split = 1; split < splits; ++split) {
      reduce_split(row, split, block, scratch.row(0));
      merge(scratch.row(0), block, results_.row(row));
    }
  }

  /// All rows that have one split, into their results.
  void reduce_whole_rows(std::int64_t begin, std::int64_t end, const FeatureBlock& block) const {
    reduce_splits(begin, end, 0, block, nullptr);
  }
  void reduce_split(std::int64_t row, std::int64_t split, const FeatureBlock& block, ResultRow<T> target) const {
    reduce_splits(row, row + 1, split, block, &target);
  }

  /// One function for both, since its body is compiled once for every instruction set.
  void reduce_splits(std::int64_t begin, std::int64_t end, std::int64_t split, const FeatureBlock& block,
                     const ResultRow<T>* elsewhere) const {
    at_best_width<Kernel::widest>([&] {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t first = adjacency_.offsets[row] + split * TraversalPlan::split_edges;
        const std::int64_t last = std::min(adjacency_.offsets[row + 1], first + TraversalPlan::split_edges);
        const bool split_row = adjacency_.offsets[row + 1] > last;
        if (first < last && !(split_row && elsewhere == nullptr)) {
          reduce_edges(row, first, last, block, elsewhere == nullptr ? results_.row(row) : *elsewhere);
        }
      }
    });
  }

  void reduce_edges(std::int64_t row, std::int64_t begin, std::int64_t end, const FeatureBlock& block,
                    ResultRow<T> target) const {
    fill(target, block, reduce_.template identity<T>(), static_cast<std::int32_t>(adjacency_.edge_at(begin)));
    std::int64_t position = begin;
    if constexpr (Kernel::sums_inner) {
      LaneSums<T, Reduce, KeepArg> sums(reduce_);
      for (; position < end; ++position) {
        prefetch(row, position + edges_ahead, end);
        kernel_.template take_sums<KeepArg>(sums, adjacency_.at(row, position), block, target);
      }
      sums.scatter_reduce();
    } else {
      for (; position + static_cast<std::int64_t>(edges_at_once) <= end; position += edges_at_once) {
        const std::array<EdgeRows, edges_at_once> edges{adjacency_.at(row, position), adjacency_.at(row, position + 1),
                                                        adjacency_.at(row, position + 2),
                                                        adjacency_.at(row, position + 3)};
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(edges_at_once); ++i) {
          prefetch(row, position + static_cast<std::int64_t>(edges_at_once) + i, end);
        }
        kernel_.template take_edges<KeepArg>(reduce_, edges, block, target);
      }
      for (; position < end; ++position) {
        kernel_.template take_edges<KeepArg>(reduce_, std::array{adjacency_.at(row, position)}, block, target);
      }
    }
  }

  void prefetch(std::int64_t row, std::int64_t position, std::int64_t end) const {
    if (position < end) kernel_.prefetch(adjacency_.at(row, position), adjacency_.edge_ids == nullptr);
  }

  static void fill(ResultRow<T> target, const FeatureBlock& block, T value, std::int32_t arg_index) {
    std::fill(target.values + block.result_begin, target.values + block.result_end, value);
    if constexpr (KeepArg)
      std::fill(target.arg_indices + block.result_begin, target.arg_indices + block.result_end, arg_index);
  }

  static void copy(ResultRow<T> from, const FeatureBlock& block, ResultRow<T> to) {
    std::copy(from.values + block.result_begin, from.values + block.result_end, to.values + block.result_begin);
    if constexpr (KeepArg) {
      std::copy(from.arg_indices + block.result_begin, from.arg_indices + block.result_end,
                to.arg_indices + block.result_begin);
    }
  }

  void merge(ResultRow<T> from, const FeatureBlock& block, ResultRow<T> into) const {
    for (std::int64_t i = block.result_begin; i < block.result_end; ++i) {
      std::int32_t unused = 0;
      if constexpr (KeepArg) {
        take<true>(reduce_, into.values[i], into.arg_indices[i], from.values[i], from.arg_indices[i]);
      } else {
        take<false>(reduce_, into.values[i], unused, from.values[i], 0);
      }
    }
  }

  void finish(std::int64_t row, const FeatureBlock& block) const {
    if constexpr (HasFinish<Reduce, T>) {
      if (!reduce_.has_finish()) return;
      T* values = results_.row(row).values;
      const std::int64_t count = degree(row);
      for (std::int64_t i = block.result_begin; i < block.result_end; ++i) values[i] = reduce_.finish(values[i], count);
    }
  }

  Adjacency adjacency_;
  Kernel kernel_;
  Reduce reduce_;
  RowResults<T> results_;
};

/// Takes the message of every edge into its own row of `results`: with Assign as it is, with Sum added up where several
/// features share an element of the row.
template <typename Reduce, typename T, typename Kernel>
void map_edges(const EdgeList& edges, const Kernel& kernel, T* results, std::int64_t width, const FeatureBlock& block) {
  constexpr std::int64_t edges_ahead = 2;
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    const Reduce reduce;
    LaneSums<T, Reduce, false> sums(reduce);
    for (std::int64_t position = begin; position < end; ++position) {
      if (position + edges_ahead < edges.edges) {
        kernel.prefetch(edges.at(position + edges_ahead), edges.order == nullptr);
      }
      const EdgeRows edge = edges.at(position);
      const ResultRow<T> row{results + edge.number[static_cast<int>(End::edge)] * width};
      if constexpr (!std::is_same_v<Reduce, Assign>) std::fill_n(row.values, width, reduce.template identity<T>());
      if constexpr (Kernel::sums_inner) {
        kernel.template take_sums<false>(sums, edge, block, row);
      } else {
        kernel.template take_edges<false>(reduce, std::array{edge}, block, row);
      }
    }
    if constexpr (Kernel::sums_inner) sums.scatter_reduce();
  };
  const std::int64_t features = (block.outer_end - block.outer_begin) * (block.inner_end - block.inner_begin);
  parallel_chunks(edges.edges, rows_per_chunk(features + 8, 1 << 16), [&](std::int64_t begin, std::int64_t end) {
    at_best_width<Kernel::widest>([&] { run(begin, end); });
  });
}

}  // namespace bough::mp
