#include "kernels/mp/row_ids.h"

#include <map>
#include <mutex>

#include "kernels/ops/known_rows.h"

namespace bough::mp {

struct RowIds::Copies {
  std::vector<std::int32_t> host;
  std::mutex mutex;
  std::map<std::pair<Device::Kind, int>, Tensor> by_device;
};

RowIds::RowIds(std::vector<std::int32_t> ids) : copies_(std::make_shared<Copies>()) { copies_->host = std::move(ids); }

std::span<const std::int32_t> RowIds::host() const { return copies_->host; }

Tensor RowIds::on(Device device) const {
  const std::scoped_lock lock(copies_->mutex);
  Tensor& copy = copies_->by_device[{device.kind, device.index}];
  if (!copy.defined()) copy = Tensor::from_span<std::int32_t>(host(), {size()}, device);
  return copy;
}

RowIds picked_ids(const RowIds& ids, const RowIds& places) {
  if (!ids.defined()) return places;
  std::vector<std::int32_t> picked;
  picked.reserve(places.host().size());
  for (const std::int32_t place : places.host()) picked.push_back(ids.host()[static_cast<std::size_t>(place)]);
  return RowIds(std::move(picked));
}

Tensor rows_at(const Tensor& feature, const RowIds& ids) {
  return ids.defined() ? gather_known_rows(feature, ids.on(feature.device())) : feature;
}

}  // namespace bough::mp
