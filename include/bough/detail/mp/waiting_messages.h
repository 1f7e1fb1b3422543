#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bough/mp/batches.h"

namespace bough {

/// Messages that have been sent and not yet received: at most one for each edge.
class WaitingMessages {
 public:
  explicit WaitingMessages(std::int64_t num_edges) : num_edges_(num_edges) {}

  /// Row i of each field is the message of edges[i]; a message that waits on the edge already is replaced.
  void put(std::span<const std::int32_t> edges, Fields messages);
  /// The messages of these edges, row i for edges[i]; they go on waiting. GraphError if an edge carries none, or if
  /// their messages have different fields.
  Fields read(std::span<const std::int32_t> edges) const;
  /// The messages of these edges, which carry one each, have been received.
  void remove(std::span<const std::int32_t> edges);
  std::int64_t count() const { return count_; }

 private:
  /// Messages that came in one call, and how many of them still wait.
  struct Batch {
    Fields messages;
    std::int64_t waiting = 0;
  };
  /// Where the message of an edge is.
  struct Place {
    std::int32_t batch = never_sent;
    std::int32_t row = 0;
  };
  static constexpr std::int32_t never_sent = -1;
  static constexpr std::int32_t received = -2;

  void require_waiting(std::span<const std::int32_t> edges) const;
  void leave(Place& place);

  std::int64_t num_edges_;
  std::int64_t count_ = 0;
  std::vector<Place> places_;  ///< one for each edge, once something was sent
  std::vector<Batch> batches_;
};

}  // namespace bough
