#pragma once

#include <fstream>
#include <string>

#include "bough/core/launch_trace.h"

namespace bough::cli {

/// Writes every kernel that is launched on a GPU while it lives to a file, one JSON object a line.
class KernelTrace {
 public:
  /// IoError if the file cannot be written.
  explicit KernelTrace(const std::string& path);

  /// All of them, added up by kernel. IoError if the file could not be written to its end.
  std::string summary();

 private:
  void write(const KernelLaunch& launch);

  std::string path_;
  std::ofstream file_;
  LaunchSummary summary_;
  LaunchTrace trace_;
};

}  // namespace bough::cli
