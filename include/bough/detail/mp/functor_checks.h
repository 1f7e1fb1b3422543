#pragma once

#include <cstddef>
#include <type_traits>

#include "bough/detail/mp/functor_traits.h"

/// Functors of the user's own that do not fit message_reduce are refused when they are compiled, by a sentence. A
/// member with a name that means something but a signature that does not fit would otherwise be passed over.
namespace bough::mp {

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

}  // namespace bough::mp
