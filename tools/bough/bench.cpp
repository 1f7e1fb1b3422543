#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bough/core/device.h"
#include "bough/core/errors.h"
#include "src/core/nearest_name.h"
#include "tools/bench/benchmark.h"
#include "tools/bough/commands.h"

namespace bough::cli {
namespace {

const bench::Benchmark& benchmark_named(const std::string& name) {
  const auto& all = bench::benchmarks();
  const auto found = std::ranges::find(all, name, &bench::Benchmark::name);
  if (found != all.end()) return *found;
  std::vector<std::string> known;
  for (const bench::Benchmark& benchmark : all) known.push_back(benchmark.name);
  const std::string nearest = nearest_name(name, known);
  throw ConfigError("bench", fmt::format("there is no benchmark '{}'{}; known are {}", name,
                                         nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest),
                                         fmt::join(known, ", ")));
}

void print_list() {
  std::size_t width = 0;
  for (const bench::Benchmark& benchmark : bench::benchmarks()) width = std::max(width, benchmark.name.size());
  for (const bench::Benchmark& benchmark : bench::benchmarks()) {
    fmt::print("{:<{}}  {}\n", benchmark.name, width, benchmark.description);
  }
}

/// Ratio: how many times faster than the peer.
double ratio_of(const bench::Result& result) { return result.peer_milliseconds / result.milliseconds; }

void print_json_line(const std::string& name, const bench::Result& result) {
  nlohmann::ordered_json line = {{"name", name}, {"case", result.case_name}, {"milliseconds", result.milliseconds}};
  if (!result.peer.empty()) {
    line["peer"] = result.peer;
    line["peer_milliseconds"] = result.peer_milliseconds;
    line["ratio"] = ratio_of(result);
  }
  for (const auto& [figure, value] : result.figures) line[figure] = value;
  if (!result.note.empty()) line["note"] = result.note;
  fmt::print("{}\n", line.dump());
}

void print_row(const bench::Result& result) {
  std::string row = fmt::format("{:<32}{:>12.4f} ms", result.case_name, result.milliseconds);
  if (!result.peer.empty()) {
    row += fmt::format("{:>12.4f} ms {:<16}{:>8.2f}x", result.peer_milliseconds, result.peer, ratio_of(result));
  }
  if (!result.note.empty()) row += "  " + result.note;
  fmt::print("{}\n", row);
}

/// Bounds for a GPU are the only thing that is not about this machine's processor.
void require_device(const BenchCommand& command, const bench::Benchmark& benchmark) {
  if (parse_device(command.device).kind == Device::Kind::cpu) {
    if (command.measuring.gpu.empty()) return;
    throw ConfigError("bench", "--model is for --device cuda");
  }
  if (!benchmark.models_gpus || command.measuring.gpu.empty()) {
    throw ConfigError("bench", fmt::format("'{}' does not measure on GPUs; 'attention --device cuda --model A100' says "
                                           "what one could reach",
                                           benchmark.name));
  }
}

}  // namespace

bool has_benchmarks() { return true; }

void run_bench(const BenchCommand& command) {
  if (command.name.empty()) return print_list();
  const bench::Benchmark& benchmark = benchmark_named(command.name);
  require_device(command, benchmark);
  std::vector<std::string> left_out;
  bool any = false;
  benchmark.run(command.measuring, [&](const bench::Result& result) {
    if (!bench::selected(command.measuring, result.case_name)) return left_out.push_back(result.case_name);
    any = true;
    command.json ? print_json_line(benchmark.name, result) : print_row(result);
    std::fflush(stdout);
  });
  if (any) return;
  throw ConfigError("bench",
                    fmt::format("no case of '{}' begins with '{}'{}", benchmark.name, command.measuring.only,
                                left_out.empty() ? "" : fmt::format("; some are {}", fmt::join(left_out, ", "))));
}

}  // namespace bough::cli
