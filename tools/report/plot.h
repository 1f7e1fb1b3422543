#pragma once

#include "tools/report/summary.h"

namespace bough::report {

struct PlotPoint {
  double x = 0;
  Statistic y;
  std::size_t point = 0;  ///< of the summary
};

/// A colour that people who cannot tell red from green see apart, the dash of its line and the shape of its points:
/// never colour alone.
struct SeriesStyle {
  const char* colour;
  const char* dash;   ///< as SVG has it
  std::size_t shape;  ///< one of eight
  std::size_t shade;  ///< one of three, for the lines of one colour
};
/// The colour is that of the family. All together come again after 8 families, and after 24 lines of one family.
SeriesStyle style_of(std::size_t family, std::size_t line = 0);

struct PlotSeries {
  std::string name;
  SeriesStyle style;
  std::vector<PlotPoint> points;  ///< by x
};

/// Lines with error bars and known bounds: what svg.cpp, page.js and text.cpp draw.
struct Plot {
  std::string name;  ///< of its file
  std::string title, x_title, y_title;
  bool logarithmic = true;           ///< the axis of x
  std::vector<double> x_ticks = {};  ///< where x has few values; empty: powers of two
  std::vector<PlotSeries> series;
  std::vector<runner::Bound> bounds;
  std::vector<runner::Reference> references = {};  ///< cited figures, which no run here has measured
  std::size_t points_left_out = 0;                 ///< whose times cannot be compared
};

Plot quality_by_degree(const Summary& summary);
/// Quality, speed and memory against the degree, then against every number that the runs differ in (length, layers,
/// learning rate, ...), if some line has two points of it. In all of them a pattern has the same colour, and lines come
/// in the order of Summary::kinds(). Plots of times have only points whose times can be compared, and are left out
/// where there are none. The last one, where texts were tested with placeholder tokens in front, is quality against
/// their number.
std::vector<Plot> plots_of(const Summary& summary);

/// Styles of lines of which each is one setting, learning curves for instance; in the order of the points.
std::vector<SeriesStyle> point_styles(const Summary& summary);

/// What a plot shows: bounds, cited figures and error bars included.
struct PlotRange {
  double x_low = 1, x_high = 10, y_low = 0, y_high = 1;
  bool logarithmic = true;

  double x_share(double x) const;  ///< 0 at x_low, 1 at x_high
  double y_share(double value) const;
};
PlotRange plot_range(const Plot& plot);

/// "BCN+CoVe 0.537 (cited)": what stands on the line of a cited figure.
std::string name_on_line(const runner::Reference& reference);

/// Round numbers inside [low, high]: 1, 2, 5 times powers of ten.
std::vector<double> round_steps(double low, double high, int about);
/// Where the axis of x has its marks.
std::vector<double> x_steps(const Plot& plot, const PlotRange& range);

}  // namespace bough::report
