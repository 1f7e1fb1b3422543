#include "kernels/cpu/gspmm_prod_backward.h"

#include <algorithm>
#include <vector>

namespace bough {

template <typename T>
void prod_backward(Cpu, const mp::Adjacency& edges, const mp::TraversalPlan& plan, Rows<const T> messages,
                   Rows<const T> gradient, Rows<T> message_gradient) {
  const std::int64_t width = messages.width;
  parallel_chunks(plan.chunks(), 1, [&](std::int64_t first, std::int64_t last) {
    std::vector<T> product(static_cast<std::size_t>(width));
    for (std::int64_t row = plan.chunk_begin[static_cast<std::size_t>(first)];
         row < plan.chunk_begin[static_cast<std::size_t>(last)]; ++row) {
      const std::int64_t begin = edges.offsets[row];
      const std::int64_t end = edges.offsets[row + 1];
      std::copy_n(gradient[row], width, product.begin());
      for (std::int64_t position = begin; position < end; ++position) {
        const std::int64_t edge = edges.edge_at(position);
        std::ranges::copy(product, message_gradient[edge]);
        for (std::int64_t i = 0; i < width; ++i) product[static_cast<std::size_t>(i)] *= messages[edge][i];
      }
      std::ranges::fill(product, T{1});
      for (std::int64_t position = end; position-- > begin;) {
        const std::int64_t edge = edges.edge_at(position);
        for (std::int64_t i = 0; i < width; ++i) {
          message_gradient[edge][i] *= product[static_cast<std::size_t>(i)];
          product[static_cast<std::size_t>(i)] *= messages[edge][i];
        }
      }
    }
  });
}

template void prod_backward(Cpu, const mp::Adjacency&, const mp::TraversalPlan&, Rows<const float>, Rows<const float>,
                            Rows<float>);
template void prod_backward(Cpu, const mp::Adjacency&, const mp::TraversalPlan&, Rows<const double>, Rows<const double>,
                            Rows<double>);

}  // namespace bough
