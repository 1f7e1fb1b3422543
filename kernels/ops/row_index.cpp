#include "kernels/row_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "bough/core/parallel.h"
#include "src/core/captured_graph.h"

namespace bough {
namespace {

/// The first position whose entry is outside 0..num_rows-1, or the size.
template <typename I>
std::int64_t first_outside(std::span<const I> index, std::int64_t num_rows) {
  const auto count = static_cast<std::int64_t>(index.size());
  const auto limit = static_cast<std::uint64_t>(num_rows);
  const auto outside = [limit](I row) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(row)) >= limit; };
  std::atomic<bool> clean = true;
  parallel_chunks(count, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    // Without an early exit the loop over a chunk has no branch and vectorises.
    bool bad = false;
    for (std::int64_t i = begin; i < end; ++i) bad |= outside(index[i]);
    if (bad) clean = false;
  });
  return clean ? count : std::ranges::find_if(index, outside) - index.begin();
}

}  // namespace

void require_integers(std::string_view where, std::string_view name, const Tensor& tensor) {
  if (!is_integer(tensor.dtype())) {
    throw TypeError(where, fmt::format("{} must be int32 or int64, not {}", name, name_of(tensor.dtype())));
  }
}

void require_rows_in_range(std::string_view where, const Tensor& index, std::int64_t num_rows) {
  if (CapturedGraph::capturing(index.device())) return;  // the run before the capture has looked
  visit_integers(index.detach().to(Device::cpu()), [&](auto entries) {
    const std::int64_t position = first_outside(entries, num_rows);
    if (position == static_cast<std::int64_t>(entries.size())) return;
    throw IndexError(where, fmt::format("index {} at position {} is outside the {} rows; rows count from 0",
                                        entries[position], position, num_rows));
  });
}

void require_rows_still_in_range(std::string_view where, const Tensor& index, std::int64_t num_rows) {
  if (index.device().kind == Device::Kind::cpu) require_rows_in_range(where, index, num_rows);
}

}  // namespace bough
