#include "bough/detail/simt/row_items.h"

#include <algorithm>

namespace bough::simt {

RowItems make_row_items(std::span<const std::int64_t> offsets, std::int64_t split_edges,
                        std::span<const std::uint8_t> skipped) {
  RowItems result;
  const auto rows = static_cast<std::int64_t>(offsets.size()) - 1;
  std::vector<RowItem> whole_rows;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (!skipped.empty() && skipped[static_cast<std::size_t>(row)] != 0) continue;
    const std::int64_t begin = offsets[static_cast<std::size_t>(row)], end = offsets[static_cast<std::size_t>(row) + 1];
    const auto number = static_cast<std::int32_t>(row);
    if (end - begin <= split_edges) {
      whole_rows.push_back({begin, end, number, -1});
      continue;
    }
    SplitRowItem split{number, static_cast<std::int32_t>(result.num_partials), 0};
    split_rows::for_each_split(begin, end, split_edges, [&](std::int64_t first, std::int64_t last) {
      result.items.push_back({first, last, number, static_cast<std::int32_t>(result.num_partials++)});
      ++split.num_partials;
    });
    result.split_rows.push_back(split);
  }
  result.items.insert(result.items.end(), whole_rows.begin(), whole_rows.end());
  return result;
}

}  // namespace bough::simt
