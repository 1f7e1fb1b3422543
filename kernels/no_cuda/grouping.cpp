#include "kernels/cuda/grouping.h"

#include "kernels/no_cuda/no_cuda.h"

namespace bough {

void compress_edges(Cuda, const std::int32_t*, const std::int32_t*, std::int64_t, std::int64_t, std::int64_t,
                    std::int64_t*, std::int32_t*, std::int32_t*) {
  no_cuda("compress_edges");
}
template <typename Index>
void group_rows(Cuda, const Index*, std::int64_t, std::int64_t, std::int32_t*, std::int64_t*) {
  no_cuda("group_rows");
}
RowItemCounts count_row_items(Cuda, const std::int64_t*, std::int64_t, std::int64_t, std::int64_t*, std::int64_t*) {
  no_cuda("count_row_items");
}
void fill_row_items(Cuda, const std::int64_t*, std::int64_t, std::int64_t, const std::int64_t*, const std::int64_t*,
                    const RowItemCounts&, simt::RowItem*, simt::SplitRowItem*) {
  no_cuda("fill_row_items");
}

template void group_rows(Cuda, const std::int32_t*, std::int64_t, std::int64_t, std::int32_t*, std::int64_t*);
template void group_rows(Cuda, const std::int64_t*, std::int64_t, std::int64_t, std::int32_t*, std::int64_t*);

}  // namespace bough
