#include "tools/bench/against_copy.h"

#include <fmt/format.h>

#include "bough/core/tensor.h"

namespace bough::bench {

void AgainstCopy::run(const std::string& name, double passes, const std::function<void()>& call) const {
  const auto copied = static_cast<std::int64_t>(passes / 2 * rows);
  const Tensor from = zeros({copied, width});
  Tensor to = zeros({copied, width});
  const Times times = measure_both(options_, call, [&] { to.assign(from); });
  const double gigabytes = passes * static_cast<double>(rows * width * sizeof(float)) * 1e-9;
  report_({.case_name = name,
           .milliseconds = times.ours,
           .peer = "copy of as many bytes",
           .peer_milliseconds = times.peer,
           .note = fmt::format("{:.1f} GB/s", gigabytes / (times.ours * 1e-3))});
}

}  // namespace bough::bench
