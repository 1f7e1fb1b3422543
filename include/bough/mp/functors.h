#pragma once

#include <cstdint>
#include <limits>

#include "bough/core/host_device.h"

/// What happens on one edge and one feature: the operators that every traversal, on every backend, is a template of.
///
/// A message takes one value of each operand and gives one value. A reduction starts at identity<T>() and takes the
/// messages of a row one by one. Both are plain scalar functions; the loops around them make vectors of them. A functor
/// of the user's own needs nothing more, see message_reduce.h.
namespace bough::mp {

struct Add {
  template <typename T>
  BOUGH_HOST_DEVICE constexpr T operator()(T a, T b) const {
    return a + b;
  }
};

struct Subtract {
  template <typename T>
  BOUGH_HOST_DEVICE constexpr T operator()(T a, T b) const {
    return a - b;
  }
};

struct Multiply {
  template <typename T>
  BOUGH_HOST_DEVICE constexpr T operator()(T a, T b) const {
    return a * b;
  }
};

struct Divide {
  template <typename T>
  BOUGH_HOST_DEVICE constexpr T operator()(T a, T b) const {
    return a / b;
  }
};

struct Copy {
  template <typename T>
  BOUGH_HOST_DEVICE constexpr T operator()(T a) const {
    return a;
  }
};

struct Sum {
  template <typename T>
  BOUGH_HOST_DEVICE static constexpr T identity() {
    return T{0};
  }
  template <typename T>
  BOUGH_HOST_DEVICE constexpr T operator()(T total, T message) const {
    return total + message;
  }
};

struct Product {
  template <typename T>
  BOUGH_HOST_DEVICE static constexpr T identity() {
    return T{1};
  }
  template <typename T>
  BOUGH_HOST_DEVICE constexpr T operator()(T total, T message) const {
    return total * message;
  }
};

/// The greatest message; a NaN beats everything.
struct Max {
  template <typename T>
  BOUGH_HOST_DEVICE static constexpr T identity() {
    return -std::numeric_limits<T>::infinity();
  }
  template <typename T>
  BOUGH_HOST_DEVICE static constexpr bool prefers(T message, T best) {
    return (message > best) | ((message != message) & (best == best));
  }
  template <typename T>
  BOUGH_HOST_DEVICE constexpr T operator()(T best, T message) const {
    return prefers(message, best) ? message : best;
  }
};

/// The least message; a NaN beats everything.
struct Min {
  template <typename T>
  BOUGH_HOST_DEVICE static constexpr T identity() {
    return std::numeric_limits<T>::infinity();
  }
  template <typename T>
  BOUGH_HOST_DEVICE static constexpr bool prefers(T message, T best) {
    return (message < best) | ((message != message) & (best == best));
  }
  template <typename T>
  BOUGH_HOST_DEVICE constexpr T operator()(T best, T message) const {
    return prefers(message, best) ? message : best;
  }
};

/// Keeps the last message: for results that each edge writes alone.
struct Assign {
  template <typename T>
  BOUGH_HOST_DEVICE static constexpr T identity() {
    return T{0};
  }
  template <typename T>
  BOUGH_HOST_DEVICE constexpr T operator()(T, T message) const {
    return message;
  }
};

/// The gradient of a maximum or minimum: passes `gradient` on for the edge that won, zero for the others, and then
/// applies F to it and the values of further operands.
template <typename F>
struct FromWinner {
  static constexpr bool takes_edge = true;
  F function;
  template <typename T, typename... Others>
  BOUGH_HOST_DEVICE constexpr T operator()(std::int64_t edge, T gradient, std::int32_t winner, Others... others) const {
    return function(winner == static_cast<std::int32_t>(edge) ? gradient : T{0}, others...);
  }
};

/// True for a message that also receives the id of its edge, as its first argument.
template <typename Message>
concept TakesEdge = requires {
  requires Message::takes_edge;
};

/// True for a reduction that picks one of its messages.
template <typename Reduce>
concept Selects = requires(float value) {
  Reduce::prefers(value, value);
};

}  // namespace bough::mp
