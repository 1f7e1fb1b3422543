#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "bough/autograd/autograd.h"
#include "bough/core/tensor.h"
#include "bough/detail/mp/functor_traits.h"
#include "bough/detail/mp/host_loops.h"
#include "bough/detail/mp/pass_operands.h"
#include "bough/graph/graph.h"

namespace bough::mp {

// Functors of the user's own that do not fit message_reduce are refused when they are compiled, by a sentence. A member
// with a name that means something but a signature that does not fit would otherwise be passed over.

/// Whether a class has a member of some name: a class derived from it and from one that has such a member for certain
/// cannot name it without saying whose.
template <typename Functor, typename Named>
struct Both : Functor, Named {};

struct NamedGradient {
  int gradient;
};
struct NamedDerivative {
  int derivative;
};
struct NamedHasFinish {
  int has_finish;
};
struct NamedFinish {
  int finish;
};

template <typename Functor>
concept Derivable = std::is_class_v<Functor> && !std::is_final_v<Functor>;
template <typename Functor>
concept MentionsGradient = Derivable<Functor> && !requires {
  &Both<Functor, NamedGradient>::gradient;
};
template <typename Functor>
concept MentionsDerivative = Derivable<Functor> && !requires {
  &Both<Functor, NamedDerivative>::derivative;
};
template <typename Functor>
concept MentionsFinish = Derivable<Functor> && !requires {
  &Both<Functor, NamedHasFinish>::has_finish;
  &Both<Functor, NamedFinish>::finish;
};

template <typename Message, typename... Arguments>
concept Takes = requires(const Message& message, Arguments... arguments) {
  message(arguments...);
};
template <typename Message, typename T>
concept TakesSome = Takes<Message, T> || Takes<Message, T, T> || Takes<Message, T, T, T> || Takes<Message, Edge, T> ||
    Takes<Message, Edge, T, T> || Takes<Message, Edge, T, T, T>;

/// Whether message_reduce can compute with a message on some number of operands of type T, and derive it.
template <typename Message, typename T>
concept MessageOfSome = MessageOf<Message, T, 1> || MessageOf<Message, T, 2> || MessageOf<Message, T, 3>;
template <typename Message, typename T>
concept HasSomeGradient = HasGradient<Message, T, 1> || HasGradient<Message, T, 2> || HasGradient<Message, T, 3>;

template <typename Reduce, typename T>
concept ReductionOf = requires(const Reduce& reduce, T value) {
  { reduce.template identity<T>() } -> std::convertible_to<T>;
  { reduce(value, value) } -> std::convertible_to<T>;
};

/// What holds for a reduction of messages of type T, if there are such messages.
template <typename Message, typename Reduce, typename T>
constexpr bool reduction_fits() {
  if constexpr (MessageOfSome<Message, T>) {
    static_assert(ReductionOf<Reduce, T>,
                  "message_reduce: the reduction needs T identity<T>() and T operator()(T so_far, T message) const for "
                  "the type T of the messages");
    static_assert(!MentionsFinish<Reduce> || HasFinish<Reduce, T>,
                  "message_reduce: a reduction with a last step needs both bool has_finish() const and "
                  "T finish(T value, std::int64_t messages) const");
    static_assert(!MentionsDerivative<Reduce> || HasDerivative<Reduce, T>,
                  "message_reduce: derivative of the reduction must be T derivative(T message, T result) const");
    return ReductionOf<Reduce, T>;
  }
  return true;
}

/// Whether message_reduce can be compiled for the functors; what they lack is an error of the compiler.
template <typename Message, typename Reduce>
constexpr bool functors_fit() {
  constexpr bool is_message = MessageOfSome<Message, float> || MessageOfSome<Message, double>;
  constexpr bool takes_values = TakesSome<Message, float> || TakesSome<Message, double>;
  static_assert(
      is_message || takes_values,
      "message_reduce: the message needs T operator()(T source, T destination, T edge) const with one to three "
      "values of type float or double, and before them a mp::Edge if it asks for its edge");
  static_assert(is_message || !takes_values,
                "message_reduce: the message must return the type of its values, float or double");
  static_assert(
      !is_message || !MentionsGradient<Message> || HasSomeGradient<Message, float> || HasSomeGradient<Message, double>,
      "message_reduce: gradient of the message must be const, take what operator() takes, and return a "
      "std::array with one derivative for each value");
  return is_message && reduction_fits<Message, Reduce, float>() && reduction_fits<Message, Reduce, double>();
}

/// message_reduce for one message, one reduction and one number of operands. Loops is HostLoops or one of the same kind
/// for GPUs.
template <typename Message, typename Reduce, std::size_t N, template <typename, typename, std::size_t> typename Loops>
class MessageReduction {
 public:
  MessageReduction(const Graph& graph, const Message& message, const Reduce& reduce, PassOperands operands,
                   const MessageReduceOptions& options)
      : graph_(graph), message_{message}, reduce_(reduce), operands_(std::move(operands)), options_(options) {
    if constexpr (AsksForEdge<Message, N>) require_edge_types("message_reduce", "the message", graph);
  }

  Tensor run() const {
    const std::vector<Tensor> inputs = operands_.tensors();
    const bool recorded = autograd::should_record(inputs);
    if (recorded) require_gradient();
    Tensor result = Tensor::empty(operands_.result_shape(graph_), operands_.dtype(), operands_.device());
    Tensor arg_indices =
        recorded && Selects<Reduce> ? Tensor::empty(result.shape(), DType::int32, result.device()) : Tensor{};
    if (result.elements() > 0) {
      with_type([&]<typename T>(TypeTag<T>) { loops().template forward<T>(result, arg_indices); });
    }
    if (!recorded) return result;
    std::vector<Tensor> saved = inputs;
    saved.push_back(Selects<Reduce> ? arg_indices : result);
    return autograd::record(
        {.name = "message_reduce",
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

  /// What the loops compute with.
  using LoopMessage = std::conditional_t<AsksForEdge<Message, N>, TypedMessage<Message>, Message>;
  Loops<LoopMessage, Reduce, N> loops() const { return {graph_, message_, reduce_, operands_, options_}; }

  MessageReduction without_tensors() const {
    MessageReduction copy = *this;
    copy.operands_.forget_tensors();
    return copy;
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
          ((call.needs(I)
                ? void(gradients[I] = restored.loops().template operand_gradient<T, I>(gradient, call.saved(N)))
                : void()),
           ...);
        }
        (std::make_index_sequence<N>{});
      }
    });
    return gradients;
  }

  Graph graph_;
  LoopMessage message_;
  Reduce reduce_;
  PassOperands operands_;
  MessageReduceOptions options_;
};

/// The rest of message_reduce, once operands are known to be where the loops compute.
template <template <typename, typename, std::size_t> typename Loops, typename Message, typename Reduce>
Tensor reduced_messages(const Graph& graph, PassOperands operands, const MessageReduceOptions& options,
                        const Message& message, const Reduce& reduce) {
  const auto run = [&]<std::size_t N>() {
    if constexpr (MessageOf<Message, float, N> || MessageOf<Message, double, N>) {
      return MessageReduction<Message, Reduce, N, Loops>(graph, message, reduce, std::move(operands), options).run();
    } else {
      operands.refuse_count();
      return Tensor();
    }
  };
  if constexpr (functors_fit<Message, Reduce>()) {
    switch (operands.count()) {
      case 1:
        return run.template operator()<1>();
      case 2:
        return run.template operator()<2>();
      default:
        return run.template operator()<3>();
    }
  }
  return {};
}

}  // namespace bough::mp
