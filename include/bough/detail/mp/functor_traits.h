#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <utility>

#include "bough/mp/functors.h"

/// What functors of the user's own can do, and the gradients that follow from it.
namespace bough::mp {

/// What a message gives for N values of type T, and whether it has derivatives.
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
