#pragma once

#include "kernels/simt/message.h"

/// The message of every edge, in a row of its own.
namespace bough::simt {

/// The edges as they were given.
struct EdgeEnds {
  const std::int32_t* src = nullptr;
  const std::int32_t* dst = nullptr;
  std::int64_t count = 0;
};

/// A thread for each element of the result, or a warp where the inner axis is summed up. Features that share an element
/// add up in it.
template <typename T>
struct Gsddmm {
  static constexpr int block_size = 128;

  EdgeEnds edges;
  MessageView<T> message;
  T* results = nullptr;

  template <typename Context>
  BOUGH_DEVICE void operator()(Context& context) const {
    const std::int64_t index =
        message.sums_inner ? warp_number<block_size>(context) : thread_number<block_size>(context);
    if (index >= edges.count * message.width) return;
    const std::int64_t id = index / message.width;
    const auto element = message.element(index - id * message.width);
    const mp::EdgeRows edge{{message.reads(mp::End::row) ? context.load(edges.dst + id) : 0,
                             message.reads(mp::End::neighbour) ? context.load(edges.src + id) : 0, id}};
    T sum = 0;
    message.for_outers_of(context, element, [&](std::int64_t outer) {
      sum += message.sums_inner ? message.inner_sum(context, edge, outer)
                                : message.at(context, edge, outer, element.inner_index);
    });
    if (!message.sums_inner || context.lane() == 0) context.store(results + index, sum);
  }
};

/// Ends of operands are those of a traversal by destination: the row is the destination, the neighbour the source.
template <typename Queue, typename T>
void gsddmm(Queue& queue, const EdgeEnds& edges, const MessageCall<T>& call, T* results) {
  const UploadedMessage<Queue, T> message(queue, call);
  using Body = Gsddmm<T>;
  const std::int64_t per_block = message.view().sums_inner ? Body::block_size / warp_size : Body::block_size;
  queue.launch({.name = "gsddmm",
                .num_blocks = blocks_for(edges.count * message.view().width, per_block),
                .block_size = Body::block_size},
               Body{edges, message.view(), results});
}

}  // namespace bough::simt
