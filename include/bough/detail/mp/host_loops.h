#pragma once

#include <tuple>
#include <utility>

#include "bough/core/tensor.h"
#include "bough/detail/mp/functor_traits.h"
#include "bough/detail/mp/pass_operands.h"
#include "bough/detail/mp/row_reduction.h"
#include "bough/graph/graph.h"
#include "bough/mp/operators.h"

namespace bough::mp {

/// The loops of message_reduce on the CPU, for one message, one reduction and one number of operands. A TypedMessage
/// reads the types of the edges before them.
template <typename Message, typename Reduce, std::size_t N>
class HostLoops {
 public:
  HostLoops(const Graph& graph, const Message& message, const Reduce& reduce, const PassOperands& operands,
            const MessageReduceOptions& options)
      : graph_(graph), message_(message), reduce_(reduce), operands_(operands), options_(options) {}

  /// Writes the result, and which edge each element came from if arg_indices are defined.
  template <typename T>
  void forward(Tensor& result, Tensor& arg_indices) const {
    const FeatureLayout layout = operands_.layout();
    const FeatureLayout::Operand& features = layout.operands.back();
    const auto plan = traversal_plan(graph_, Direction::by_destination);
    const RowResults<T> results{result.data<T>(), features.width,
                                arg_indices.defined() ? arg_indices.data<std::int32_t>() : nullptr,
                                static_cast<T>(options_.empty_value)};
    const auto reduce = [&]<typename... Operands>(const std::tuple<Operands...>& operands) {
      const EdgeKernel<T, 1, Message, Operands...> kernel{message_, operands, features.offsets.data()};
      const TraversalSchedule schedule = make_traversal_schedule(*plan, layout, features, options_.strategy);
      const Adjacency edges = edges_by(graph_, Direction::by_destination);
      if constexpr (Selects<Reduce>) {
        if (arg_indices.defined()) {
          RowReduction<true, T, decltype(kernel), Reduce>(edges, kernel, reduce_, results).run(*plan, schedule);
          return;
        }
      }
      RowReduction<false, T, decltype(kernel), Reduce>(edges, kernel, reduce_, results).run(*plan, schedule);
    };
    with_steps<T>(layout, 0, Direction::by_destination, reduce);
  }

  /// The gradient of operand I, by the same traversals as forward. `known` is the result, or the arg indices.
  template <typename T, std::size_t I>
  Tensor operand_gradient(const Tensor& gradient, const Tensor& known) const {
    Tensor result = zeros(operands_.shape(I), operands_.dtype());
    if (result.elements() == 0 || graph_.num_edges() == 0 || operands_.common().elements() == 0) return result;
    const FeatureLayout layout = operands_.gradient_layout(I);
    const Direction direction =
        operands_.target(I) == Target::source ? Direction::by_source : Direction::by_destination;
    const End end = direction == Direction::by_source ? End::neighbour : End::row;
    const auto& full = layout.operands[0];
    const Operand<T, 1> flowing{gradient.data<T>(), full.width, end, full.offsets.data()};

    const auto run = [&]<typename... Operands>(const std::tuple<Operands...>& values) {
      // The gradient has the shape of its operand, so it lacks the inner axis where that does.
      constexpr std::size_t place = reads_edge_types<Message> ? I + 1 : I;
      constexpr int step = std::tuple_element_t<place, std::tuple<Operands...>>::step;
      if constexpr (Selects<Reduce>) {
        const Operand<std::int32_t, 1> arg_indices{known.data<std::int32_t>(), full.width, end, full.offsets.data()};
        add_up<T, I, step>(FromArgIndex<SumChain<Message, I>>{{message_}},
                           std::tuple_cat(std::make_tuple(flowing, arg_indices), values), layout, direction, result);
      } else if constexpr (HasDerivative<Reduce, T>) {
        const Operand<T, 1> results{known.data<T>(), full.width, end, full.offsets.data()};
        add_up<T, I, step>(DerivativeChain<Message, Reduce, I>{message_, reduce_},
                           std::tuple_cat(std::make_tuple(flowing, results), values), layout, direction, result);
      } else {
        add_up<T, I, step>(SumChain<Message, I>{message_}, std::tuple_cat(std::make_tuple(flowing), values), layout,
                           direction, result);
      }
    };
    with_steps<T>(layout, 1, direction, run);
    return result;
  }

