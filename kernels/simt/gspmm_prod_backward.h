#pragma once

#include <cstdint>

#include "bough/detail/simt/context.h"

namespace bough::simt {

/// The gradient of a product of messages by row: the gradient of the row times the product of the other messages, made
/// of those before and those after, so that zeros need no care. A thread for each row and feature.
template <typename T>
struct ProdBackward {
  static constexpr int block_size = 128;

  const std::int64_t* offsets = nullptr;
  const std::int32_t* edge_ids = nullptr;  ///< null if position p holds edge p
  std::int64_t rows = 0, width = 1;
  const T* messages = nullptr;
  const T* gradient = nullptr;
  T* message_gradient = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t i = thread_number<block_size>(context);
    if (i >= rows * width) return;
    const std::int64_t begin = context.load(offsets + i / width), end = context.load(offsets + i / width + 1);
    const auto place = [&](std::int64_t position) {
      return (edge_ids == nullptr ? position : context.load(edge_ids + position)) * width + i % width;
    };
    T product = context.load(gradient + i);
    for (std::int64_t position = begin; position < end; ++position) {
      context.store(message_gradient + place(position), product);
      product *= context.load(messages + place(position));
    }
    product = 1;
    for (std::int64_t position = end; position-- > begin;) {
      T* target = message_gradient + place(position);
      context.store(target, context.load(target) * product);
      product *= context.load(messages + place(position));
    }
  }
};

template <typename Queue, typename T>
void prod_backward(Queue& queue, const ProdBackward<T>& body) {
  launch_threads(queue, "prod_backward", body.rows * body.width, body);
}

}  // namespace bough::simt
