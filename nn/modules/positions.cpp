#include "bough/nn/positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bough/autograd/autograd.h"
#include "bough/core/errors.h"
#include "bough/nn/init.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/embedding.h"
#include "bough/ops/rows.h"

namespace bough::nn {
namespace {

std::int64_t at_least_one(const char* where, const char* what, std::int64_t value) {
  if (value < 1) throw ConfigError(where, fmt::format("{} must be at least 1, not {}", what, value));
  return value;
}

void require_positions(const char* where, std::int64_t begin, std::int64_t end, std::int64_t max_length) {
  if (0 <= begin && begin <= end && end <= max_length) return;
  throw ConfigError(where, fmt::format("positions {} to {} do not fit the {} there are; raise max_length", begin,
                                       end - 1, max_length));
}

}  // namespace

Tensor sinusoidal_positions(std::int64_t length, std::int64_t dim) {
  Tensor table = Tensor::empty({length, at_least_one("sinusoidal positions", "dim", dim)});
  for (std::int64_t position = 0; position < length; ++position) {
    for (std::int64_t i = 0; i < dim; ++i) {
      const double angle =
          static_cast<double>(position) * std::pow(10000.0, -static_cast<double>(i - i % 2) / static_cast<double>(dim));
      table.data<float>()[position * dim + i] = static_cast<float>(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return table;
}

SinusoidalPositions::SinusoidalPositions(const SinusoidalPositionsOptions& options)
    : table(sinusoidal_positions(at_least_one("sinusoidal positions", "max_length", options.max_length), options.dim)) {
  add_constant(table);
}

Tensor SinusoidalPositions::forward(std::int64_t begin, std::int64_t end) const {
  require_positions("sinusoidal positions", begin, end, table.size(0));
  return table.rows(begin, end);
}

Tensor SinusoidalPositions::forward(const Tensor& positions) const { return embedding(table, positions); }

LearnedPositions::LearnedPositions(const LearnedPositionsOptions& options)
    : weight(normal({at_least_one("learned positions", "max_length", options.max_length),
                     at_least_one("learned positions", "dim", options.dim)},
                    options.standard_deviation)) {
  add_parameter("weight", weight);
}

Tensor LearnedPositions::forward(std::int64_t begin, std::int64_t end) const {
  require_positions("learned positions", begin, end, weight.size(0));
  return weight.rows(begin, end);
}

Tensor LearnedPositions::forward(const Tensor& positions) const { return embedding(weight, positions); }

BlockPositions::BlockPositions(const BlockPositionsOptions& options) : max_length_(options.max_length) {
  constexpr const char* where = "block positions";
  const std::int64_t length = at_least_one(where, "max_length", options.max_length);
  const std::int64_t stride = std::min(at_least_one(where, "stride", options.stride), length);
  const std::int64_t dim = at_least_one(where, "dim", options.dim);
  blocks = normal({(length + stride - 1) / stride, dim}, options.standard_deviation);
  places = normal({stride, dim}, options.standard_deviation);
  add_parameter("blocks", blocks);
  add_parameter("places", places);
}

Tensor BlockPositions::forward(std::int64_t begin, std::int64_t end) const {
  require_positions("block positions", begin, end, max_length_);
  // Whole blocks by broadcasting, then the rows of them that were asked for.
  const std::int64_t stride = places.size(0), dim = places.size(1);
  const std::int64_t first = begin / stride, last = (end + stride - 1) / stride;
  if (first >= last) return places.rows(0, 0);
  const Tensor sums = blocks.rows(first, last).reshape({last - first, 1, dim}) + places.reshape({1, stride, dim});
  return sums.reshape({(last - first) * stride, dim}).rows(begin - first * stride, end - first * stride);
}

Tensor BlockPositions::forward(const Tensor& positions) const {
  // Decoding asks for a few rows in each step, for which the whole table would be much work. Elsewhere positions may be
  // those of a captured step, which the host must not read.
  if (grad_enabled() || positions.device().kind != Device::Kind::cpu) {
    return gather_rows(forward(0, max_length_), positions);
  }
  std::vector<std::int64_t> block, place;
  for (const std::int64_t position : positions.to_vector<std::int64_t>()) {
    if (position < 0 || position >= max_length_) {
      throw IndexError("block positions",
                       fmt::format("there is no position {} of {}; raise max_length", position, max_length_));
    }
    block.push_back(position / places.size(0));
    place.push_back(position % places.size(0));
  }
  const auto rows = [&](const Tensor& table, const std::vector<std::int64_t>& index) {
    return gather_rows(table, Tensor::from_vector(index, positions.shape()));
  };
  return rows(blocks, block) + rows(places, place);
}

}  // namespace bough::nn
