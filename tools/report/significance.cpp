#include "tools/report/significance.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <ranges>

#include "bough/core/errors.h"
#include "bough/core/random.h"

/// The only file that knows Boost.Math, which takes long to compile.
namespace bough::report {
namespace {

using Values = std::span<const double>;
using StudentsT = boost::math::students_t;

constexpr double level_of_intervals = 0.05;
constexpr double wanted_power = 0.8;
/// Relative to the values; what is smaller comes from rounding.
constexpr double rounding = 1e-14;

double mean_of(Values values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double variance_of(Values values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares / static_cast<double>(values.size() - 1);
}

/// The measurements in units of the largest, so that no square overflows; of pairs their differences alone.
struct Samples {
  double unit = 1;
  std::vector<double> one, other;  ///< other is empty for pairs

  bool paired() const { return other.empty(); }
};

Samples samples_of(Values one, Values other, Pairing pairing) {
  if (one.size() < 2 || other.size() < 2) {
    throw ShapeError("t_test",
                     fmt::format("{} and {} values: a test needs at least two of each", one.size(), other.size()));
  }
  const bool paired = pairing == Pairing::paired;
  if (paired && one.size() != other.size()) {
    throw ShapeError("t_test", fmt::format("{} and {} values cannot be paired", one.size(), other.size()));
  }
  Samples samples{.unit = 0, .one = {one.begin(), one.end()}, .other = {other.begin(), other.end()}};
  for (const Values values : {one, other}) {
    for (const double value : values) samples.unit = std::max(samples.unit, std::abs(value));
  }
  if (samples.unit == 0) samples.unit = 1;
  for (double& value : samples.one) value /= samples.unit;
  for (double& value : samples.other) value /= samples.unit;
  if (paired) {
    for (std::size_t i = 0; i < one.size(); ++i) samples.one[i] -= samples.other[i];
    samples.other.clear();
  }
  return samples;
}

double difference_of(const Samples& samples) {
  const double difference = mean_of(samples.one) - (samples.paired() ? 0 : mean_of(samples.other));
  return std::abs(difference) > rounding ? difference : 0;
}

/// What a t-test divides by, and how well it is known.
struct Scatter {
  double standard_error = 0, degrees_of_freedom = 0;
};

/// Of the difference of the means of so many measurements of each with these variances, by Welch and Satterthwaite;
/// pairs have no variance of another.
Scatter scatter_of(double variance, double count, double other_variance, double other_count) {
  const double part = variance / count, other_part = other_variance / other_count;
  const double sum = part + other_part;
  if (std::sqrt(sum) <= rounding) return {.standard_error = 0, .degrees_of_freedom = count - 1};
  const double share = part / sum, other_share = other_part / sum;
  const double inverse = share * share / (count - 1) + other_share * other_share / (other_count - 1);
  return {.standard_error = std::sqrt(sum), .degrees_of_freedom = 1 / inverse};
}

Scatter scatter_of(const Samples& samples) {
  const auto count = static_cast<double>(samples.one.size());
  if (samples.paired()) return scatter_of(variance_of(samples.one), count, 0, count);
  return scatter_of(variance_of(samples.one), count, variance_of(samples.other),
                    static_cast<double>(samples.other.size()));
}

/// What |t| must exceed.
double critical(double level, double degrees_of_freedom) {
  return quantile(complement(StudentsT(degrees_of_freedom), level / 2));
}

/// The probability that a test finds this difference, in either direction.
double power_of(double difference, Scatter scatter, double level) {
  const double bound = critical(level, scatter.degrees_of_freedom);
  const double noncentrality = std::abs(difference) / scatter.standard_error;
  if (noncentrality > 4 * bound + 40) return 1;  // certain, and beyond what the series below converges for
  const boost::math::non_central_t distribution(scatter.degrees_of_freedom, noncentrality);
  return cdf(complement(distribution, bound)) + cdf(distribution, -bound);
}

/// Index below size from 32 random bits.
std::size_t index_below(std::size_t size, std::uint32_t bits) {
  return static_cast<std::size_t>((std::uint64_t{bits} * size) >> 32);
}

double resampled_mean(Values values, RandomStream random, std::uint64_t& drawn) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[index_below(values.size(), random(drawn++))];
  return sum / static_cast<double>(values.size());
}

/// Between the two nearest of sorted values.
double percentile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

}  // namespace

TTest t_test(Values one, Values other, Pairing pairing) {
  const Samples samples = samples_of(one, other, pairing);
  const double difference = difference_of(samples);
  const Scatter scatter = scatter_of(samples);
  TTest result{.difference = difference * samples.unit,
               .standard_error = scatter.standard_error * samples.unit,
               .degrees_of_freedom = scatter.degrees_of_freedom,
               .p = difference == 0 ? 1.0 : 0.0,
               .interval = {}};
  double reach = 0;
  if (scatter.standard_error > 0) {
    const double t = std::abs(difference) / scatter.standard_error;
    result.p = std::min(1.0, 2 * cdf(complement(StudentsT(scatter.degrees_of_freedom), t)));
    reach = critical(level_of_intervals, scatter.degrees_of_freedom) * scatter.standard_error;
  }
  result.interval = {(difference - reach) * samples.unit, (difference + reach) * samples.unit};
  return result;
}

Interval bootstrap_interval(Values one, Values other, Pairing pairing) {
  constexpr std::uint64_t resamples = 9999;
  const Samples samples = samples_of(one, other, pairing);
  const Scatter scatter = scatter_of(samples);
  if (scatter.standard_error == 0)
    return {difference_of(samples) * samples.unit, difference_of(samples) * samples.unit};
  std::vector<double> differences(resamples);
  for (std::uint64_t i = 0; i < resamples; ++i) {
    const RandomStream random{.seed = 1, .stream = i};
    std::uint64_t drawn = 0;
    differences[i] = resampled_mean(samples.one, random, drawn);
    if (!samples.paired()) differences[i] -= resampled_mean(samples.other, random, drawn);
  }
  std::ranges::sort(differences);
  // Resamples scatter as much as a sample with the divisor n, which is less than the n - 1 of an unbiased variance.
  const auto resampled_part = [](Values values) {
    const auto count = static_cast<double>(values.size());
    return variance_of(values) * (count - 1) / (count * count);
  };
  const double resampled_error =
      std::sqrt(resampled_part(samples.one) + (samples.paired() ? 0 : resampled_part(samples.other)));
  const double reach =
      critical(level_of_intervals, scatter.degrees_of_freedom) * scatter.standard_error / resampled_error;
  const double tail = cdf(complement(boost::math::normal(), reach));
  return {percentile(differences, tail) * samples.unit, percentile(differences, 1 - tail) * samples.unit};
}

int measurements_needed(Values one, Values other, Pairing pairing, double level) {
  const Samples samples = samples_of(one, other, pairing);
  const double difference = difference_of(samples);
  if (difference == 0) return most_measurements + 1;
  const double variance = variance_of(samples.one), other_variance = samples.paired() ? 0 : variance_of(samples.other);
  const auto is_too_few = [&](int count) {
    const Scatter scatter = scatter_of(variance, count, other_variance, count);
    return scatter.standard_error > 0 && power_of(difference, scatter, level) < wanted_power;
  };
  const auto counts = std::views::iota(2, most_measurements + 1);
  return *std::ranges::partition_point(counts, is_too_few);  // the end of the counts is one more than the most
}

std::vector<double> holm_corrected(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p_values[i]; });
  std::vector<double> corrected(p_values.size());
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double times = static_cast<double>(order.size() - rank);
    largest = std::max(largest, std::min(1.0, times * p_values[order[rank]]));
    corrected[order[rank]] = largest;
  }
  return corrected;
}

}  // namespace bough::report
