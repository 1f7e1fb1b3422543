#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "bough/core/device.h"

/// What runs on GPUs: one place where every kernel that bough starts can be watched.
namespace bough {

/// What a kernel needs of a multiprocessor, and how many of its blocks fit on one at a time.
struct KernelResources {
  int registers = 0;                  ///< of a thread
  std::size_t local_bytes = 0;        ///< of a thread, in memory: spilled registers and indexed arrays
  int blocks_per_multiprocessor = 0;  ///< with the shared memory of the launch
  double occupancy = 0;               ///< threads of these blocks, of all that a multiprocessor can hold
};

/// One kernel that was started.
struct KernelLaunch {
  const char* kernel = "";                        ///< its name, a string literal
  Device device = Device::cuda();                 ///< where it runs
  std::int64_t blocks = 0;                        ///< of the launch
  int block_size = 0;                             ///< threads of a block
  std::size_t shared_bytes = 0;                   ///< of a block, as the launch asks for
  std::optional<double> milliseconds = {};        ///< with LaunchTraceOptions::timing
  std::optional<KernelResources> resources = {};  ///< with LaunchTraceOptions::resources, on a real GPU
};

/// "gspmm on cuda:0, 12 blocks of 128 threads with 0 bytes of shared memory each"
std::string to_string(const KernelLaunch& launch);

/// What a LaunchTrace finds out about each launch.
struct LaunchTraceOptions {
  /// How long each kernel takes, by events on its stream. Every launch then waits for the one before, so the whole
  /// takes longer; errors inside a kernel are reported by its own launch instead of a later call.
  bool timing = false;
  bool resources = false;  ///< registers, memory and occupancy of each kernel
};

/// While it lives, on_launch is called for every kernel of every thread, one call at a time. There can be one at a
/// time; ConfigError for a second. Nothing is measured and nothing costs time while there is none. Kernels of cuBLAS,
/// CUB and Thrust are started by these libraries and not seen here.
class LaunchTrace {
 public:
  /// Starts to listen.
  explicit LaunchTrace(std::function<void(const KernelLaunch&)> on_launch, LaunchTraceOptions options = {});
  ~LaunchTrace();
  LaunchTrace(const LaunchTrace&) = delete;
  LaunchTrace& operator=(const LaunchTrace&) = delete;

  /// Whether there is one now.
  static bool active() noexcept;
};

/// Adds up launches by kernel.
class LaunchSummary {
 public:
  /// Counts one launch.
  void add(const KernelLaunch& launch);
  /// A line for each kernel, those that took longest first: how often it was started, its time and share of it, blocks
  /// and threads of its largest launch, and what it needs of a multiprocessor. One sentence if there was none.
  std::string table() const;

 private:
  struct Line {
    std::int64_t launches = 0;
    double milliseconds = 0;
    KernelLaunch largest = {};
  };
  std::map<std::string, Line> lines_;
};

}  // namespace bough
