#pragma once

#include "tools/report/summary.h"

namespace bough::report {

/// What a plot of the metric against the degree shows: degrees on a logarithmic axis, bounds and error bars included.
struct PlotRange {
  double x_low = 1, x_high = 10, y_low = 0, y_high = 1;

  double x_share(double degree) const;  ///< 0 at x_low, 1 at x_high
  double y_share(double value) const;
};
PlotRange plot_range(const Summary& summary);

/// Round numbers inside [low, high]: 1, 2, 5 times powers of ten.
std::vector<double> round_steps(double low, double high, int about);
std::vector<double> powers_of_two(double low, double high);

}  // namespace bough::report
