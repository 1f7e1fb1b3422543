#pragma once

#include <memory>
#include <span>
#include <vector>

#include "bough/core/tensor.h"

namespace bough::mp {

/// Numbers of rows, on the host and on every device that has asked for them. Copies share them.
class RowIds {
 public:
  /// Undefined: all rows in order.
  RowIds() = default;
  explicit RowIds(std::vector<std::int32_t> ids);
  explicit RowIds(std::span<const std::int32_t> ids) : RowIds(std::vector(ids.begin(), ids.end())) {}

  bool defined() const { return copies_ != nullptr; }
  std::span<const std::int32_t> host() const;
  std::int64_t size() const { return static_cast<std::int64_t>(host().size()); }
  /// int32 [size], copied there when first asked for. Thread-safe.
  Tensor on(Device device) const;

 private:
  struct Copies;
  std::shared_ptr<Copies> copies_;
};

/// ids[places[0]], ids[places[1]], ...; the places themselves if the ids are undefined.
RowIds picked_ids(const RowIds& ids, const RowIds& places);

/// Rows of a feature that belong to the ids, which must be in range; all of them if the ids are undefined.
Tensor rows_at(const Tensor& feature, const RowIds& ids);

}  // namespace bough::mp
