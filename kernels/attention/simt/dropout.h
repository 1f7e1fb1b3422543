#pragma once

#include "bough/detail/simt/context.h"
#include "kernels/attention/views.h"

namespace bough::simt {

/// Whether an edge keeps its weight: AttentionDropout::keeps, with the random numbers of this replay if the launch is
/// part of a recorded step.
template <typename Context>
BOUGH_DEVICE bool keeps_weight(Context& context, AttentionDropout dropout, std::int32_t src, std::int32_t dst,
                               std::int64_t head, std::uint32_t ordinal) {
  if (dropout.stream_shift != nullptr) dropout.stream.stream += context.load(dropout.stream_shift);
  return dropout.keeps(src, dst, head, ordinal);
}

}  // namespace bough::simt
