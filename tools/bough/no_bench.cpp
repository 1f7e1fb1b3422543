#include "bough/core/errors.h"
#include "tools/bough/commands.h"

/// Stands for bench.cpp in builds without benchmarks.
namespace bough::cli {

bool has_benchmarks() { return false; }
void run_bench(const BenchCommand&) { throw ConfigError("bench", "this build has no benchmarks"); }

}  // namespace bough::cli
