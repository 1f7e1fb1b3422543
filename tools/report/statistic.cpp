#include "tools/report/statistic.h"

#include <fmt/format.h>

#include <cmath>

namespace bough::report {

Statistic statistic_of(const std::vector<double>& values) {
  Statistic result{.mean = 0, .deviation = 0, .count = static_cast<int>(values.size())};
  if (values.empty()) return result;
  for (const double value : values) result.mean += value / static_cast<double>(values.size());
  if (values.size() < 2) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return result;
}

std::string with_deviation(const Statistic& value, int decimals) {
  return value.count > 1 ? fmt::format("{:.{}f} ± {:.{}f}", value.mean, decimals, value.deviation, decimals)
                         : fmt::format("{:.{}f}", value.mean, decimals);
}

}  // namespace bough::report
