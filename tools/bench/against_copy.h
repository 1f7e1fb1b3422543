#pragma once

#include <functional>
#include <string>

#include "tools/bench/benchmark.h"

namespace bough::bench {

/// For operations that compute little: what they can reach is a copy of as many bytes as they must read and write.
class AgainstCopy {
 public:
  /// The size of the tensor they work on, float32.
  static constexpr std::int64_t rows = 16384, width = 512;

  AgainstCopy(const Options& options, const Report& report) : options_(options), report_(report) {}

  /// `passes`: how often memory of the size of the [rows, width] input is read or written at least.
  void run(const std::string& name, double passes, const std::function<void()>& call) const;

 private:
  const Options& options_;
  const Report& report_;
};

}  // namespace bough::bench
