#include "tools/report/plot.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace bough::report {
namespace {

using Value = std::function<Statistic(const Point&)>;

Statistic in_megabytes(const Statistic& bytes) { return {bytes.mean / 1e6, bytes.deviation / 1e6, bytes.count}; }

/// Lines are told apart by `name`; a line's points keep the order of the summary.
std::vector<PlotSeries> lines_of(const Summary& summary, std::string Point::*name,
                                 const std::function<double(const Point&)>& x, const Value& y) {
  std::vector<PlotSeries> lines;
  for (const Point& point : summary.points) {
    auto line = std::ranges::find(lines, point.*name, &PlotSeries::name);
    if (line == lines.end()) line = lines.insert(lines.end(), {.name = point.*name, .points = {}});
    line->points.push_back({x(point), y(point), point.label});
  }
  return lines;
}

}  // namespace

Plot quality_by_degree(const Summary& summary) { return plots_of(summary).front(); }

std::vector<Plot> plots_of(const Summary& summary) {
  struct Quantity {
    std::string name, title;
    Value value;
  };
  const runner::Results& results = summary.results;
  const std::vector<Quantity> quantities{
      {"quality", results.metric.label, [](const Point& point) { return point.metric; }},
      {"speed", "tokens a second", [](const Point& point) { return point.tokens_per_second; }},
      {"memory", "peak memory in MB", [](const Point& point) { return in_megabytes(point.memory_bytes); }}};
  const auto bounds = [&](const Quantity& quantity) {
    return quantity.name == "quality" ? results.bounds : std::vector<runner::Bound>{};
  };
  std::vector<Plot> plots;
  for (const Quantity& quantity : quantities) {
    plots.push_back({.name = quantity.name,
                     .title = quantity.title + " against attention degree",
                     .x_title = "attention degree (mean in-edges of a token)",
                     .series = lines_of(
                         summary, &Point::pattern, [](const Point& point) { return point.degree; }, quantity.value),
                     .bounds = bounds(quantity)});
  }
  if (summary.lengths().size() < 2) return plots;
  for (const Quantity& quantity : quantities) {
    plots.push_back({.name = quantity.name + "_by_length",
                     .title = quantity.title + " against context length",
                     .x_title = "context length",
                     .series = lines_of(
                         summary, &Point::label, [](const Point& point) { return static_cast<double>(point.length); },
                         quantity.value),
                     .bounds = bounds(quantity)});
  }
  return plots;
}

double PlotRange::x_share(double x) const { return std::log(std::max(x, x_low) / x_low) / std::log(x_high / x_low); }
double PlotRange::y_share(double value) const { return (value - y_low) / (y_high - y_low); }

PlotRange plot_range(const Plot& plot) {
  if (plot.series.empty()) return {};
  PlotRange range{.x_low = 1e300, .x_high = 1e-300, .y_low = 1e300, .y_high = -1e300};
  const auto take = [&range](double value) {
    if (!std::isfinite(value)) return;
    range.y_low = std::min(range.y_low, value);
    range.y_high = std::max(range.y_high, value);
  };
  for (const PlotSeries& line : plot.series) {
    for (const PlotPoint& point : line.points) {
      range.x_low = std::min(range.x_low, std::max(point.x, 0.1));
      range.x_high = std::max(range.x_high, std::max(point.x, 0.1));
      take(point.y.mean - point.y.deviation);
      take(point.y.mean + point.y.deviation);
    }
  }
  for (const runner::Bound& bound : plot.bounds) take(bound.value);
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
