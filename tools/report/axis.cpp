#include "tools/report/axis.h"

#include <algorithm>
#include <cmath>

namespace bough::report {

double PlotRange::x_share(double degree) const { return std::log(degree / x_low) / std::log(x_high / x_low); }
double PlotRange::y_share(double value) const { return (value - y_low) / (y_high - y_low); }

PlotRange plot_range(const Summary& summary) {
  if (summary.points.empty()) return {};
  PlotRange range{.x_low = 1e300, .x_high = 1e-300, .y_low = 1e300, .y_high = -1e300};
  const auto take = [&range](double value) {
    if (!std::isfinite(value)) return;
    range.y_low = std::min(range.y_low, value);
    range.y_high = std::max(range.y_high, value);
  };
  for (const Point& point : summary.points) {
    range.x_low = std::min(range.x_low, std::max(point.degree, 0.1));
    range.x_high = std::max(range.x_high, std::max(point.degree, 0.1));
    take(point.metric.mean - point.metric.deviation);
    take(point.metric.mean + point.metric.deviation);
  }
  for (const runner::Bound& bound : summary.results.bounds) take(bound.value);
  if (range.y_low > range.y_high) range.y_low = 0, range.y_high = 1;
  const double margin = std::max(0.05 * (range.y_high - range.y_low), 1e-3);
  range.y_low -= margin;
  range.y_high += margin;
  range.x_low /= 1.1;
  range.x_high *= 1.1;
  return range;
}

std::vector<double> round_steps(double low, double high, int about) {
  const double rough = (high - low) / about;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double step = rough / power < 1.5   ? power
                      : rough / power < 3.5 ? 2 * power
                      : rough / power < 7.5 ? 5 * power
                                            : 10 * power;
  std::vector<double> steps;
  for (double value = std::ceil(low / step) * step; value <= high; value += step) steps.push_back(value);
  return steps;
}

std::vector<double> powers_of_two(double low, double high) {
  std::vector<double> steps;
  for (double value = std::exp2(std::ceil(std::log2(low))); value <= high; value *= 2) steps.push_back(value);
  return steps;
}

}  // namespace bough::report
