#pragma once

#include "bough/detail/simt/map_messages.h"
#include "kernels/simt/message.h"

/// The message of every edge by a built-in operator.
namespace bough::simt {

template <typename Queue, typename T>
void gsddmm(Queue& queue, const EdgeEnds& edges, const MessageCall<T>& call, T* results) {
  const UploadedMessage<Queue, T> message(queue, call);
  map_messages(queue, "gsddmm", edges, message.view(), results);
}

}  // namespace bough::simt
