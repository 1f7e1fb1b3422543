#include "bough/graph/ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bough/core/errors.h"

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

}  // namespace bough
