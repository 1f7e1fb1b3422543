#include "bough/core/version.h"

#include <hwy/targets.h>

#include <bit>

#include "src/core/cuda_device.h"

namespace bough {
namespace {

/// Highway numbers instruction sets so that a better one has a lower bit, and runs the best that is built and
/// supported.
const char* instruction_set() {
  const auto usable = static_cast<std::uint64_t>(hwy::SupportedTargets() & HWY_TARGETS);
  return usable == 0 ? "unknown" : hwy::TargetName(std::int64_t{1} << std::countr_zero(usable));
}

}  // namespace

BuildInformation build_information() {
  return {.version = BOUGH_VERSION,
          .compiler = BOUGH_COMPILER,
          .build_type = BOUGH_BUILD_TYPE,
          .instruction_set = instruction_set(),
          .has_cuda = built_with_cuda(),
          .cuda_devices = cuda_device_count()};
}

}  // namespace bough
