#include "bough/detail/mp/features.h"

#include <algorithm>

namespace bough::mp {
namespace {

/// Runs of features are cut at multiples of this, so that parts fill whole vectors.
constexpr std::int64_t inner_grain = 64;

/// Some neighbouring axes of the common shape, and which operands have them.
struct MergedAxis {
  std::int64_t extent = 1;
  std::vector<bool> has;
};

std::vector<MergedAxis> merge_axes(const Shape& common, std::span<const Shape> shapes) {
  std::vector<MergedAxis> merged;
  for (int axis = 0; axis < common.rank(); ++axis) {
    if (common[axis] == 1) continue;
    std::vector<bool> has;
    for (const Shape& shape : shapes) {
      const int own = axis - (common.rank() - shape.rank());
      has.push_back(own >= 0 && shape[own] != 1);
    }
    if (!merged.empty() && merged.back().has == has) {
      merged.back().extent *= common[axis];
    } else {
      merged.push_back({common[axis], std::move(has)});
    }
  }
  if (merged.empty()) merged.push_back({1, std::vector<bool>(shapes.size(), true)});
  return merged;
}

}  // namespace

FeatureLayout::Operand one_value_per_row(const FeatureLayout& layout) {
  return {.offsets = std::vector<std::int64_t>(static_cast<std::size_t>(layout.outer), 0),
          .step = 0,
          .width = 1,
          .distinct = layout.outer == 1};
}

FeatureLayout broadcast_layout(const Shape& common, std::span<const Shape> shapes) {
  const std::vector<MergedAxis> axes = merge_axes(common, shapes);
  FeatureLayout layout;
  layout.inner = axes.back().extent;
  for (std::size_t axis = 0; axis + 1 < axes.size(); ++axis) layout.outer *= axes[axis].extent;

  for (std::size_t i = 0; i < shapes.size(); ++i) {
    FeatureLayout::Operand operand;
    operand.step = axes.back().has[i] ? 1 : 0;
    operand.width = shapes[i].elements();
    operand.offsets = {0};
    std::int64_t below = operand.step == 1 ? layout.inner : 1;  // elements of one index of the axis
    for (std::size_t axis = axes.size() - 1; axis-- > 0;) {
      const std::int64_t stride = axes[axis].has[i] ? below : 0;
      if (axes[axis].has[i]) below *= axes[axis].extent;
      if (!axes[axis].has[i] && axes[axis].extent > 1) operand.distinct = false;
      std::vector<std::int64_t> offsets;
      offsets.reserve(operand.offsets.size() * static_cast<std::size_t>(axes[axis].extent));
      for (std::int64_t index = 0; index < axes[axis].extent; ++index) {
        for (const std::int64_t offset : operand.offsets) offsets.push_back(index * stride + offset);
      }
      operand.offsets = std::move(offsets);
    }
    layout.operands.push_back(std::move(operand));
  }
  return layout;
}

Shape row_shape(const Shape& shape) { return shape.rank() == 0 ? Shape{} : Shape(shape.extents().subspan(1)); }

Shape with_rows(std::int64_t rows, const Shape& row) {
  std::vector<std::int64_t> extents{rows};
  extents.insert(extents.end(), row.begin(), row.end());
  return Shape(extents);
}

std::vector<FeatureBlock> cut_features(const FeatureLayout& layout, const FeatureLayout::Operand& result,
                                       std::int64_t blocks) {
  const FeatureBlock whole{0, layout.outer, 0, layout.inner, 0, result.width};
  if (blocks <= 1 || !result.distinct) return {whole};
  std::vector<FeatureBlock> cut;
  if (layout.outer > 1) {
    const std::int64_t width = result.step == 1 ? layout.inner : 1;
    const std::int64_t size = std::max<std::int64_t>(1, (layout.outer + blocks - 1) / blocks);
    for (std::int64_t begin = 0; begin < layout.outer; begin += size) {
      const std::int64_t end = std::min(layout.outer, begin + size);
      cut.push_back({begin, end, 0, layout.inner, begin * width, end * width});
    }
  } else if (result.step == 1) {
    const std::int64_t grains = (layout.inner + inner_grain - 1) / inner_grain;
    const std::int64_t size = std::max<std::int64_t>(1, (grains + blocks - 1) / blocks) * inner_grain;
    for (std::int64_t begin = 0; begin < layout.inner; begin += size) {
      const std::int64_t end = std::min(layout.inner, begin + size);
      cut.push_back({0, 1, begin, end, begin, end});
    }
  }
  if (cut.empty()) cut.push_back(whole);
  return cut;
}

}  // namespace bough::mp
