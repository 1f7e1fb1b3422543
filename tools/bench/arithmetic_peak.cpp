#include "tools/bench/arithmetic_peak.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tools/bench/benchmark.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tools/bench/arithmetic_peak.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bough::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Operations done; the sum goes to `result`, so that they cannot be left out.
double multiply_and_add(std::int64_t rounds, float* result) {
  constexpr std::int64_t chains = 12;  // two additions a cycle, four or five cycles each, with some to spare
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const V factor = hn::Set(d, 0.999f), addend = hn::Set(d, *result);
  V sums[chains];
  for (V& sum : sums) sum = hn::Zero(d);
  for (std::int64_t i = 0; i < rounds; ++i) {
    for (V& sum : sums) sum = hn::MulAdd(sum, factor, addend);
  }
  V total = hn::Zero(d);
  for (const V& sum : sums) total = hn::Add(total, sum);
  *result = hn::GetLane(hn::SumOfLanes(d, total));
  return 2.0 * static_cast<double>(rounds * chains) * static_cast<double>(hn::Lanes(d));
}

}  // namespace bough::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bough::bench {

HWY_EXPORT(multiply_and_add);

double arithmetic_peak() {
  constexpr std::int64_t rounds = 100'000;
  const std::int64_t tasks = 8 * num_threads();
  std::vector<float> results(static_cast<std::size_t>(tasks), 1);
  std::vector<double> operations(results.size());
  const double milliseconds = measure({.repeats = 7}, [&] {
    parallel_chunks(tasks, 1, [&](std::int64_t task, std::int64_t) {
      const auto i = static_cast<std::size_t>(task);
      operations[i] = HWY_DYNAMIC_DISPATCH(multiply_and_add)(rounds, &results[i]);
    });
  });
  return operations[0] * static_cast<double>(tasks) / milliseconds * 1e-6;
}

}  // namespace bough::bench
#endif
