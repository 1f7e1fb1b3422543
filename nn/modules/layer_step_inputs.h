#pragma once

#include "bough/nn/layer_schedule.h"

namespace bough::nn {

/// ConfigError unless the schedule are those of so many layers, ShapeError unless tokens are [num_tokens, dim].
void require_inputs(const char* where, const LayerSchedule& schedule, std::int64_t layers, std::int64_t dim,
                    const Tensor& tokens);

/// What the first step holds: the tokens and, if there are other nodes, the row they share: start, or zeros where that
/// is undefined.
Tensor first_rows(const LayerSchedule& schedule, const Tensor& tokens, const Tensor& start);

}  // namespace bough::nn
