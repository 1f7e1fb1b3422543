#include "tools/bough/kernel_trace.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bough/core/errors.h"

namespace bough::cli {

KernelTrace::KernelTrace(const std::string& path)
    : path_(path),
      file_(path),
      trace_([this](const KernelLaunch& launch) { write(launch); }, {.timing = true, .resources = true}) {
  if (!file_) throw IoError("--trace-kernels", fmt::format("'{}' cannot be written", path));
}

void KernelTrace::write(const KernelLaunch& launch) {
  nlohmann::ordered_json line = {{"kernel", launch.kernel},
                                 {"device", to_string(launch.device)},
                                 {"blocks", launch.blocks},
                                 {"block_size", launch.block_size},
                                 {"shared_bytes", launch.shared_bytes}};
  if (launch.milliseconds) line["milliseconds"] = *launch.milliseconds;
  if (const auto& needs = launch.resources) {
    line["registers"] = needs->registers;
    line["local_bytes"] = needs->local_bytes;
    line["blocks_per_multiprocessor"] = needs->blocks_per_multiprocessor;
    line["occupancy"] = needs->occupancy;
  }
  file_ << line.dump() << '\n';
  summary_.add(launch);
}

std::string KernelTrace::summary() {
  file_.flush();
  if (!file_) throw IoError("--trace-kernels", fmt::format("'{}' could not be written to its end", path_));
  return summary_.table();
}

}  // namespace bough::cli
