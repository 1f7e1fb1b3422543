#pragma once

#include <concepts>
#include <cstdint>
#include <limits>

#include "bough/detail/host_device.h"

/// What happens on one edge and one feature: the operators that every traversal, on every backend, is a template of.
///
/// A message takes one value of each operand and gives one value. A reduction starts at identity<T>() and takes the
/// messages of a row one by one. Both are plain scalar functions; the loops around them make vectors of them. A functor
/// of the user's own needs nothing more, see message_reduce.h.
namespace bough::mp {

/// The edge that a message belongs to, for a message that asks for it.
struct Edge {
  std::int32_t type = 0;  ///< its number in Graph::edge_types()
};

/// a + b.
struct Add {
  template <typename T>
  BOUGH_HOST_DEVICE constexpr T operator()(T a, T b) const {
    return a + b;
  }
};

/// a - b.
struct Subtract {
  template <typename T>
  BOUGH_HOST_DEVICE constexpr T operator()(T a, T b) const {
    return a - b;
  }
};

/// a * b.
struct Multiply {
  template <typename T>
  BOUGH_HOST_DEVICE constexpr T operator()(T a, T b) const {
    return a * b;
  }
};

/// a / b.
struct Divide {
  template <typename T>
  BOUGH_HOST_DEVICE constexpr T operator()(T a, T b) const {
    return a / b;
  }
};

/// The value itself.
struct Copy {
  template <typename T>
  BOUGH_HOST_DEVICE constexpr T operator()(T a) const {
    return a;
  }
};

/// The sum of the messages.
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

/// Their mean.
struct Mean : Sum {
  BOUGH_HOST_DEVICE static constexpr bool has_finish() { return true; }
  template <typename T>
  BOUGH_HOST_DEVICE constexpr T finish(T total, std::int64_t messages) const {
    return total / static_cast<T>(messages);
  }
};

/// Their product.
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

/// The best so far, or the message if that is better; a NaN is better than any number. In two steps without &&, which
/// compilers make vectors of.
template <typename Reduce, typename T>
BOUGH_HOST_DEVICE constexpr T better_of(const Reduce& reduce, T best, T message) {
  const T better = reduce.holds(best, message) ? best : message;
  return best != best ? best : better;
}

/// The greatest message; NaN if there is one.
struct Max {
  template <typename T>
  BOUGH_HOST_DEVICE static constexpr T identity() {
    return -std::numeric_limits<T>::infinity();
  }
  /// Whether the best is at least as good as the message.
  template <typename T>
  BOUGH_HOST_DEVICE static constexpr bool holds(T best, T message) {
    return message <= best;
  }
  template <typename T>
  BOUGH_HOST_DEVICE constexpr T operator()(T best, T message) const {
    return better_of(*this, best, message);
  }
};

/// The least message; NaN if there is one.
struct Min {
  template <typename T>
  BOUGH_HOST_DEVICE static constexpr T identity() {
    return std::numeric_limits<T>::infinity();
  }
  template <typename T>
  BOUGH_HOST_DEVICE static constexpr bool holds(T best, T message) {
    return message >= best;
  }
  template <typename T>
  BOUGH_HOST_DEVICE constexpr T operator()(T best, T message) const {
    return better_of(*this, best, message);
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

/// The gradient of a maximum or minimum: passes `gradient` on for the edge that was selected, zero for the others, and
/// then applies F to it and the values of further operands.
template <typename F>
struct FromArgIndex {
  static constexpr bool takes_edge_id = true;  ///< it is told the number of the edge
  F function;                                  ///< applied to what is passed on
  template <typename T, typename... Others>
  BOUGH_HOST_DEVICE constexpr T operator()(std::int64_t edge, T gradient, std::int32_t arg_index,
                                           Others... others) const {
    return function(arg_index == static_cast<std::int32_t>(edge) ? gradient : T{0}, others...);
  }
};

/// True for a message that also receives the id of its edge, as its first argument.
template <typename Message>
concept TakesEdgeId = requires {
  requires Message::takes_edge_id;
};

/// True for a message that is declared to compute so much that it gains from vectors wider than AVX2's. Most do not:
/// they wait for memory, and are spared the code.
template <typename Message>
concept ComputeBound = requires {
  requires Message::compute_bound;
};

/// True for a reduction that picks one of its messages.
template <typename Reduce>
concept Selects = requires(const Reduce& reduce, float value) {
  { reduce.holds(value, value) } -> std::convertible_to<bool>;
};

/// A reduction with a last step: finish(value, number of messages), asked for only if has_finish().
template <typename Reduce, typename T>
concept HasFinish = requires(const Reduce& reduce, T value, std::int64_t count) {
  reduce.has_finish();
  reduce.finish(value, count);
};

}  // namespace bough::mp
