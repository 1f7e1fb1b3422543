#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <utility>

#include "bough/detail/mp/adjacency.h"
#include "bough/detail/mp/features.h"
#include "bough/detail/mp/instruction_set.h"
#include "bough/detail/mp/prefetch.h"
#include "bough/mp/functors.h"

/// The innermost loops: messages of a few edges, all their features, taken into one row of results. Written so that the
/// compiler turns the loops over features into vector instructions; see instruction_set.h.
namespace bough::mp {

/// As the step of an operand or of the result: known at run time only, for code that need not be fast.
inline constexpr int any_step = -1;

/// One outer feature of an operand's row: a run of values, or one value for the whole run.
template <typename T, int Step>
struct Lane {
  const T* values;
  Lane(const T* first, std::int64_t) : values(first) {}
  T operator[](std::int64_t inner) const { return values[inner]; }
};
template <typename T>
struct Lane<T, 0> {
  T value;
  Lane(const T* first, std::int64_t) : value(*first) {}
  T operator[](std::int64_t) const { return value; }
};
template <typename T>
struct Lane<T, any_step> {
  const T* values;
  std::int64_t stride;
  Lane(const T* first, std::int64_t step) : values(first), stride(step) {}
  T operator[](std::int64_t inner) const { return values[inner * stride]; }
};

/// The values of one operand: rows, which row belongs to an edge, and which elements of it to a feature.
template <typename T, int Step>
struct Operand {
  static constexpr int step = Step;

  const T* rows = nullptr;
  std::int64_t width = 1;
  End end = End::edge;
  const std::int64_t* offsets = nullptr;  ///< one for each outer feature
  std::int64_t stride = Step;             ///< read for any_step only

  const T* at(const EdgeRows& edge) const { return rows + edge.number[static_cast<int>(end)] * width; }
  Lane<T, Step> lane(const EdgeRows& edge, std::int64_t outer) const { return {at(edge) + offsets[outer], stride}; }
};

template <typename Message, typename... Values>
constexpr auto call_message(const Message& message, const EdgeRows& edge, Values... values) {
  if constexpr (TakesEdgeId<Message>) {
    return message(edge.number[static_cast<int>(End::edge)], values...);
  } else {
    return message(values...);
  }
}

/// Where the message of an edge goes: a row of results, and the arg index of each element, where it is wanted.
template <typename T>
struct ResultRow {
  T* values = nullptr;
  std::int32_t* arg_indices = nullptr;
};

/// Takes one message into a result. Of equal messages that of the edge given first is selected, in whatever
/// order they come.
template <bool KeepArg, typename T, typename Reduce>
constexpr void take(const Reduce& reduce, T& value, std::int32_t& arg_index, T message, std::int32_t edge) {
  if constexpr (KeepArg) {
    const std::int32_t first = edge < arg_index ? edge : arg_index;
    const std::int32_t better = reduce.holds(value, message) ? arg_index : edge;
    const std::int32_t next = message == value ? first : better;
    arg_index = value != value ? arg_index : next;
    value = better_of(reduce, value, message);
  } else {
    value = reduce(value, message);
  }
}

/// Messages that are sums over the inner axis (dot products). Adding up one vector of lanes costs as much as the
/// products, so the lanes of several messages are kept and added up together.
template <typename T, typename Reduce, bool KeepArg>
class LaneSums {
 public:
  explicit LaneSums(const Reduce& reduce) : reduce_(reduce) {}

  template <typename Message, typename... Lanes>
  void add(const Message& message, const EdgeRows& edge, std::int64_t begin, std::int64_t end, T* value,
           std::int32_t* arg_index, const Lanes&... operands) {
    T sums[lanes] = {};
    std::int64_t inner = begin;
    for (; inner + lanes <= end; inner += lanes) {
      for (int lane = 0; lane < lanes; ++lane) {
        sums[lane] += call_message(message, edge, operands[inner + lane]...);
      }
    }
    for (int lane = 0; inner + lane < end; ++lane) sums[lane] += call_message(message, edge, operands[inner + lane]...);
    for (int lane = 0; lane < lanes; ++lane) partial_[used_ * lanes + lane] = sums[lane];
    value_[used_] = value;
    arg_[used_] = arg_index;
    edge_[used_] = static_cast<std::int32_t>(edge.number[static_cast<int>(End::edge)]);
    if (++used_ == capacity) scatter_reduce();
  }

  /// Adds up the lanes of the messages held so far and takes each sum into its result.
  void scatter_reduce() {
    alignas(64) T totals[capacity];
    fold<lanes>(partial_, totals);
    for (int i = 0; i < used_; ++i) {
      std::int32_t unused = 0;
      take<KeepArg>(reduce_, *value_[i], KeepArg ? *arg_[i] : unused, totals[i], edge_[i]);
    }
    used_ = 0;
  }

 private:
  static constexpr int lanes = 64 / static_cast<int>(sizeof(T));
  static constexpr int capacity = 8;  ///< messages that are held

