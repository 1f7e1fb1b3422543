#pragma once

#include <array>
#include <cstdint>
#include <tuple>
#include <utility>

#include "bough/mp/adjacency.h"
#include "bough/mp/features.h"
#include "bough/mp/functors.h"

/// The innermost loops: messages of a few edges, all their features, taken into one row of results. Written so that the
/// compiler turns the loops over features into vector instructions; see instruction_set.h.
namespace bough::mp {

/// The values of one operand: rows, which row belongs to an edge, and which elements of it to a feature.
template <typename T, int Step>
struct Operand {
  using value_type = T;
  static constexpr int step = Step;

  const T* rows = nullptr;
  std::int64_t width = 1;
  End end = End::edge;
  const std::int64_t* offsets = nullptr;  ///< one for each outer feature

  const T* at(const EdgeRows& edge) const { return rows + edge.number[static_cast<int>(end)] * width; }
};

/// One outer feature of an operand's row: a run of values, or one value for the whole run.
template <typename T, int Step>
struct Lane {
  const T* values;
  explicit Lane(const T* first) : values(first) {}
  T operator[](std::int64_t inner) const { return values[inner]; }
};
template <typename T>
struct Lane<T, 0> {
  T value;
  explicit Lane(const T* first) : value(*first) {}
  T operator[](std::int64_t) const { return value; }
};

template <typename Message, typename... Values>
constexpr auto call_message(const Message& message, const EdgeRows& edge, Values... values) {
  if constexpr (TakesEdge<Message>) {
    return message(edge.number[static_cast<int>(End::edge)], values...);
  } else {
    return message(values...);
  }
}

/// Where the message of an edge goes: a row of results, and for each of them the edge that won, where that is kept.
template <typename T>
struct ResultRow {
  T* values = nullptr;
  std::int32_t* winners = nullptr;
};

/// Takes one message into a result. Of equal winners the edge given first stays, in whatever order they come.
template <bool KeepWinner, typename T, typename Reduce>
constexpr void take(const Reduce& reduce, T& value, std::int32_t& winner, T message, std::int32_t edge) {
  if constexpr (KeepWinner) {
    const bool wins = Reduce::prefers(message, value) | ((message == value) & (edge < winner));
    value = wins ? message : value;
    winner = wins ? edge : winner;
  } else {
    value = reduce(value, message);
  }
}

/// Messages that are sums over the inner axis (dot products). Adding up one vector of lanes costs as much as the
/// products, so the lanes of several messages are kept and added up together.
template <typename T, typename Reduce, bool KeepWinner>
class LaneSums {
 public:
  explicit LaneSums(const Reduce& reduce) : reduce_(reduce) {}

  template <typename Message, typename... Lanes>
  void add(const Message& message, const EdgeRows& edge, std::int64_t begin, std::int64_t end, T* value,
           std::int32_t* winner, const Lanes&... operands) {
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
    winner_[used_] = winner;
    edge_[used_] = static_cast<std::int32_t>(edge.number[static_cast<int>(End::edge)]);
    if (++used_ == slots) flush();
  }

  void flush() {
    alignas(64) T totals[slots];
    fold<lanes>(partial_, totals);
    for (int slot = 0; slot < used_; ++slot) {
      std::int32_t unused = 0;
      take<KeepWinner>(reduce_, *value_[slot], KeepWinner ? *winner_[slot] : unused, totals[slot], edge_[slot]);
    }
    used_ = 0;
  }

 private:
  static constexpr int lanes = 64 / static_cast<int>(sizeof(T));
  static constexpr int slots = 8;

  /// Adds neighbours until one value for each slot is left.
  template <int Width>
  static void fold(const T* values, T* totals) {
    if constexpr (Width == 2) {
      for (int i = 0; i < slots; ++i) totals[i] = values[2 * i] + values[2 * i + 1];
    } else {
      alignas(64) T halves[slots * Width / 2];
      for (int i = 0; i < slots * Width / 2; ++i) halves[i] = values[2 * i] + values[2 * i + 1];
      fold<Width / 2>(halves, totals);
    }
  }

