#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "bough/autograd/autograd.h"
#include "bough/ops/activation.h"
#include "bough/ops/arithmetic.h"
#include "bough/ops/compare.h"
#include "bough/ops/reduce.h"
#include "tools/bench/against_copy.h"

namespace bough::bench {
namespace {

/// An elementary function against a plain loop over the standard library's, on as many threads.
template <typename F>
void against_library(const Options& options, const Report& report, const std::string& name, const Tensor& x,
                     Tensor (*operation)(const Tensor&), const F& library) {
  Tensor y = empty_like(x);
  const float* in = x.data<float>();
  float* out = y.data<float>();
  const Times times = measure_both(
      options, [&] { operation(x); },
      [&] {
        parallel_chunks(x.elements(), 1 << 15, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) out[i] = library(in[i]);
        });
      });
  report({.case_name = name,
          .milliseconds = times.ours,
          .peer = "loop over <cmath>",
          .peer_milliseconds = times.peer,
          .note = fmt::format("{:.2f} ns an element", times.ours * 1e6 / static_cast<double>(x.elements()))});
}

}  // namespace

void run_elementwise(const Options& options, const Report& report) {
  const NoGrad no_grad;
  constexpr std::int64_t rows = AgainstCopy::rows, width = AgainstCopy::width;
  const AgainstCopy bench(options, report);
  const Tensor a = randn({rows, width}), b = randn({rows, width}), row = randn({width}), column = randn({rows, 1});
  const Tensor narrow = a.reshape({rows * width / 8, 8}), narrow_column = randn({rows * width / 8, 1});
  const Tensor mask = greater(a, 0);

  bench.run("add", 3, [&] { add(a, b); });
  bench.run("add a number", 2, [&] { add(a, 1.5); });
  bench.run("add a row to all", 2, [&] { add(a, row); });
  bench.run("mul by a column", 2, [&] { mul(a, column); });
  bench.run("mul rows of 8 by a column", 2.125, [&] { mul(narrow, narrow_column); });
  bench.run("greater", 1.25, [&] { greater(a, 0); });
  bench.run("where", 3.25, [&] { where(mask, a, b); });
  bench.run("relu", 2, [&] { relu(a); });
  bench.run("sum", 1, [&] { sum(a); });
  bench.run("sum over rows", 1, [&] { sum(a, 0); });
  bench.run("sum over columns", 1, [&] { sum(a, 1); });
  bench.run("sum over 8 columns", 1.125, [&] { sum(narrow, 1); });
  bench.run("max", 1, [&] { max(a); });
  bench.run("argmax over columns", 1, [&] { argmax(a, 1); });

  const auto library = [&](const std::string& name, const Tensor& x, Tensor (*operation)(const Tensor&), auto f) {
    against_library(options, report, name, x, operation, f);
  };
  library("exp", a, exp, [](float x) { return std::exp(x); });
  library("log", abs(a), log, [](float x) { return std::log(x); });
  library("tanh", a, tanh, [](float x) { return std::tanh(x); });
  library("sigmoid", a, sigmoid, [](float x) { return 1 / (1 + std::exp(-x)); });
  library(
      "gelu", a, [](const Tensor& x) { return gelu(x); },
      [](float x) { return 0.5f * x * (1 + std::erf(x * std::numbers::sqrt2_v<float> / 2)); });
}

}  // namespace bough::bench
