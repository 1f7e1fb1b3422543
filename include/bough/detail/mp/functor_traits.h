#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <utility>

#include "bough/mp/functors.h"

/// What functors of the user's own can do, and the gradients that follow from it.
namespace bough::mp {

/// What a message gives for some arguments, and whether it has derivatives by N values.
template <typename Message, typename T, typename... Arguments>
concept Gives = requires(const Message& message, Arguments... arguments) {
  { message(arguments...) } -> std::same_as<T>;
};
template <typename Message, typename T, std::size_t N, typename... Arguments>
concept GivesGradient = requires(const Message& message, Arguments... arguments) {
  { message.gradient(arguments...) } -> std::convertible_to<std::array<T, N>>;
};

template <typename T, std::size_t>
using Repeated = T;

template <typename Message, typename T, std::size_t... I>
constexpr bool takes_values(std::index_sequence<I...>) {
  return Gives<Message, T, Repeated<T, I>...>;
}
template <typename Message, typename T, std::size_t... I>
constexpr bool takes_edge_and_values(std::index_sequence<I...>) {
  return Gives<Message, T, Edge, Repeated<T, I>...>;
}
template <typename Message, typename T, std::size_t... I>
constexpr bool gives_gradient(std::index_sequence<I...>) {
  return GivesGradient<Message, T, sizeof...(I), Repeated<T, I>...>;
}
template <typename Message, typename T, std::size_t... I>
constexpr bool gives_gradient_with_edge(std::index_sequence<I...>) {
  return GivesGradient<Message, T, sizeof...(I), Edge, Repeated<T, I>...>;
}

/// Whether a message takes N values of type T and gives one.
template <typename Message, typename T, std::size_t N>
concept ValueMessageOf = takes_values<Message, T>(std::make_index_sequence<N>{});
/// Whether it takes an Edge before them. One that takes a value there is not asked: a lambda of `auto` would be
/// compiled with an Edge as if it were a number.
template <typename Message, typename T, std::size_t N>
concept EdgeMessageOf = !ValueMessageOf<Message, T, N> && !ValueMessageOf<Message, T, N + 1> &&
                        takes_edge_and_values<Message, T>(std::make_index_sequence<N>{});
template <typename Message, typename T, std::size_t N>
concept MessageOf = ValueMessageOf<Message, T, N> || EdgeMessageOf<Message, T, N>;
template <typename Message, typename T, std::size_t N>
concept HasGradient = (ValueMessageOf<Message, T, N> && gives_gradient<Message, T>(std::make_index_sequence<N>{})) ||
                      (EdgeMessageOf<Message, T, N> &&
                       gives_gradient_with_edge<Message, T>(std::make_index_sequence<N>{}));

/// Whether a message of N values asks for its edge.
template <typename Message, std::size_t N>
concept AsksForEdge = EdgeMessageOf<Message, float, N> || EdgeMessageOf<Message, double, N>;

/// A message that asks for its edge, as one whose first operand is the type of the edge.
template <typename Message>
struct TypedMessage {
  Message message;
  template <typename... Values>
  BOUGH_HOST_DEVICE constexpr auto operator()(std::int32_t type, Values... values) const {
    return message(Edge{type}, values...);
  }
  template <typename... Values>
  BOUGH_HOST_DEVICE constexpr auto gradient(std::int32_t type, Values... values) const {
    return message.gradient(Edge{type}, values...);
  }
};
template <typename Message>
inline constexpr bool reads_edge_types = false;
template <typename Message>
inline constexpr bool reads_edge_types<TypedMessage<Message>> = true;

/// A reduction with the derivative of its result by one message.
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

}  // namespace bough::mp
