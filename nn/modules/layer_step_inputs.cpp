#include "nn/modules/layer_step_inputs.h"

#include <fmt/format.h>

#include "bough/core/errors.h"
#include "bough/ops/arrange.h"

namespace bough::nn {

void require_inputs(const char* where, const LayerSchedule& schedule, std::int64_t layers, std::int64_t dim,
                    const Tensor& tokens) {
  if (schedule.layers.size() != static_cast<std::size_t>(layers)) {
    throw ConfigError(
        where, fmt::format("the schedule are those of {} layers, the model has {}", schedule.layers.size(), layers));
  }
  if (tokens.rank() != 2 || tokens.size(0) != schedule.num_tokens || tokens.size(1) != dim) {
    throw ShapeError(where, fmt::format("token inputs must be [{}, {}], they are {}", schedule.num_tokens, dim,
                                        to_string(tokens.shape())));
  }
}

Tensor first_rows(const LayerSchedule& schedule, const Tensor& tokens, const Tensor& start) {
  if (!schedule.has_other_nodes) return tokens;
  const Tensor shared = start.defined() ? start : zeros({1, tokens.size(1)}, tokens.dtype(), tokens.device());
  return concatenate({tokens, shared}, 0);
}

}  // namespace bough::nn
