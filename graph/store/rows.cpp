#include "graph/store/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "bough/core/errors.h"

namespace bough {
namespace {

constexpr std::int64_t copy_chunk = 1 << 16;

}  // namespace

void require_nodes(const char* where, std::span<const std::int32_t> nodes, std::int64_t count) {
  const auto bad =
      std::find_if(nodes.begin(), nodes.end(), [=](std::int32_t node) { return node < 0 || node >= count; });
  if (bad != nodes.end()) {
    throw GraphError(where, fmt::format("entry {} is node {}, but there are {}", bad - nodes.begin(), *bad, count));
  }
}

std::vector<std::int64_t> row_offsets(const CompressedView& view, std::span<const std::int32_t> rows) {
  std::vector<std::int64_t> offsets(rows.size() + 1);
  for (std::size_t i = 0; i < rows.size(); ++i) offsets[i + 1] = offsets[i] + view.degree(rows[i]);
  return offsets;
}

IdArray identity_ids(std::int64_t count) {
  IdBuffer ids(count);
  parallel_chunks(count, copy_chunk, [&](std::int64_t begin, std::int64_t end) {
    std::iota(ids.data() + begin, ids.data() + end, static_cast<std::int32_t>(begin));
  });
  return IdArray(std::move(ids));
}

IdArray gather(std::span<const std::int32_t> ids, std::span<const std::int32_t> selection) {
  if (ids.empty()) return {};
  IdBuffer result(static_cast<std::int64_t>(selection.size()));
  parallel_chunks(result.size(), copy_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      result.data()[i] = ids[static_cast<std::size_t>(selection[static_cast<std::size_t>(i)])];
    }
  });
  return IdArray(std::move(result));
}

}  // namespace bough
