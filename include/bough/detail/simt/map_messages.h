#pragma once

#include <cstdint>

#include "bough/detail/simt/message_features.h"

/// The message of every edge, in a row of its own. What a message is, reduce_messages.h says.
namespace bough::simt {

/// The edges as they were given.
struct EdgeEnds {
  const std::int32_t* src = nullptr;
  const std::int32_t* dst = nullptr;
  std::int64_t count = 0;
};

/// A thread for each element of the result, or a warp where the inner axis is summed up. Features that share an element
/// add up in it.
template <typename T, typename Message>
struct MapMessages {
  static constexpr int block_size = 128;

  EdgeEnds edges;
  Message message;
  T* results = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t index =
        message.features.sums_inner ? warp_number<block_size>(context) : thread_number<block_size>(context);
    if (index >= edges.count * message.features.width) return;
    const std::int64_t id = index / message.features.width;
    const auto element = message.features.element(index - id * message.features.width);
    const mp::EdgeRows edge{{message.reads(mp::End::row) ? context.load(edges.dst + id) : 0,
                             message.reads(mp::End::neighbour) ? context.load(edges.src + id) : 0, id}};
    T sum = 0;
    message.features.for_outers_of(context, element, [&](std::int64_t outer) {
      sum += message.features.sums_inner ? inner_sum<T>(context, message, edge, outer)
                                         : message.at(context, edge, outer, element.inner_index);
    });
    if (!message.features.sums_inner || context.lane() == 0) context.store(results + index, sum);
  }
};

/// Ends of operands are those of a traversal by destination: the row is the destination, the neighbour the source.
template <typename Queue, typename T, typename Message>
void map_messages(Queue& queue, const char* name, const EdgeEnds& edges, const Message& message, T* results) {
  using Body = MapMessages<T, Message>;
  const std::int64_t per_block = message.features.sums_inner ? Body::block_size / warp_size : Body::block_size;
  queue.launch({.name = name,
                .num_blocks = blocks_for(edges.count * message.features.width, per_block),
                .block_size = Body::block_size},
               Body{edges, message, results});
}

}  // namespace bough::simt
