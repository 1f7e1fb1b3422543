#pragma once

#include <span>
#include <vector>

/// Whether two means differ, decided from a few measurements of each. Finite values never give NaN.
namespace bough::report {

/// How the measurements of two settings belong together.
enum class Pairing {
  paired,       ///< one[i] and other[i] were made under the same conditions: the differences are tested
  independent,  ///< nothing joins them: Welch's test, which does not take their variances as equal
};

struct Interval {
  double low = 0, high = 0;
};

/// A two-sided t-test of the difference mean(one) - mean(other).
struct TTest {
  double difference = 0;
  double standard_error = 0;
  double degrees_of_freedom = 0;
  double p = 1;
  Interval interval = {};  ///< of the difference, 95%
};

/// Student's test of the differences, or Welch's test; p as SciPy's ttest_rel and ttest_ind(equal_var=False) give it.
/// Where the measurements do not scatter at all, p is 0, or 1 if the means are the same: differences of 1e-14 of the
/// values are rounding. ShapeError unless both have at least two values, and the same number if they are paired.
TTest t_test(std::span<const double> one, std::span<const double> other, Pairing pairing);

/// A 95% interval of mean(one) - mean(other) from resampled measurements, pairs where they are paired, for values whose
/// distribution is not normal. Percentiles of 9999 resamples, expanded as far as the t interval is wider than a normal
/// one (Hesterberg 2015, "What Teachers Should Know About the Bootstrap"). The same values give the same interval.
/// Errors as t_test. See least_for_bootstrap.
Interval bootstrap_interval(std::span<const double> one, std::span<const double> other, Pairing pairing);

/// From so many measurements on, intervals of resamples are trusted. Of 1500 samples of normally distributed pairs,
/// intervals that should hold the true difference in 95% did so in 76% with 3 pairs, 92% with 5 and 94% with 6; plain
/// percentiles in 76%, 83% and 86%.
inline constexpr int least_for_bootstrap = 6;

/// Searched no further by measurements_needed.
inline constexpr int most_measurements = 100;

/// How many measurements of each a new study needs to find the difference with a probability of 80% by a test at this
/// level, if difference and scatter are as they are here: from the non-central t distribution. most_measurements + 1 if
/// that is not enough. It is as uncertain as the difference itself. Errors as t_test.
int measurements_needed(std::span<const double> one, std::span<const double> other, Pairing pairing, double level);

/// p values corrected for their number by Holm's method, in the same order: rejecting those of at most 0.05 claims a
/// difference that is not there with a probability of at most 0.05 for all together, however they depend on each other.
std::vector<double> holm_corrected(std::span<const double> p_values);

}  // namespace bough::report
