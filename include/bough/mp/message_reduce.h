#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "bough/autograd/autograd.h"
#include "bough/core/tensor.h"
#include "bough/graph/graph.h"
#include "bough/mp/functors.h"
#include "bough/mp/operators.h"
#include "bough/mp/pass_operands.h"
#include "bough/mp/row_reduction.h"

namespace bough {

/// Tensors that a message reads; those that are defined are passed to it in this order.
struct MessageOperands {
  Tensor source = {};       ///< [num_src, ...]
  Tensor destination = {};  ///< [num_dst, ...]
  Tensor edge = {};         ///< [num_edges, ...]
};

struct MessageReduceOptions {
  double empty_value = 0;  ///< what a destination without in-edges gets
  Strategy strategy = Strategy::automatic;
};

namespace mp {

/// What a message gives for N values of type T, and what it says of its derivatives.
template <typename Message, typename T, std::size_t... I>
constexpr bool takes_values(std::index_sequence<I...>) {
  return requires(const Message& message, T value) {
    { message((static_cast<void>(I), value)...) } -> std::same_as<T>;
  };
}
template <typename Message, typename T, std::size_t... I>
constexpr bool gives_gradient(std::index_sequence<I...>) {
  return requires(const Message& message, T value) {
    { message.gradient((static_cast<void>(I), value)...) } -> std::convertible_to<std::array<T, sizeof...(I)>>;
  };
}

/// Whether a message takes N values of type T and gives one.
template <typename Message, typename T, std::size_t N>
concept MessageOf = takes_values<Message, T>(std::make_index_sequence<N>{});
template <typename Message, typename T, std::size_t N>
concept HasGradient = gives_gradient<Message, T>(std::make_index_sequence<N>{});

/// A reduction that says how its result changes with one message.
template <typename Reduce, typename T>
concept HasDerivative = requires(const Reduce& reduce, T value) {
  { reduce.derivative(value, value) } -> std::convertible_to<T>;
};

template <typename Reduce, typename T>
concept Differentiable =
    Selects<Reduce> || std::same_as<Reduce, Sum> || std::same_as<Reduce, Mean> || HasDerivative<Reduce, T>;

/// d result / d operand number `Index`, times the gradient of the result.
template <typename Message, std::size_t Index>
struct SumChain {
  Message message;
  template <typename T, typename... Values>
  BOUGH_HOST_DEVICE constexpr T operator()(T gradient, Values... values) const {
    return gradient * message.gradient(values...)[Index];
  }
};

template <typename Message, typename Reduce, std::size_t Index>
struct DerivativeChain {
  Message message;
  Reduce reduce;
  template <typename T, typename... Values>
  BOUGH_HOST_DEVICE constexpr T operator()(T gradient, T result, Values... values) const {
    return gradient * reduce.derivative(message(values...), result) * message.gradient(values...)[Index];
  }
};

/// message_reduce for one message, one reduction and one number of operands.
template <typename Message, typename Reduce, std::size_t N>
class MessageReduction {
 public:
  MessageReduction(const Graph& graph, const Message& message, const Reduce& reduce, PassOperands operands,
                   const MessageReduceOptions& options)
      : graph_(graph), message_(message), reduce_(reduce), operands_(std::move(operands)), options_(options) {}

  Tensor run() const {
    const std::vector<Tensor> inputs = operands_.tensors();
    const bool recorded = should_record(inputs);
    if (recorded) require_gradient();
    Tensor result = Tensor::empty(operands_.result_shape(graph_), operands_.dtype());
    Tensor winners = recorded && Selects<Reduce> ? Tensor::empty(result.shape(), DType::int32) : Tensor{};
    if (result.elements() > 0) {
      with_type([&]<typename T>(TypeTag<T>) { forward<T>(result, winners); });
    }
    if (!recorded) return result;
    std::vector<Tensor> saved = inputs;
    saved.push_back(Selects<Reduce> ? winners : result);
    return record({.name = "message_reduce",
                   .inputs = inputs,
                   .saved = std::move(saved),
                   .backward = [self = without_tensors()](const BackwardCall& call) { return self.backward(call); }},
                  result);
  }

