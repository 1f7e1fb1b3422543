#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bough/graph/graph_generator.h"
#include "tools/bench/benchmark.h"

namespace bough::bench {
namespace {

struct TreeCase {
  std::int64_t length;
  std::int64_t k;
  bool measures_memory = false;
};

Graph build(const TreeCase& one) {
  const auto generator = generators().make("bpt", {{"k", one.k}, {"alignment", "slot"}});
  Graph graph = generator->build({.length = one.length, .causal = true}).graph;
  graph.csc(EdgeIds::implied);
  graph.csr();
  return graph;
}

/// What one writes first: the definition as loops that push edges, then both formats with a counting sort each.
class PlainLoops {
 public:
  explicit PlainLoops(const TreeCase& one) {
    std::vector<std::int64_t> first{0};
    for (std::int64_t size = one.length; size > 1; size = (size + 1) / 2) first.push_back(first.back() + size);
    const auto node = [&](std::int64_t level, std::int64_t index) {
      return first[static_cast<std::size_t>(level)] + index;
    };
    for (std::int64_t token = 0; token < one.length; ++token) {
      push(token, token, 0);
      std::int64_t level = 0;
      std::int64_t taken = 0;
      for (std::int64_t p = token - 1; p >= 0; ++level) {
        for (std::int64_t j = taken; j < one.k && p >= 0; ++j, --p)
          push(node(level, p), token, (2 * one.k + 1) * level + 2 * j + 1);
        taken = 0;
        if (p >= 0 && p % 2 == 0) {
          push(node(level, p--), token, (2 * one.k + 1) * (level + 1) + 1);
          taken = 1;
        }
        p = p < 0 ? -1 : p / 2;
      }
      for (std::size_t up = 1; up < first.size(); ++up) {
        push(token, first[up] + (token >> up), (2 * one.k + 1) * static_cast<std::int64_t>(up));
      }
    }
    by_destination_ = group(dst_, src_, first.back() + 1);
    by_source_ = group(src_, dst_, first.back() + 1);
  }

 private:
  struct Rows {
    std::vector<std::int64_t> offsets;
    std::vector<std::int32_t> others, edges;
  };

  void push(std::int64_t src, std::int64_t dst, std::int64_t relation) {
    src_.push_back(static_cast<std::int32_t>(src));
    dst_.push_back(static_cast<std::int32_t>(dst));
    relations_.push_back(static_cast<std::int32_t>(relation));
  }

  static Rows group(const std::vector<std::int32_t>& keys, const std::vector<std::int32_t>& others,
                    std::int64_t count) {
    Rows rows{std::vector<std::int64_t>(static_cast<std::size_t>(count) + 2), std::vector<std::int32_t>(keys.size()),
              std::vector<std::int32_t>(keys.size())};
    for (const std::int32_t key : keys) ++rows.offsets[static_cast<std::size_t>(key) + 2];
    for (std::size_t i = 2; i < rows.offsets.size(); ++i) rows.offsets[i] += rows.offsets[i - 1];
    for (std::size_t e = 0; e < keys.size(); ++e) {
      const auto at = static_cast<std::size_t>(rows.offsets[static_cast<std::size_t>(keys[e]) + 1]++);
      rows.others[at] = others[e];
      rows.edges[at] = static_cast<std::int32_t>(e);
    }
    return rows;
  }

  std::vector<std::int32_t> src_, dst_, relations_;
  Rows by_destination_, by_source_;
};

std::int64_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::strtoll(line.c_str() + field.size(), nullptr, 10) * 1024;
  }
  return 0;
}

/// Bytes of memory that a build needs at its peak, where the system tells.
std::optional<std::int64_t> peak_bytes(const TreeCase& one) {
  if (!(std::ofstream("/proc/self/clear_refs") << "5").flush()) return {};  // restarts VmHWM
  const std::int64_t before = status_bytes("VmRSS:");
  build(one);
  const std::int64_t peak = status_bytes("VmHWM:");
  if (before == 0 || peak == 0) return {};
  return peak - before;
}

void report_case(const TreeCase& one, const Options& options, const Report& report) {
  std::string note;
  std::optional<std::int64_t> peak;
  if (one.measures_memory) peak = peak_bytes(one);
  const auto edges = static_cast<double>(build(one).num_edges());
  const Times times = measure_both(
      options, [&] { build(one); }, [&] { PlainLoops loops(one); });
  note = fmt::format("{:.2f}M edges, {:.0f} million a second, {:.2f} ns an edge", edges / 1e6, edges / times.ours / 1e3,
                     times.ours * 1e6 / edges);
  if (peak) note += fmt::format(", {:.1f} bytes an edge at the peak", static_cast<double>(*peak) / edges);
  report({.case_name = fmt::format("n={} k={}", one.length, one.k),
          .milliseconds = times.ours,
          .peer = "plain loops",
          .peer_milliseconds = times.peer,
          .note = note});
}

}  // namespace

void run_graph_build(const Options& options, const Report& report) {
  report_case({.length = 8192, .k = 64}, options, report);
  for (const std::int64_t length : {1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18}) {
    report_case({.length = length, .k = 4}, options, report);
  }
  const Options few{.repeats = std::min(options.repeats, 3)};
  report_case({.length = 1 << 20, .k = 4, .measures_memory = true}, few, report);
}

}  // namespace bough::bench
