#pragma once

#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "bough/core/tensor.h"
#include "bough/detail/mp/functor_traits.h"
#include "bough/detail/mp/host_loops.h"
#include "bough/detail/mp/pass_operands.h"
#include "bough/detail/simt/device_rows.h"
#include "bough/detail/simt/map_messages.h"
#include "bough/detail/simt/reduce_messages.h"

/// message_reduce on a GPU: the same kernels as those of the built-in operators, over functors of the user's own.
namespace bough::simt {

/// The message that a function makes of operands of these types.
template <typename T, typename Function, typename... Values>
struct FunctorMessage {
  Function function;
  std::tuple<MessageOperand<Values>...> operands;
  MessageFeatures features;

  BOUGH_DEVICE bool reads(mp::End end) const {
    const bool needs_edge = mp::TakesEdgeId<Function> && end == mp::End::edge;
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return needs_edge || ((std::get<I>(operands).end == end) || ...);
    }
    (std::index_sequence_for<Values...>{});
  }

  template <typename Context>
  BOUGH_DEVICE T at(Context& context, const mp::EdgeRows& edge, std::int64_t outer, std::int64_t inner) const {
    const auto value = [&](const auto& operand) {
      return context.load(operand.rows + operand.place(context, edge, outer, inner));
    };
    return [&]<std::size_t... I>(std::index_sequence<I...>)->T {
      if constexpr (mp::TakesEdgeId<Function>) {
        return function(edge.number[2], value(std::get<I>(operands))...);
      } else {
        return function(value(std::get<I>(operands))...);
      }
    }
    (std::index_sequence_for<Values...>{});
  }
};

/// As mp::HostLoops. Queue(device) launches bodies: launch(simt::Launch, body).
template <typename Queue, typename Message, typename Reduce, std::size_t N>
class FunctorLoops {
 public:
  FunctorLoops(const Graph& graph, const Message& message, const Reduce& reduce, const mp::PassOperands& operands,
               const MessageReduceOptions& options)
      : graph_(graph), message_(message), reduce_(reduce), operands_(operands), options_(options) {}

  template <typename T>
  void forward(Tensor& result, Tensor& arg_indices) const {
    Launches launches(device());
    const mp::FeatureLayout layout = operands_.layout();
    constexpr mp::Direction direction = mp::Direction::by_destination;
    const auto message = message_of<T>(launches, message_, layout, values_of<T>(launches, layout, 0, direction));
    const auto rows = device_rows(graph_, direction, device());
    const ReducedRows<T> results{address<T>(result),
                                 arg_indices.defined() ? address<std::int32_t>(arg_indices) : nullptr,
                                 static_cast<T>(options_.empty_value)};
    const ReductionNames names{"message_reduce", "message_reduce_merge"};
    if constexpr (mp::Selects<Reduce>) {
      if (arg_indices.defined()) {
        return reduce_messages<true>(launches, names, rows->rows(), rows->edges(), message, reduce_, results);
      }
    }
    reduce_messages<false>(launches, names, rows->rows(), rows->edges(), message, reduce_, results);
  }

  template <typename T, std::size_t I>
  Tensor operand_gradient(const Tensor& gradient, const Tensor& known) const {
    Tensor result = zeros(operands_.shape(I), operands_.dtype(), device());
    if (result.elements() == 0 || graph_.num_edges() == 0 || operands_.common().elements() == 0) return result;
    Launches launches(device());
    const mp::FeatureLayout layout = operands_.gradient_layout(I);
    const bool of_source = operands_.target(I) == Target::source;
    const mp::Direction direction = of_source ? mp::Direction::by_source : mp::Direction::by_destination;
    const mp::End end = of_source ? mp::End::neighbour : mp::End::row;
    const auto flowing = launches.template operand<T>(gradient, end, layout.operands[0]);
    const auto values = values_of<T>(launches, layout, 1, direction);
    const auto add = [&](const auto& function, const auto& operands) {
      add_up<T, I>(launches, message_of<T>(launches, function, layout, operands), direction, result);
    };
    if constexpr (mp::Selects<Reduce>) {
      const auto arg_indices = launches.template operand<std::int32_t>(known, end, layout.operands[0]);
      add(mp::FromArgIndex<mp::SumChain<Message, I>>{{message_}},
          std::tuple_cat(std::make_tuple(flowing, arg_indices), values));
    } else if constexpr (mp::HasDerivative<Reduce, T>) {
      const auto results = launches.template operand<T>(known, end, layout.operands[0]);
      add(mp::DerivativeChain<Message, Reduce, I>{message_, reduce_},
          std::tuple_cat(std::make_tuple(flowing, results), values));
    } else {
      add(mp::SumChain<Message, I>{message_}, std::tuple_cat(std::make_tuple(flowing), values));
    }
    return result;
  }

