#pragma once

#include <gtest/gtest.h>

#include "bough/autograd/autograd.h"
#include "bough/core/device.h"
#include "tests/support/compare.h"
#include "tests/support/random_tensor.h"
#include "tests/support/same_as_cpu.h"

namespace bough::test {

/// Tests that need a GPU. Without one every one of them says so by name and does nothing.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (Device::cuda_if_available() == Device::cpu()) GTEST_SKIP() << "skipped: no GPU";
  }
};

}  // namespace bough::test
