#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "bough/core/errors.h"
#include "bough/core/parallel.h"
#include "bough/core/random.h"
#include "bough/tasks/translation_scores.h"

namespace bough {
namespace {

/// Sums of counts over one resample, the same segments of both systems.
class Resample {
 public:
  Resample(const SegmentCounts& system, const SegmentCounts& baseline)
      : system_(system),
        baseline_(baseline),
        width_(static_cast<std::size_t>(system.width)),
        system_totals_(width_),
        baseline_totals_(width_) {}

  void draw(RandomStream random) {
    std::ranges::fill(system_totals_, 0);
    std::ranges::fill(baseline_totals_, 0);
    const auto segments = static_cast<std::uint64_t>(system_.num_segments());
    for (std::uint64_t i = 0; i < segments; i += 4) {
      const std::array<std::uint32_t, 4> numbers = random.block(i / 4);
      for (std::uint64_t j = 0; j < std::min<std::uint64_t>(4, segments - i); ++j) {
        add((numbers[j] * segments) >> 32);  // uniform to one part in 2^32 / segments
      }
    }
  }
  std::span<const std::int64_t> system_totals() const { return system_totals_; }
  std::span<const std::int64_t> baseline_totals() const { return baseline_totals_; }

 private:
  void add(std::uint64_t segment) {
    const std::size_t begin = segment * width_;
    for (std::size_t i = 0; i < width_; ++i) {
      system_totals_[i] += system_.counts[begin + i];
      baseline_totals_[i] += baseline_.counts[begin + i];
    }
  }

  const SegmentCounts &system_, &baseline_;
  std::size_t width_;
  std::vector<std::int64_t> system_totals_, baseline_totals_;
};

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

ScoreEstimate estimate(double score, std::vector<double> resampled) {
  std::ranges::sort(resampled);
  const std::size_t outside = resampled.size() / 40;  // 2.5% at either end
  return {.score = score,
          .mean = mean_of(resampled),
          .low = resampled[outside],
          .high = resampled[resampled.size() - 1 - outside]};
}

double p_value(double difference, std::vector<double> resampled) {
  // Equal outputs: no resample says anything, though none exceeds a difference of 0 either.
  if (std::ranges::all_of(resampled, [](double value) { return value == 0; })) return 1;
  for (double& value : resampled) value = std::abs(value);
  const double mean = mean_of(resampled);
  const auto beyond =
      std::ranges::count_if(resampled, [&](double value) { return value - mean > std::abs(difference); });
  return static_cast<double>(beyond + 1) / static_cast<double>(resampled.size() + 1);
}

void check_counts(const TranslationMetric& metric, const SegmentCounts& system, const SegmentCounts& baseline,
                  const BootstrapOptions& options) {
  for (const SegmentCounts* counts : {&system, &baseline}) {
    if (counts->width != metric.width() || std::ssize(counts->counts) % metric.width() != 0) {
      throw ConfigError("bootstrap", fmt::format("counts must be those of {}, {} numbers a segment, not {}",
                                                 metric.name(), metric.width(), counts->width));
    }
  }
  if (system.num_segments() != baseline.num_segments()) {
    throw ConfigError("bootstrap", fmt::format("both systems must have translated the same, one has {} segments and "
                                               "the other {}",
                                               system.num_segments(), baseline.num_segments()));
  }
  if (system.num_segments() == 0) throw ConfigError("bootstrap", "there are no segments to draw from");
  if (options.samples < 1) {
    throw ConfigError("bootstrap", fmt::format("there must be at least one sample, not {}", options.samples));
  }
}

}  // namespace

PairedBootstrap paired_bootstrap(const TranslationMetric& metric, const SegmentCounts& system,
                                 const SegmentCounts& baseline, const BootstrapOptions& options) {
  check_counts(metric, system, baseline, options);
  const auto samples = static_cast<std::size_t>(options.samples);
  std::vector<double> of_system(samples), of_baseline(samples), differences(samples);
  parallel_chunks(options.samples, rows_per_chunk(std::ssize(system.counts)),
                  [&](std::int64_t begin, std::int64_t end) {
                    Resample resample(system, baseline);
                    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
                      resample.draw({.seed = options.seed, .stream = i});
                      of_system[i] = metric.score(resample.system_totals());
                      of_baseline[i] = metric.score(resample.baseline_totals());
                      differences[i] = of_system[i] - of_baseline[i];
                    }
                  });
  const double system_score = metric.score(system.totals()), baseline_score = metric.score(baseline.totals());
  const double difference = system_score - baseline_score;
  return {.system = estimate(system_score, std::move(of_system)),
          .baseline = estimate(baseline_score, std::move(of_baseline)),
          .difference = estimate(difference, differences),
          .p_value = p_value(difference, differences)};
}

}  // namespace bough