 private:
  template <typename T>
  static T* address(const Tensor& tensor) {
    return static_cast<T*>(device_address(tensor));
  }

  /// A tensor as kernels want room.
  template <typename T>
  struct Room {
    Tensor tensor;
    T* data() const { return address<T>(tensor); }
  };

  /// What launches of one call need: room, and offsets of features where kernels can read them.
  class Launches {
   public:
    explicit Launches(Device device) : device_(device), queue_(device.index) {}

    template <typename Body>
    void launch(const Launch& launch, const Body& body) {
      queue_.launch(launch, body);
    }
    template <typename T>
    Room<T> scratch(std::int64_t count) {
      return {Tensor::empty({count}, dtype_of<T>(), device_)};
    }
    const std::int64_t* offsets(const mp::FeatureLayout::Operand& features) {
      const auto count = static_cast<std::int64_t>(features.offsets.size());
      kept_.push_back(Tensor::from_span(std::span<const std::int64_t>(features.offsets), {count}, device_));
      return address<std::int64_t>(kept_.back());
    }
    template <typename T>
    MessageOperand<T> operand(const Tensor& tensor, mp::End end, const mp::FeatureLayout::Operand& features) {
      return {address<T>(tensor), end, features.width, features.step, offsets(features)};
    }

   private:
    Device device_;
    Queue queue_;
    std::vector<Tensor> kept_;
  };

  Device device() const { return operands_.device(); }

  /// The operands of the message: the types of the edges if it reads them, and operands `first`, first + 1, ... of the
  /// layout.
  template <typename T>
  auto values_of(Launches& launches, const mp::FeatureLayout& layout, std::size_t first,
                 mp::Direction direction) const {
    const auto values = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple{launches.template operand<T>(operands_.tensor(I), mp::end_of(operands_.target(I), direction),
                                                     layout.operands[first + I])...};
    }
    (std::make_index_sequence<N>{});
    if constexpr (mp::reads_edge_types<Message>) {
      const auto types = launches.template operand<std::int32_t>(device_edge_types(graph_, device()), mp::End::edge,
                                                                 mp::one_value_per_row(layout));
      return std::tuple_cat(std::tuple{types}, values);
    } else {
      return values;
    }
  }

  template <typename T, typename Function, typename... Values>
  static FunctorMessage<T, Function, Values...> message_of(Launches& launches, const Function& function,
                                                           const mp::FeatureLayout& layout,
                                                           const std::tuple<MessageOperand<Values>...>& operands) {
    const mp::FeatureLayout::Operand& result = layout.operands.back();
    return {function,
            operands,
            {.outer = layout.outer,
             .inner = layout.inner,
             .width = result.width,
             .sums_inner = result.step == 0,
             .result_offsets = result.distinct ? nullptr : launches.offsets(result)}};
  }

  /// The operands come in the order source, destination, edge: see HostLoops.
  template <typename T, std::size_t Index, typename SomeMessage>
  void add_up(Launches& launches, const SomeMessage& message, mp::Direction direction, Tensor& result) const {
    if constexpr (Index + 1 == N) {
      if (operands_.target(Index) == Target::edge) {
        const auto ends = device_ends(graph_, device());
        return map_messages(launches, "message_reduce_backward", {ends->src(), ends->dst(), graph_.num_edges()},
                            message, address<T>(result));
      }
    }
    if constexpr (Index < 2) {
      const auto rows = device_rows(graph_, direction, device());
      reduce_messages<false>(launches, {"message_reduce_backward", "message_reduce_backward_merge"}, rows->rows(),
                             rows->edges(), message, mp::Sum{}, ReducedRows<T>{address<T>(result)});
    }
  }

  const Graph& graph_;
  const Message& message_;
  const Reduce& reduce_;
  const mp::PassOperands& operands_;
  const MessageReduceOptions& options_;
};

}  // namespace bough::simt