 private:
  /// Calls f(operands), which are the types of the edges for a message that reads them, and operands `first`,
  /// first + 1, ... of the layout, with their steps as types where at most one of them lacks the inner axis: that is
  /// what people write, and every combination costs code.
  template <typename T, typename F>
  void with_steps(const FeatureLayout& layout, std::size_t first, Direction direction, const F& f) const {
    FeatureLayout::Operand one_type;
    if constexpr (reads_edge_types<Message>) one_type = one_value_per_row(layout);
    const auto types = [&] {
      if constexpr (reads_edge_types<Message>) {
        return std::tuple{
            Operand<std::int32_t, 0>{graph_.edge_types().data(), one_type.width, End::edge, one_type.offsets.data()}};
      } else {
        return std::tuple{};
      }
    };
    const auto with = [&]<int... Steps>(std::integer_sequence<int, Steps...>) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        f(std::tuple_cat(types(),
                         std::make_tuple(operands_.operand<T, Steps>(I, layout.operands[first + I], direction)...)));
      }
      (std::make_index_sequence<N>{});
    };
    const auto lacking = [&](std::size_t operand) { return layout.operands[first + operand].step == 0; };
    std::size_t count = 0, last = 0;
    for (std::size_t i = 0; i < N; ++i) {
      if (lacking(i)) ++count, last = i;
    }
    if (count == 0) return with(repeated_step<1>(std::make_index_sequence<N>{}));
    if constexpr (N > 2) {
      if (count > 1) return with(repeated_step<any_step>(std::make_index_sequence<N>{}));
    }
    if constexpr (N > 1) {
      [&]<std::size_t... Lacking>(std::index_sequence<Lacking...>) {
        ((last == Lacking ? with(steps_without<Lacking>(std::make_index_sequence<N>{})) : void()), ...);
      }
      (std::make_index_sequence<N>{});
    }
  }
  template <int Step, std::size_t... I>
  static auto repeated_step(std::index_sequence<I...>) {
    return std::integer_sequence<int, (static_cast<void>(I), Step)...>{};
  }
  template <std::size_t Lacking, std::size_t... I>
  static auto steps_without(std::index_sequence<I...>) {
    return std::integer_sequence<int, (I == Lacking ? 0 : 1)...>{};
  }

  /// Operands come in the order source, destination, edge, so of several the first is none of edges, and the third one
  /// is. Knowing it spares code.
  template <typename T, std::size_t Index, int Step, typename Function, typename... Operands>
  void add_up(const Function& function, const std::tuple<Operands...>& operands, const FeatureLayout& layout,
              Direction direction, Tensor& result) const {
    const FeatureLayout::Operand& features = layout.operands.back();
    const EdgeKernel<T, Step, Function, Operands...> kernel{function, operands, features.offsets.data(), features.step};
    if constexpr (Index + 1 == N) {
      if (operands_.target(Index) == Target::edge) {
        map_edges<Sum>(edge_list(graph_, true), kernel, result.data<T>(), features.width,
                       cut_features(layout, features, 1).front());
        return;
      }
    }
    if constexpr (Index < 2) {
      const auto plan = traversal_plan(graph_, direction);
      RowReduction<false, T, decltype(kernel), Sum>(edges_by(graph_, direction), kernel, Sum{},
                                                    {result.data<T>(), features.width})
          .run(*plan, make_traversal_schedule(*plan, layout, features));
    }
  }

  const Graph& graph_;
  const Message& message_;
  const Reduce& reduce_;
  const PassOperands& operands_;
  const MessageReduceOptions& options_;
};

}  // namespace bough::mp
