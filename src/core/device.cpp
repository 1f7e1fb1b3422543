#include "bough/core/device.h"

#include <charconv>

#include "bough/core/errors.h"
#include "src/core/cuda_device.h"

namespace bough {

Device Device::cuda_if_available() { return cuda_device_count() > 0 ? cuda() : cpu(); }

std::string to_string(Device device) {
  return device.kind == Device::Kind::cpu ? "cpu" : "cuda:" + std::to_string(device.index);
}

Device parse_device(const std::string& text) {
  if (text == "cpu") return Device::cpu();
  if (text == "cuda") return Device::cuda();
  constexpr std::string_view prefix = "cuda:";
  if (text.starts_with(prefix)) {
    int index = -1;
    const auto [end, error] = std::from_chars(text.data() + prefix.size(), text.data() + text.size(), index);
    if (error == std::errc() && end == text.data() + text.size() && index >= 0) return Device::cuda(index);
  }
  throw ConfigError("device", "must be cpu, cuda or cuda:N, not '" + text + "'");
}

}  // namespace bough
