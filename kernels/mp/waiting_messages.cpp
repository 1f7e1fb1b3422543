#include "bough/detail/mp/waiting_messages.h"

#include <fmt/format.h>

#include <algorithm>

#include "bough/ops/arrange.h"
#include "kernels/mp/selection.h"

namespace bough {

void WaitingMessages::leave(Place& place) {
  if (place.batch < 0) return;
  Batch& batch = batches_[static_cast<std::size_t>(place.batch)];
  --count_;
  if (--batch.waiting > 0) return;
  for (auto& [name, values] : batch.messages) {  // only its shape is used from here on
    values = Tensor::empty(values.shape().with(0, 0), values.dtype(), values.device());
  }
}

void WaitingMessages::put(std::span<const std::int32_t> edges, Fields messages) {
  places_.resize(static_cast<std::size_t>(num_edges_));
  if (count_ == 0) batches_.clear();
  const auto number = static_cast<std::int32_t>(batches_.size());
  batches_.push_back({std::move(messages), static_cast<std::int64_t>(edges.size())});
  for (std::size_t i = 0; i < edges.size(); ++i) {
    Place& place = places_[static_cast<std::size_t>(edges[i])];
    leave(place);
    place = {number, static_cast<std::int32_t>(i)};
  }
  count_ += static_cast<std::int64_t>(edges.size());
}

void WaitingMessages::require_waiting(std::span<const std::int32_t> edges) const {
  for (const std::int32_t edge : edges) {
    const std::int32_t batch = places_.empty() ? never_sent : places_[static_cast<std::size_t>(edge)].batch;
    if (batch == received) {
      throw GraphError("recv", fmt::format("the message of edge {} has been received before; send() another", edge));
    }
    if (batch == never_sent) {
      throw GraphError("recv", fmt::format("edge {} carries no message; send() one first, or receive at nodes whose "
                                           "in-edges all carry one",
                                           edge));
    }
  }
}

Fields WaitingMessages::read(std::span<const std::int32_t> edges) const {
  require_waiting(edges);
  // The batches involved, one after the other, and where each begins.
  std::vector<std::int32_t> involved;
  for (const std::int32_t edge : edges) involved.push_back(places_[static_cast<std::size_t>(edge)].batch);
  std::ranges::sort(involved);
  involved.erase(std::ranges::unique(involved).begin(), involved.end());
  if (involved.empty() && !batches_.empty()) involved.push_back(static_cast<std::int32_t>(batches_.size()) - 1);
  if (involved.empty()) throw GraphError("recv", "nothing has been sent; send() first");

  std::vector<std::int64_t> begin(batches_.size(), 0);
  std::map<std::string, std::vector<Tensor>> parts;
  std::int64_t rows = 0;
  const auto batch_at = [&](std::int32_t number) -> const Batch& { return batches_[static_cast<std::size_t>(number)]; };
  for (const std::int32_t number : involved) {
    begin[static_cast<std::size_t>(number)] = rows;
    for (const auto& [name, values] : batch_at(number).messages) parts[name].push_back(values);
    const Fields& messages = batch_at(number).messages;
    rows += messages.empty() ? 0 : messages.begin()->second.size(0);
  }
  for (const auto& [name, tensors] : parts) {
    if (tensors.size() != involved.size()) {
      throw GraphError("recv", fmt::format("message '{}' is on some of the edges only; receive them separately", name));
    }
  }
  std::vector<std::int32_t> row_of_edge;
  for (const std::int32_t edge : edges) {
    const Place& place = places_[static_cast<std::size_t>(edge)];
    row_of_edge.push_back(static_cast<std::int32_t>(begin[static_cast<std::size_t>(place.batch)]) + place.row);
  }
  const mp::RowIds index(std::move(row_of_edge));
  Fields messages;
  for (const auto& [name, tensors] : parts) {
    messages[name] = mp::rows_at(tensors.size() == 1 ? tensors[0] : concatenate(tensors, 0), index);
  }
  return messages;
}

void WaitingMessages::remove(std::span<const std::int32_t> edges) {
  for (const std::int32_t edge : edges) {
    Place& place = places_[static_cast<std::size_t>(edge)];
    leave(place);
    place.batch = received;
  }
}

}  // namespace bough
