#include <fmt/format.h>

#include <algorithm>

#include "bough/autograd/autograd.h"
#include "bough/ops/matmul.h"
#include "tools/bench/benchmark.h"
#include "tools/bench/openblas.h"

namespace bough::bench {
namespace {

struct Product {
  const char* pass;
  std::int64_t m, n, k;
  MatmulOptions options;
};

/// A dense layer from k to n features over m rows: y = x w^T, and the two products of its backward pass.
std::vector<Product> products_of_layer(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {{"y", m, n, k, {.transpose_b = true}}, {"dx", m, k, n, {}}, {"dw", n, k, m, {.transpose_a = true}}};
}

}  // namespace

void run_gemm(const Options& options, const Report& report) {
  const NoGrad no_grad;
  const std::optional<OpenBlas> peer = OpenBlas::find();
  constexpr std::int64_t layers[][3] = {
      {8192, 512, 512}, {16384, 2048, 512}, {16384, 512, 2048}, {4096, 512, 128}, {2048, 128, 128}};
  for (const auto& [rows, out, in] : layers) {
    for (const Product& product : products_of_layer(rows, out, in)) {
      const auto [pass, m, n, k, transposes] = product;
      const Tensor a = randn(transposes.transpose_a ? Shape{k, m} : Shape{m, k});
      const Tensor b = randn(transposes.transpose_b ? Shape{n, k} : Shape{k, n});
      Tensor c = Tensor::empty({m, n});

      // Short products are repeated, so that the clock has something to measure.
      const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
      const int calls = std::clamp(static_cast<int>(1e9 / flops), 1, 100);
      const auto ours = [&] {
        for (int i = 0; i < calls; ++i) matmul(a, b, transposes);
      };
      const auto theirs = [&] {
        for (int i = 0; i < calls; ++i) {
          peer->multiply(m, n, k, {a.data<float>(), transposes.transpose_a}, {b.data<float>(), transposes.transpose_b},
                         c.data<float>());
        }
      };
      const Times times = peer ? measure_both_settled(options, ours, theirs) : Times{measure(options, ours), 0};
      const double milliseconds = times.ours / calls;
      report({.case_name = fmt::format("{} {}x{}x{}", pass, m, n, k),
              .milliseconds = milliseconds,
              .peer = peer ? peer->name() : "",
              .peer_milliseconds = times.peer / calls,
              .note = fmt::format("{:.0f} GFLOP/s{}", flops / milliseconds * 1e-6,
                                  peer ? "" : "; no threaded OpenBLAS found to compare with")});
    }
  }
}

}  // namespace bough::bench