 private:
  template <typename F>
  void with_type(F&& f) const {
    visit_floating("message_reduce", operands_.dtype(), [&]<typename T>(TypeTag<T> type) {
      if constexpr (MessageOf<Message, T, N>) {
        f(type);
      } else {
        operands_.refuse_type();
      }
    });
  }

  void require_gradient() const {
    with_type([]<typename T>(TypeTag<T>) {
      if constexpr (!HasGradient<Message, T, N>) {
        PassOperands::refuse_gradient(
            "the message has no gradient(values...) that gives std::array of all derivatives");
      } else if constexpr (!Differentiable<Reduce, T>) {
        PassOperands::refuse_gradient("the reduction has no derivative(message, result)");
      }
    });
  }

  MessageReduction without_tensors() const {
    MessageReduction copy = *this;
    copy.operands_.forget_tensors();
    return copy;
  }

  /// Calls f(operands), which are participants `first`, first + 1, ... of the layout, with their steps as types where
  /// at most one of them lacks the inner axis: that is what people write, and every combination costs code.
  template <typename T, typename F>
  void with_steps(const FeatureLayout& layout, std::size_t first, Direction direction, const F& f) const {
    const auto with = [&]<int... Steps>(std::integer_sequence<int, Steps...>) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        f(std::make_tuple(operands_.operand<T, Steps>(I, layout.participants[first + I], direction)...));
      }
      (std::make_index_sequence<N>{});
    };
    const auto lacking = [&](std::size_t operand) { return layout.participants[first + operand].step == 0; };
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

  template <typename T>
  void forward(Tensor& result, Tensor& winners) const {
    const FeatureLayout layout = operands_.layout();
    const FeatureLayout::Participant& features = layout.participants.back();
    const auto plan = traversal_plan(graph_, Direction::by_destination);
    const RowResults<T> results{result.data<T>(), features.width,
                                winners.defined() ? winners.data<std::int32_t>() : nullptr,
                                static_cast<T>(options_.empty_value)};
    const auto reduce = [&]<typename... Operands>(const std::tuple<Operands...>& operands) {
      const EdgeKernel<T, 1, Message, Operands...> kernel{message_, operands, features.offsets.data()};
      const Schedule schedule = make_schedule(*plan, layout, features, options_.strategy);
      const Adjacency edges = edges_by(graph_, Direction::by_destination);
      if constexpr (Selects<Reduce>) {
        if (winners.defined()) {
          RowReduction<true, T, decltype(kernel), Reduce>(edges, kernel, reduce_, results).run(*plan, schedule);
          return;
        }
      }
      RowReduction<false, T, decltype(kernel), Reduce>(edges, kernel, reduce_, results).run(*plan, schedule);
    };
    with_steps<T>(layout, 0, Direction::by_destination, reduce);
  }

  Gradients backward(const BackwardCall& call) const {
    MessageReduction restored = *this;
    for (std::size_t i = 0; i < N; ++i) restored.operands_.remember_tensor(i, call.saved(i));
    Gradients gradients(N);
    with_type([&]<typename T>(TypeTag<T>) {
      if constexpr (HasGradient<Message, T, N> && Differentiable<Reduce, T>) {
        const Tensor gradient =
            std::same_as<Reduce, Mean> ? divided_by_in_degree(graph_, call.gradient()) : call.gradient();
        [&]<std::size_t... I>(std::index_sequence<I...>) {
          ((call.needs(I) ? void(gradients[I] = restored.template operand_gradient<T, I>(gradient, call.saved(N)))
                          : void()),
           ...);
        }
        (std::make_index_sequence<N>{});
      }
    });
    return gradients;
  }

