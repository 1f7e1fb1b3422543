#include "tasks/language_model/text_graphs.h"

#include <algorithm>

namespace bough {

TextGraphs::TextGraphs(const GraphGenerator& generator, WindowShape shape, std::int64_t layers, bool carry,
                       Device device)
    : generator_(generator),
      shape_(shape),
      layers_(layers),
      device_(device),
      warm_up_(carry ? (remembered_tokens(generator, shape.length) + shape.length - 1) / shape.length : 0) {
  usual();
}

const TokenGraph& TextGraphs::after(std::int64_t windows) {
  const std::int64_t before = std::min(windows, warm_up_);
  const auto known = built_.find(before);
  if (known != built_.end()) return known->second;
  TokenGraph graph = carries() ? TokenGraph(generator_, SegmentOptions{.length = shape_.length,
                                                                       .past = before * shape_.length,
                                                                       .windows = shape_.count,
                                                                       .layers = layers_,
                                                                       .device = device_})
                               : TokenGraph(generator_, shape_.length, shape_.count, layers_, device_);
  return built_.emplace(before, std::move(graph)).first->second;
}

const TokenGraph& TextGraphs::usual() { return after(warm_up_); }

}  // namespace bough
