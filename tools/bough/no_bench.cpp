#include "tools/bough/commands.h"

namespace bough::cli {

// Stands for bench.cpp in builds without benchmarks: the command does not exist there.
void add_bench_command(Commands&) {}

}  // namespace bough::cli
