#include "bough/core/version.h"

#include <hwy/targets.h>

#include <bit>

#include "src/core/cuda_device.h"

namespace bough {
namespace {

/// Highway numbers instruction sets so that a better one has a lower bit, and runs the best that is built and
/// supported. What it calls AVX3, AVX3_DL and so on is AVX-512 to everyone else.
std::string instruction_set() {
  const auto usable = static_cast<std::uint64_t>(hwy::SupportedTargets() & HWY_TARGETS);
  if (usable == 0) return "unknown";
  const std::string name = hwy::TargetName(std::int64_t{1} << std::countr_zero(usable));
  return name.starts_with("AVX3") ? "AVX-512" : name;
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
