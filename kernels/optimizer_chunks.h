#pragma once

#include <cstdint>

namespace bough {

/// A chunk of one parameter: where to read and write. Chunks are independent and small, so a list of them over all
/// parameters balances a model of a few huge and many tiny tensors.
template <typename T>
struct AdamChunk {
  T* parameter;
  const T* gradient;
  T* first_moment;
  T* second_moment;
  std::int64_t count;
  bool decays;
};
template <typename T>
struct SgdChunk {
  T* parameter;
  const T* gradient;
  T* velocity;  ///< null without momentum
  std::int64_t count;
  bool decays;
};
template <typename T>
struct TensorChunk {
  T* data;
  std::int64_t count;
};

}  // namespace bough