  /// Adds neighbours until one value for each message is left.
  template <int Width>
  static void fold(const T* values, T* totals) {
    if constexpr (Width == 2) {
      for (int i = 0; i < capacity; ++i) totals[i] = values[2 * i] + values[2 * i + 1];
    } else {
      alignas(64) T pair_sums[capacity * Width / 2];
      for (int i = 0; i < capacity * Width / 2; ++i) pair_sums[i] = values[2 * i] + values[2 * i + 1];
      fold<Width / 2>(pair_sums, totals);
    }
  }

  const Reduce& reduce_;
  alignas(64) T partial_[capacity * lanes] = {};
  std::array<T*, capacity> value_{};
  std::array<std::int32_t*, capacity> arg_{};
  std::array<std::int32_t, capacity> edge_{};
  int used_ = 0;
};

/// A message over its operands, and which elements of a row of results it goes to.
template <typename T, int ResultStep, typename Message, typename... Operands>
struct EdgeKernel {
  static constexpr bool sums_inner = ResultStep == 0;
  static constexpr bool fast = ResultStep != any_step && (... && (Operands::step != any_step));
  /// Sums over the inner axis do the work of several messages for each value they write.
  static constexpr InstructionSet widest = !fast                                 ? InstructionSet::baseline
                                           : ComputeBound<Message> || sums_inner ? InstructionSet::avx512
                                                                                 : InstructionSet::avx2;
  static constexpr std::int64_t most_prefetched = 2048;  ///< bytes; the processor itself goes on from there

  Message message;
  std::tuple<Operands...> operands;
  const std::int64_t* result_offsets = nullptr;
  std::int64_t result_stride = ResultStep;  ///< read for any_step only

  /// Asks for the rows of an edge that will be needed soon and lie anywhere in memory.
  void prefetch(const EdgeRows& edge, bool edges_in_order) const {
    const auto fetch = [&](const auto& operand) {
      if (operand.end == End::row || (operand.end == End::edge && edges_in_order)) return;
      const std::int64_t bytes = operand.width * static_cast<std::int64_t>(sizeof(*operand.rows));
      prefetch_row(operand.at(edge), std::min(bytes, most_prefetched));
    };
    std::apply([&](const Operands&... operand) { (fetch(operand), ...); }, operands);
  }

  /// Takes the messages of `Edges` edges, in order, into one row.
  template <bool KeepArg, std::size_t Edges, typename Reduce>
  void take_edges(const Reduce& reduce, const std::array<EdgeRows, Edges>& edges, const FeatureBlock& block,
                  ResultRow<T> target) const {
    for (std::int64_t outer = block.outer_begin; outer < block.outer_end; ++outer) {
      const std::int64_t offset = result_offsets[outer];
      std::apply(
          [&](const Operands&... operand) {
            take_lanes<KeepArg>(reduce, edges, block, target.values + offset,
                                KeepArg ? target.arg_indices + offset : nullptr, std::make_index_sequence<Edges>{},
                                lanes_of(operand, edges, outer)...);
          },
          operands);
    }
  }

  /// The same for one edge whose messages are sums over the inner axis; they arrive with sums.scatter_reduce().
  template <bool KeepArg, typename Reduce>
  void take_sums(LaneSums<T, Reduce, KeepArg>& sums, const EdgeRows& edge, const FeatureBlock& block,
                 ResultRow<T> target) const {
    for (std::int64_t outer = block.outer_begin; outer < block.outer_end; ++outer) {
      const std::int64_t offset = result_offsets[outer];
      std::apply(
          [&](const Operands&... operand) {
            sums.add(message, edge, block.inner_begin, block.inner_end, target.values + offset,
                     KeepArg ? target.arg_indices + offset : nullptr, operand.lane(edge, outer)...);
          },
          operands);
    }
  }

 private:
  template <typename Op, std::size_t Edges>
  static auto lanes_of(const Op& operand, const std::array<EdgeRows, Edges>& edges, std::int64_t outer) {
    return [&]<std::size_t... E>(std::index_sequence<E...>) { return std::array{operand.lane(edges[E], outer)...}; }
    (std::make_index_sequence<Edges>{});
  }

  template <bool KeepArg, std::size_t Edges, typename Reduce, std::size_t... E, typename... Lanes>
  void take_lanes(const Reduce& reduce, const std::array<EdgeRows, Edges>& edges, const FeatureBlock& block,
                  T* __restrict values, std::int32_t* __restrict arg_indices, std::index_sequence<E...>,
                  const std::array<Lanes, Edges>&... lanes) const {
    const auto message_of = [&](std::size_t edge, std::int64_t inner) {
      return call_message(message, edges[edge], lanes[edge][inner]...);
    };
    for (std::int64_t inner = block.inner_begin; inner < block.inner_end; ++inner) {
      const std::int64_t place = ResultStep == any_step ? inner * result_stride : inner;
      T value = values[place];
      std::int32_t arg_index = KeepArg ? arg_indices[place] : 0;
      (take<KeepArg>(reduce, value, arg_index, static_cast<T>(message_of(E, inner)),
                     static_cast<std::int32_t>(edges[E].number[static_cast<int>(End::edge)])),
       ...);
      values[place] = value;
      if constexpr (KeepArg) arg_indices[place] = arg_index;
    }
  }
};

}  // namespace bough::mp
