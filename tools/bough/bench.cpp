#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "bough/core/device.h"
#include "bough/core/errors.h"
#include "src/core/nearest_name.h"
#include "tools/bench/benchmark.h"
#include "tools/bough/commands.h"

namespace bough::cli {
namespace {

struct BenchOptions {
  std::string name;
  bool json = false;
  std::string device = "cpu";
  bench::Options measuring;
};

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
  for (const bench::Benchmark& benchmark : bench::benchmarks()) {
    fmt::print("{:<18}{}\n", benchmark.name, benchmark.description);
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
void require_device(const BenchOptions& options, const bench::Benchmark& benchmark) {
  if (parse_device(options.device).kind == Device::Kind::cpu) {
    if (options.measuring.gpu.empty()) return;
    throw ConfigError("bench", "--model is for --device cuda");
  }
  if (!benchmark.models_gpus || options.measuring.gpu.empty()) {
    throw ConfigError("bench", fmt::format("'{}' does not measure on GPUs; 'attention --device cuda --model A100' says "
                                           "what one could reach",
                                           benchmark.name));
  }
}

void run_bench(const BenchOptions& options) {
  if (options.name.empty()) return print_list();
  const bench::Benchmark& benchmark = benchmark_named(options.name);
  require_device(options, benchmark);
  benchmark.run(options.measuring, [&](const bench::Result& result) {
    if (!bench::selected(options.measuring, result.case_name)) return;
    options.json ? print_json_line(benchmark.name, result) : print_row(result);
    std::fflush(stdout);
  });
}

}  // namespace

void add_bench_command(Commands& commands) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App& command =
      commands.add("bench", "Measure bough against a peer in the same run", [options] { run_bench(*options); });
  command.add_option("name", options->name, "Which benchmark; without a name they are listed")->type_name("NAME");
  command.add_flag("--json", options->json, "One JSON object per line");
  command.add_option("--only", options->measuring.only, "Report only cases whose name begins with this")
      ->type_name("PREFIX");
  command.add_option("--device", options->device, "cpu; or cuda, with --model")->type_name("DEVICE");
  command
      .add_option("--model", options->measuring.gpu,
                  "Instead of measuring, the least time that this GPU needs: A100 or H100 (attention only)")
      ->type_name("GPU");
  command.add_option("--repeats", options->measuring.repeats, "Timed calls of each case; the median counts")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000).description(""))
      ->capture_default_str();
}

}  // namespace bough::cli
