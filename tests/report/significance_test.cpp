#include "tools/report/significance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bough/core/errors.h"
#include "tests/support/fixtures.h"

namespace bough::report {
namespace {

using nlohmann::json;
using Values = std::vector<double>;

/// One comparison of tests/fixtures/scipy_t_tests.json.
struct Case {
  explicit Case(const json& entry)
      : one(entry.at("one").get<Values>()),
        other(entry.at("other").get<Values>()),
        pairing(entry.at("paired").get<bool>() ? Pairing::paired : Pairing::independent) {}

  Values one, other;
  Pairing pairing;
};

json scipy_cases() { return test::read_fixture("scipy_t_tests.json").at("t_tests"); }

TEST(TTest, GivesThePValuesAndIntervalsOfSciPy) {
  for (const json& entry : scipy_cases()) {
    const Case given(entry);
    const TTest test = t_test(given.one, given.other, given.pairing);
    const double p = entry.at("p"), low = entry.at("interval")[0], high = entry.at("interval")[1];
    EXPECT_NEAR(test.p, p, 1e-9 * p) << entry;
    EXPECT_NEAR(test.degrees_of_freedom, entry.at("degrees").get<double>(), 1e-9) << entry;
    EXPECT_NEAR(test.interval.low, low, 1e-9 * (high - low)) << entry;
    EXPECT_NEAR(test.interval.high, high, 1e-9 * (high - low)) << entry;
  }
}

TEST(TTest, ChangesOnlyTheSignWhenTheSidesAreSwapped) {
  for (const json& entry : scipy_cases()) {
    const Case given(entry);
    const TTest test = t_test(given.one, given.other, given.pairing);
    const TTest swapped = t_test(given.other, given.one, given.pairing);
    EXPECT_DOUBLE_EQ(swapped.p, test.p);
    EXPECT_DOUBLE_EQ(swapped.difference, -test.difference);
    EXPECT_DOUBLE_EQ(swapped.interval.low, -test.interval.high);
  }
}

TEST(TTest, IsCertainWhereNothingScattersAndTellsNothingWhereAllIsTheSame) {
  const Values low(3, 0.5), high(4, 0.75);
  const TTest different = t_test(low, high, Pairing::independent);
  EXPECT_EQ(different.p, 0);
  EXPECT_EQ(different.interval.low, -0.25);
  EXPECT_EQ(different.interval.high, -0.25);
  for (const Pairing pairing : {Pairing::paired, Pairing::independent}) {
    EXPECT_EQ(t_test(low, low, pairing).p, 1);
    EXPECT_EQ(t_test(Values{0.1, 0.7, 0.3}, Values{0.1, 0.7, 0.3}, pairing).p, 1);
    EXPECT_EQ(t_test(Values(3, 0.0), Values(3, 0.0), pairing).p, 1);
    EXPECT_EQ(t_test(Values(3, 0.1 + 0.2), Values(3, 0.3), pairing).p, 1) << "a difference in the last bit is rounding";
  }
}

TEST(TTest, IsNeverNaNForFiniteValues) {
  const double largest = std::numeric_limits<double>::max(), smallest = std::numeric_limits<double>::denorm_min();
  const std::vector<Values> samples{
      {0, 0},        {1, 1},           {1, 2},         {-1e200, 1e200}, {largest, largest / 2},
      {smallest, 0}, {1e-100, 2e-100}, {1, 1 + 1e-15}, {-5, 1e-300}};
  for (const Values& one : samples) {
    for (const Values& other : samples) {
      for (const Pairing pairing : {Pairing::paired, Pairing::independent}) {
        const TTest test = t_test(one, other, pairing);
        EXPECT_TRUE(test.p >= 0 && test.p <= 1) << test.p;
        EXPECT_FALSE(std::isnan(test.difference) || std::isnan(test.interval.low) || std::isnan(test.interval.high));
        EXPECT_FALSE(std::isnan(bootstrap_interval(one, other, pairing).low));
        const int needed = measurements_needed(one, other, pairing, 0.05);
        EXPECT_TRUE(needed >= 2 && needed <= most_measurements + 1) << needed;
      }
    }
  }
}

TEST(TTest, RefusesWhatCannotBeTested) {
  EXPECT_THROW(t_test(Values{1}, Values{1, 2}, Pairing::independent), ShapeError);
  EXPECT_THROW(t_test(Values{}, Values{}, Pairing::paired), ShapeError);
  EXPECT_THROW(t_test(Values{1, 2, 3}, Values{1, 2}, Pairing::paired), ShapeError);
}

TEST(MeasurementsNeeded, AreThoseOfThePowerThatSciPyIntegrates) {
  for (const json& entry : scipy_cases()) {
    const Case given(entry);
    for (const auto& [level, needed] : entry.at("needed").items()) {
      EXPECT_EQ(measurements_needed(given.one, given.other, given.pairing, std::stod(level)), needed) << level << entry;
    }
  }
}

TEST(MeasurementsNeeded, AreMoreThanAreSearchedForWhereThereIsNoDifference) {
  EXPECT_EQ(measurements_needed(Values{1, 2, 3}, Values{3, 1, 2}, Pairing::independent, 0.05), most_measurements + 1);
  EXPECT_EQ(measurements_needed(Values{1, 1, 1}, Values{2, 2, 2}, Pairing::paired, 0.05), 2) << "nothing scatters";
}

TEST(BootstrapInterval, IsThatOfSciPyAtTheExpandedLevel) {
  int compared = 0;
  for (const json& entry : scipy_cases()) {
    if (!entry.contains("bootstrap")) continue;
    const Case given(entry);
    const Interval interval = bootstrap_interval(given.one, given.other, given.pairing);
    const double low = entry["bootstrap"][0], high = entry["bootstrap"][1];
    // Two sets of resamples differ by chance.
    EXPECT_NEAR(interval.low, low, 0.03 * (high - low)) << entry;
    EXPECT_NEAR(interval.high, high, 0.03 * (high - low)) << entry;
    ++compared;
  }
  EXPECT_GE(compared, 12);
}

TEST(BootstrapInterval, IsTheSameEveryTimeAndKeepsPairsTogether) {
  const Values one{0.1, 0.9, 0.3, 0.7, 0.5, 0.2}, other{0.2, 1.01, 0.39, 0.8, 0.61, 0.3};
  const Interval first = bootstrap_interval(one, other, Pairing::paired);
  const Interval second = bootstrap_interval(one, other, Pairing::paired);
  EXPECT_EQ(first.low, second.low);
  EXPECT_EQ(first.high, second.high);
  EXPECT_GE(first.low, -0.1101) << "no difference of a pair is larger";
  EXPECT_LE(first.high, -0.0899);
  EXPECT_GT(bootstrap_interval(one, other, Pairing::independent).high, 0) << "without pairs the scatter hides it";
}

TEST(HolmCorrection, IsBonferronisOnWhatIsLeftStepByStep) {
  for (const json& entry : test::read_fixture("scipy_t_tests.json").at("holm")) {
    const Values corrected = holm_corrected(entry.at("p").get<Values>());
    const Values expected = entry.at("corrected").get<Values>();
    ASSERT_EQ(corrected.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_DOUBLE_EQ(corrected[i], expected[i]) << entry;
  }
  EXPECT_TRUE(holm_corrected({}).empty());
}

}  // namespace
}  // namespace bough::report