  /// The gradient of operand I, by the same traversals as forward. `known` is the result, or who won it.
  template <typename T, std::size_t I>
  Tensor operand_gradient(const Tensor& gradient, const Tensor& known) const {
    Tensor result = zeros(operands_.shape(I), operands_.dtype());
    if (result.elements() == 0 || graph_.num_edges() == 0 || operands_.common().elements() == 0) return result;
    const FeatureLayout layout = operands_.gradient_layout(I);
    const Direction direction =
        operands_.target(I) == Target::source ? Direction::by_source : Direction::by_destination;
    const End end = direction == Direction::by_source ? End::neighbour : End::row;
    const auto& full = layout.participants[0];
    const Operand<T, 1> flowing{gradient.data<T>(), full.width, end, full.offsets.data()};

    const auto run = [&]<typename... Operands>(const std::tuple<Operands...>& values) {
      // The gradient has the shape of its operand, so it lacks the inner axis where that does.
      constexpr int step = std::tuple_element_t<I, std::tuple<Operands...>>::step;
      if constexpr (Selects<Reduce>) {
        const Operand<std::int32_t, 1> winners{known.data<std::int32_t>(), full.width, end, full.offsets.data()};
        add_up<T, I, step>(FromWinner<SumChain<Message, I>>{{message_}},
                           std::tuple_cat(std::make_tuple(flowing, winners), values), layout, direction, result);
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

  /// Operands come in the order source, destination, edge, so of several the first is none of edges, and the third one
  /// is. Knowing it spares code.
  template <typename T, std::size_t Index, int Step, typename Function, typename... Operands>
  void add_up(const Function& function, const std::tuple<Operands...>& operands, const FeatureLayout& layout,
              Direction direction, Tensor& result) const {
    const FeatureLayout::Participant& features = layout.participants.back();
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
          .run(*plan, make_schedule(*plan, layout, features));
    }
  }

  Graph graph_;
  Message message_;
  Reduce reduce_;
  PassOperands operands_;
  MessageReduceOptions options_;
};

}  // namespace mp

/// Message passing with functors of the user's own, compiled into the same loops as gspmm and as fast.
///
/// Message: `T operator()(T source, T destination, T edge) const` for one feature, with as many arguments as operands
/// are given, for T = float, double or both (a template). Plain arithmetic and ?: become vector instructions where the
/// caller is compiled with -O3. Feature shapes broadcast as in gsddmm; the result is [num_dst, C...].
/// Reduce: mp::Sum, mp::Mean, mp::Max, mp::Min, mp::Product, or a class with `static T identity<T>()` and
/// `T operator()(T so_far, T message) const`, associative up to rounding, and if it has a last step
/// `bool has_finish() const` and `T finish(T value, std::int64_t messages) const`.
///
/// Gradient, only asked for if an operand requires one (else AutogradError): Message has
/// `std::array<T, N> gradient(values...) const`, the derivatives with respect to each of its N arguments; test it with
/// gradcheck(). Sum, Mean, Max and Min need nothing more; another reduction has `T derivative(T message, T result)
/// const`. Bitwise equal for any number of threads and every strategy.
///
///     struct Distance {
///       template <typename T> T operator()(T u, T v) const { return (u - v) * (u - v); }
///       template <typename T> std::array<T, 2> gradient(T u, T v) const { return {2 * (u - v), 2 * (v - u)}; }
///     };
///     Tensor out = message_reduce<Distance, mp::Sum>(graph, {.source = x, .destination = x});
template <typename Message, typename Reduce = mp::Sum>
Tensor message_reduce(const Graph& graph, const MessageOperands& operands, const MessageReduceOptions& options = {},
                      const Message& message = {}, const Reduce& reduce = {}) {
  mp::PassOperands checked("message_reduce", graph, operands.source, operands.destination, operands.edge);
  const auto run = [&]<std::size_t N>() {
    if constexpr (mp::MessageOf<Message, float, N> || mp::MessageOf<Message, double, N>) {
      return mp::MessageReduction<Message, Reduce, N>(graph, message, reduce, std::move(checked), options).run();
    } else {
      checked.refuse_count();
      return Tensor();
    }
  };
  switch (checked.count()) {
    case 1:
      return run.template operator()<1>();
    case 2:
      return run.template operator()<2>();
    default:
      return run.template operator()<3>();
  }
}

}  // namespace bough
