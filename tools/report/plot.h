#pragma once

#include "tools/report/summary.h"

namespace bough::report {

struct PlotPoint {
  double x = 0;
  Statistic y;
  std::string label;
};

/// One line, with a style of its own.
struct PlotSeries {
  std::string name;
  std::vector<PlotPoint> points;
};

/// Lines over a logarithmic axis, with error bars and known bounds: what all ways to draw one start from.
struct Plot {
  std::string name;  ///< of its file
  std::string title, x_title;
  std::vector<PlotSeries> series;
  std::vector<runner::Bound> bounds;
};

Plot quality_by_degree(const Summary& summary);
/// Quality, speed and memory against the degree, and against the length of the context where the runs have several.
std::vector<Plot> plots_of(const Summary& summary);

/// What a plot shows: bounds and error bars included.
struct PlotRange {
  double x_low = 1, x_high = 10, y_low = 0, y_high = 1;

  double x_share(double x) const;  ///< 0 at x_low, 1 at x_high, by the logarithm
  double y_share(double value) const;
};
PlotRange plot_range(const Plot& plot);

/// Round numbers inside [low, high]: 1, 2, 5 times powers of ten.
std::vector<double> round_steps(double low, double high, int about);
std::vector<double> powers_of_two(double low, double high);

}  // namespace bough::report