  const Reduce& reduce_;
  alignas(64) T partial_[slots * lanes] = {};
  std::array<T*, slots> value_{};
  std::array<std::int32_t*, slots> winner_{};
  std::array<std::int32_t, slots> edge_{};
  int used_ = 0;
};

/// A message over its operands, and which elements of a row of results it goes to.
template <typename T, int ResultStep, typename Message, typename... Operands>
struct EdgeKernel {
  static constexpr bool sums_inner = ResultStep == 0;

  Message message;
  std::tuple<Operands...> operands;
  const std::int64_t* result_offsets = nullptr;

  /// Takes the messages of `Edges` edges, in order, into one row.
  template <bool KeepWinner, std::size_t Edges, typename Reduce>
  void take_edges(const Reduce& reduce, const std::array<EdgeRows, Edges>& edges, const FeatureBlock& block,
                  ResultRow<T> target) const {
    for (std::int64_t outer = block.outer_begin; outer < block.outer_end; ++outer) {
      const std::int64_t offset = result_offsets[outer];
      std::apply(
          [&](const Operands&... operand) {
            take_lanes<KeepWinner>(reduce, edges, block, target.values + offset,
                                   KeepWinner ? target.winners + offset : nullptr, std::make_index_sequence<Edges>{},
                                   lanes_of(operand, edges, outer)...);
          },
          operands);
    }
  }

  /// The same for one edge whose messages are sums over the inner axis; they arrive when `sums` is flushed.
  template <bool KeepWinner, typename Reduce>
  void take_sums(LaneSums<T, Reduce, KeepWinner>& sums, const EdgeRows& edge, const FeatureBlock& block,
                 ResultRow<T> target) const {
    for (std::int64_t outer = block.outer_begin; outer < block.outer_end; ++outer) {
      const std::int64_t offset = result_offsets[outer];
      std::apply(
          [&](const Operands&... operand) {
            sums.add(message, edge, block.inner_begin, block.inner_end, target.values + offset,
                     KeepWinner ? target.winners + offset : nullptr,
                     Lane<typename Operands::value_type, Operands::step>(operand.at(edge) + operand.offsets[outer])...);
          },
          operands);
    }
  }

 private:
  template <typename Op, std::size_t Edges>
  static auto lanes_of(const Op& operand, const std::array<EdgeRows, Edges>& edges, std::int64_t outer) {
    return [&]<std::size_t... E>(std::index_sequence<E...>) {
      using OperandLane = Lane<typename Op::value_type, Op::step>;
      return std::array<OperandLane, Edges>{OperandLane(operand.at(edges[E]) + operand.offsets[outer])...};
    }
    (std::make_index_sequence<Edges>{});
  }

  template <bool KeepWinner, std::size_t Edges, typename Reduce, std::size_t... E, typename... Lanes>
  void take_lanes(const Reduce& reduce, const std::array<EdgeRows, Edges>& edges, const FeatureBlock& block,
                  T* __restrict values, std::int32_t* __restrict winners, std::index_sequence<E...>,
                  const std::array<Lanes, Edges>&... lanes) const {
    const auto message_of = [&](std::size_t edge, std::int64_t inner) {
      return call_message(message, edges[edge], lanes[edge][inner]...);
    };
    for (std::int64_t inner = block.inner_begin; inner < block.inner_end; ++inner) {
      T value = values[inner];
      std::int32_t winner = KeepWinner ? winners[inner] : 0;
      (take<KeepWinner>(reduce, value, winner, static_cast<T>(message_of(E, inner)),
                        static_cast<std::int32_t>(edges[E].number[static_cast<int>(End::edge)])),
       ...);
      values[inner] = value;
      if constexpr (KeepWinner) winners[inner] = winner;
    }
  }
};

}  // namespace bough::mp
