#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bough/core/device.h"

namespace bough::test {

/// The CPU, and the first GPU where there is one.
inline std::vector<Device> all_devices() {
  std::vector<Device> devices{Device::cpu()};
  if (const Device gpu = Device::cuda_if_available(); !(gpu == Device::cpu())) devices.push_back(gpu);
  return devices;
}

inline std::string device_name(const testing::TestParamInfo<Device>& info) {
  return info.param.kind == Device::Kind::cpu ? "cpu" : "cuda";
}

/// Tests that run once a device. Derive a suite from it, write TEST_P, and instantiate with
/// INSTANTIATE_TEST_SUITE_P(EveryDevice, Suite, testing::ValuesIn(all_devices()), device_name).
class DeviceTest : public testing::TestWithParam<Device> {
 protected:
  Device device() const { return GetParam(); }
};

}  // namespace bough::test
