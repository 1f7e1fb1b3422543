#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "bough/core/device.h"
#include "tests/support/gradient.h"
#include "tests/support/same_as_cpu.h"

namespace bough {

/// How the names of tests show it.
inline void PrintTo(const Device& device, std::ostream* out) { *out << to_string(device); }

}  // namespace bough

namespace bough::test {

/// The CPU and the first GPU. Without one, tests on it are skipped by name.
inline constexpr Device every_device[] = {Device::cpu(), Device::cuda()};

/// Where the arguments of a function are, for what it uses besides them.
inline Device device_of(const std::vector<Tensor>& inputs) { return inputs.front().device(); }

/// A test that runs once a device. Use DeviceTest or DeviceCaseTest.
class TestOnDevice : public testing::Test {
 protected:
  virtual Device device() const = 0;
  bool on_cpu() const { return device() == Device::cpu(); }

  void SetUp() override {
    if (!on_cpu() && Device::cuda_if_available() == Device::cpu()) GTEST_SKIP() << "skipped: no GPU";
  }

  /// The tensor on the device of the test; undefined ones stay so.
  Tensor here(const Tensor& tensor) const { return tensor.defined() ? tensor.to(device()) : tensor; }

  /// How many elements a case may have: an emulated GPU takes a microsecond for each.
  std::int64_t most_elements() const { return on_cpu() ? std::numeric_limits<std::int64_t>::max() : 12'000; }

  /// On the CPU against finite differences, elsewhere result and gradients against the CPU's. f gets its inputs on the
  /// device that they are compared on; whatever else it uses must be there too.
  void expect_gradient(const Function& f, const std::vector<Tensor>& inputs, const GradcheckOptions& options = {},
                       std::source_location where = std::source_location::current()) const {
    if (on_cpu()) {
      test::expect_gradient(f, inputs, options, where);
    } else {
      expect_same_as_cpu(inputs, f, where);
    }
  }
};

/// Derive a suite from it, write TEST_P, and instantiate with
/// INSTANTIATE_TEST_SUITE_P(EveryDevice, Suite, testing::ValuesIn(every_device), device_name).
class DeviceTest : public TestOnDevice, public testing::WithParamInterface<Device> {
 protected:
  Device device() const override { return GetParam(); }
};

inline std::string device_name(const testing::TestParamInfo<Device>& info) {
  return info.param == Device::cpu() ? "cpu" : "cuda";
}

/// The same for a suite that runs over cases, each of which has a name.
/// INSTANTIATE_TEST_SUITE_P(EveryDevice, Suite, every_device_with(cases), case_and_device<Case>).
template <typename Case>
class DeviceCaseTest : public TestOnDevice, public testing::WithParamInterface<std::tuple<Case, Device>> {
 protected:
  Device device() const override { return std::get<Device>(this->GetParam()); }
  static const Case& each() {
    return std::get<Case>(testing::WithParamInterface<std::tuple<Case, Device>>::GetParam());
  }
};

template <typename Cases>
auto every_device_with(const Cases& cases) {
  return testing::Combine(testing::ValuesIn(cases), testing::ValuesIn(every_device));
}

template <typename Case>
std::string case_and_device(const testing::TestParamInfo<std::tuple<Case, Device>>& info) {
  const auto& [each, device] = info.param;
  return std::string(each.name) + (device == Device::cpu() ? "_cpu" : "_cuda");
}

}  // namespace bough::test
