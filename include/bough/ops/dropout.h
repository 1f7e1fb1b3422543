#pragma once

#include "bough/core/random.h"
#include "bough/core/tensor.h"

namespace bough {

/// Options of dropout.
struct DropoutOptions {
  bool training = true;                  ///< false: x comes back as it is
  RandomGenerator* generator = nullptr;  ///< gives the stream of random numbers; null for the thread's default one
};

/// Sets each element to 0 with probability p and multiplies the others by 1 / (1 - p).
///
/// Element i, in row-major order, is kept if uniform_float(stream(i)) >= p, where the stream is the generator's next
/// one: the mask depends on seed, stream and position only, never on threads or instruction set. p = 0 gives x itself
/// and takes no stream; p = 1 gives zeros. ConfigError for p outside 0..1. float32 and float64 of any shape. A dropped
/// element is 0 whatever it was, NaN included. Keeps nothing but the stream: backward makes the mask again.
Tensor dropout(const Tensor& x, double p, const DropoutOptions& options = {});

}  // namespace bough
