#pragma once

#include <string>

#include "bough/graph/graph.h"
#include "tools/bench/benchmark.h"

namespace bough::bench {

/// What a GPU can do at most, by its maker's data sheet.
struct GpuModel {
  std::string name;
  double memory_bandwidth = 0;   ///< bytes a second
  double cache_bandwidth = 0;    ///< bytes a second from the second-level cache
  double arithmetic = 0;         ///< multiplications and additions a second, float without tensor cores
  double tensor_arithmetic = 0;  ///< the same of bfloat16 by tensor cores, matrices without zeros left out
};

/// ConfigError that names the known ones.
const GpuModel& gpu_model(const std::string& name);

/// One graph's attention: for each kernel the least time that the GPU needs for what it reads, writes and computes, and
/// what limits it, with tensors of float32 and of bfloat16 (without the casts that round gradients of keys and values
/// at the end). Nothing is measured; the first run on hardware is to be compared with this.
void report_attention_bounds(const GpuModel& gpu, const std::string& pattern, const Graph& graph, bool relations,
                             const Report& report);

}  // namespace bough::bench
