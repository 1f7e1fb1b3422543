#pragma once

#include <string>
#include <vector>

namespace bough::report {

/// Of runs that differ in nothing but the seed.
struct Statistic {
  double mean = 0;
  double deviation = 0;  ///< sample standard deviation; 0 for a single run
  int count = 0;
};
Statistic statistic_of(const std::vector<double>& values);
/// "0.7000 ± 0.0283" with that many decimals, or "0.7000" for a single run.
std::string with_deviation(const Statistic& value, int decimals);

}  // namespace bough::report
