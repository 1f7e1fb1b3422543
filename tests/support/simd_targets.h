#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <vector>

#include "bough/core/device.h"

namespace bough::test {

/// Calls f once for every instruction set that was built and that this machine has, with dispatch forced to it.
/// Whatever uses Highway in f runs on that one; the machine's best is chosen again afterwards.
template <typename F>
void on_every_simd_target(const F& f) {
  const auto force = [](std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().DeInit();
  };
  for (const std::int64_t target : std::vector<std::int64_t>(hwy::SupportedAndGeneratedTargets())) {
    SCOPED_TRACE(testing::Message() << "on " << hwy::TargetName(target));
    force(target);
    f();
    force(0);
  }
}

/// The same for an operation on a device: a GPU has one instruction set.
template <typename F>
void on_every_simd_target(Device device, const F& f) {
  if (device == Device::cpu()) {
    on_every_simd_target(f);
  } else {
    f();
  }
}

}  // namespace bough::test
