#include "bough/graph/ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bough/core/errors.h"
#include "bough/core/tensor.h"

namespace bough {

IdArray::IdArray(std::vector<std::int32_t>&& ids) {
  if (ids.empty()) return;
  auto owner = std::make_shared<const std::vector<std::int32_t>>(std::move(ids));
  values_ = *owner;
  owner_ = std::move(owner);
}

IdArray::IdArray(IdBuffer&& ids) {
  if (ids.size() == 0) return;
  values_ = std::as_const(ids).span();
  owner_ = std::shared_ptr<const std::int32_t[]>(std::move(ids.data_));
  ids.size_ = 0;
}

IdArray::IdArray(std::span<const std::int32_t> ids) {
  IdBuffer copy(static_cast<std::int64_t>(ids.size()));
  std::copy(ids.begin(), ids.end(), copy.data());
  *this = IdArray(std::move(copy));
}

IdArray::IdArray(std::span<const std::int64_t> ids) {
  IdBuffer copy(static_cast<std::int64_t>(ids.size()));
  std::int32_t* to = copy.data();
  bool fits = true;
  for (const std::int64_t id : ids) {
    *to = static_cast<std::int32_t>(id);
    fits &= *to++ == id;
  }
  if (!fits) {
    const auto bad =
        std::find_if(ids.begin(), ids.end(), [](std::int64_t id) { return id != static_cast<std::int32_t>(id); });
    throw GraphError("ids", fmt::format("id {} at position {} does not fit in 32 bits; ids go from 0 to {}", *bad,
                                        bad - ids.begin(), std::numeric_limits<std::int32_t>::max()));
  }
  *this = IdArray(std::move(copy));
}

IdArray::IdArray(const Tensor& ids) {
  if (ids.rank() != 1) {
    throw ShapeError("ids", fmt::format("a tensor of ids needs one axis, this one is {}; reshape({{-1}}) flattens it",
                                        to_string(ids.shape())));
  }
  if (!is_integer(ids.dtype())) {
    throw TypeError("ids",
                    fmt::format("a tensor of ids holds int32 or int64, not {}; cast() converts", name_of(ids.dtype())));
  }
  const Tensor here = ids.detach().to(Device::cpu());
  *this = here.dtype() == DType::int32 ? IdArray(here.span<std::int32_t>()) : IdArray(here.span<std::int64_t>());
}

}  // namespace bough
