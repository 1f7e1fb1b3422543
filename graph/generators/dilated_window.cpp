#include "graph/generators/dilated_window.h"

namespace bough {

void DilatedWindow::add(InEdges& in, std::int64_t token, std::int64_t begin, std::int64_t end,
                        const DistanceRelations& relations) const {
  if (dilation == 1) {
    relations.add_interval(in, token, std::max(begin, token - width), std::min(end, token + width + 1));
    return;
  }
  // The first and last step that stay inside begin .. end-1; division rounds towards zero, so keep operands positive.
  const std::int64_t first =
      token < begin ? (begin - token + dilation - 1) / dilation : -std::min(width, (token - begin) / dilation);
  const std::int64_t last =
      token >= end ? -((token - end) / dilation + 1) : std::min(width, (end - 1 - token) / dilation);
  for (std::int64_t step = std::max(first, -width); step <= last; ++step) {
    in.add(static_cast<std::int32_t>(token + step * dilation), relations.of(step, 0));
  }
}

}  // namespace bough
