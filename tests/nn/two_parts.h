#pragma once

#include "bough/nn/module.h"

/// A module with a part of its own, for tests that need names and values but no arithmetic.
namespace bough::nn {

struct Part : Module {
  explicit Part(double value) : weight(full({2, 3}, value)), count(zeros({1}, DType::int64)) {
    add_parameter("weight", weight);
    add_buffer("count", count);
  }
  Tensor weight, count;
};

struct TwoParts : Module {
  TwoParts() : scale(full({2}, 7)), first(1), second(2) {
    add_parameter("scale", scale);
    add_module("first", first);
    add_module("second", second);
  }
  Tensor scale;
  Part first, second;
};

}  // namespace bough::nn
