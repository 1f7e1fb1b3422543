#include <gtest/gtest.h>

#include "bough/core/device.h"
#include "bough/core/errors.h"
#include "kernels/attention/cuda/rows.h"
#include "tests/support/random_tensor.h"

namespace bough {
namespace {

TEST(NoGpu, KernelsSayWhatToDo) {
  if (!(Device::cuda_if_available() == Device::cpu())) GTEST_SKIP() << "skipped: there is a GPU";
  EXPECT_THROW(test::random_tensor({3}).to(Device::cuda()), DeviceError);
  AttentionInputs<float> in;
  in.heads = 1;
  EXPECT_THROW(attend_rows(Cuda{}, {.num_items = 1}, {}, in, AttentionOutputs<float>{}), DeviceError);
}

}  // namespace
}  // namespace bough
