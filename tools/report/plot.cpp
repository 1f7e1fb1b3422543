#include "tools/report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "tools/report/points.h"

namespace bough::report {
namespace {

using nlohmann::json;

/// What a plot shows of each setting.
struct Quantity {
  std::string name, title;
  std::function<Statistic(const Point&)> value;
  bool is_time = false;
};

std::vector<Quantity> quantities_of(const Summary& summary) {
  return {{"quality", summary.results.metric.label, [](const Point& point) { return point.metric; }},
          {"speed", "tokens a second", [](const Point& point) { return point.tokens_per_second; }, true},
          {"memory", "peak memory in MB", [](const Point& point) {
             const Statistic& bytes = point.memory_bytes;
             return Statistic{bytes.mean / 1e6, bytes.deviation / 1e6, bytes.count};
           }}};
}

/// What stands along the x axis, and which line a setting belongs to.
struct Axis {
  std::string suffix, title;  ///< of file names; "against ..."
  std::string x_title;
  std::function<double(const Point&)> x;
  std::function<std::string(const Point&)> line;
};

Axis degree_axis() {
  return {.suffix = "",
          .title = "attention degree",
          .x_title = "attention degree (mean in-edges of a token)",
          .x = [](const Point& point) { return point.degree; },
          .line = [](const Point& point) { return point.pattern; }};
}

/// Numbers that are not the same in all settings, by path.
std::vector<std::string> varied_numbers(const Summary& summary) {
  std::map<std::string, std::set<double>> values;
  for (const Point& point : summary.points) {
    for (const auto& [path, value] : point.settings.items()) {
      if (value.is_number()) values[path].insert(value.get<double>());
    }
  }
  std::vector<std::string> paths;
  for (const auto& [path, different] : values) {
    if (different.size() > 1) paths.push_back(path);
  }
  return paths;
}

Axis axis_of(const std::string& path) {
  const bool is_length = path == length_path;
  std::string file_part = is_length ? "length" : path;
  std::ranges::replace(file_part, '.', '_');
  const std::string title = is_length ? "context length" : path;
  const auto value = [path](const Point& point) { return point.settings.value(path, json()); };
  return {
      .suffix = "_by_" + file_part,
      .title = title,
      .x_title = title,
      .x = [value](const Point& point) { return value(point).is_number() ? value(point).get<double>() : std::nan(""); },
      .line =
          [=](const Point& point) {
            // The name of the setting without what the axis shows.
            std::string name = point.name;
            const std::string own =
                is_length ? fmt::format(", length {}", point.length) : ", " + describe_value(path, value(point));
            if (const std::size_t at = name.find(own); at != std::string::npos) name.erase(at, own.size());
            return name;
          }};
}

/// Lines in the order of the kinds, then of the points, each with its style.
class Lines {
 public:
  explicit Lines(const Summary& summary) : kinds_(summary.kinds()), by_kind_(kinds_.size()) {}

  PlotSeries& line(const Point& point, const std::string& name) {
    std::vector<PlotSeries>& family = by_kind_[family_of(point)];
    auto found = std::ranges::find(family, name, &PlotSeries::name);
    if (found == family.end()) {
      found = family.insert(family.end(), {.name = name, .style = style_of(0), .points = {}});
      found->style = style_for(family_of(point), family.size() - 1);
    }
    return *found;
  }

  std::vector<PlotSeries> all() && {
    std::vector<PlotSeries> lines;
    for (std::vector<PlotSeries>& family : by_kind_) std::ranges::move(family, std::back_inserter(lines));
    return lines;
  }

 private:
  std::size_t family_of(const Point& point) const {
    return static_cast<std::size_t>(std::ranges::find(kinds_, point.kind) - kinds_.begin());
  }
  /// Where all settings are of one kind, colours tell its lines apart.
  SeriesStyle style_for(std::size_t family, std::size_t line) const {
    return kinds_.size() == 1 ? style_of(line) : style_of(family, line);
  }

  std::vector<std::string> kinds_;
  std::vector<std::vector<PlotSeries>> by_kind_;
};

Plot plot_of(const Summary& summary, const Quantity& quantity, const Axis& axis) {
  Plot plot{.name = quantity.name + axis.suffix,
            .title = fmt::format("{} against {}", quantity.title, axis.title),
            .x_title = axis.x_title,
            .y_title = quantity.title,
            .series = {},
            .bounds = {}};
  if (quantity.name == "quality") {
    plot.bounds = summary.results.bounds;
    plot.references = summary.results.references;
  }
  Lines lines(summary);
  for (std::size_t i = 0; i < summary.points.size(); ++i) {
    const Point& point = summary.points[i];
    // A line is made for every setting, so that styles do not depend on whose times can be compared.
    PlotSeries& line = lines.line(point, axis.line(point));
    if (!std::isfinite(axis.x(point))) continue;
    if (quantity.is_time && point.times != Times::comparable) {
      ++plot.points_left_out;
      continue;
    }
    line.points.push_back({axis.x(point), quantity.value(point), i});
  }
  plot.series = std::move(lines).all();
  std::erase_if(plot.series, [](const PlotSeries& line) { return line.points.empty(); });
  for (PlotSeries& line : plot.series) std::ranges::stable_sort(line.points, {}, &PlotPoint::x);
  return plot;
}

/// Whether x changes along some line: otherwise the plot says nothing of x.
bool has_a_line(const Plot& plot) {
  return std::ranges::any_of(plot.series, [](const PlotSeries& line) {
    return !line.points.empty() && line.points.front().x < line.points.back().x;
  });
}

/// Marks at the values themselves where these are few, and a logarithmic axis where they are far apart.
void set_axis(Plot& plot) {
  std::set<double> values;
  for (const PlotSeries& line : plot.series) {
    for (const PlotPoint& point : line.points) values.insert(point.x);
  }
  if (values.empty()) return;
  plot.logarithmic = *values.begin() > 0 && *values.rbegin() / *values.begin() >= 4;
  if (values.size() <= 8) plot.x_ticks.assign(values.begin(), values.end());
}

/// The metric against what was put in front of each text, a line for each setting that was tested so.
Plot quality_by_shift(const Summary& summary) {
  const std::string title = "placeholder tokens in front";
  Plot plot{.name = "quality_by_shift",
            .title = fmt::format("{} against {}", summary.results.metric.label, title),
            .x_title = title,
            .y_title = summary.results.metric.label,
            .series = {},
            .bounds = {}};  // the differences between shifts are small beside the way to a bound
  Lines lines(summary);
  for (std::size_t i = 0; i < summary.points.size(); ++i) {
    PlotSeries& line = lines.line(summary.points[i], summary.points[i].name);
    const std::vector<Statistic>& shifts = summary.points[i].classification.shifts;
    for (std::size_t shift = 0; shift < shifts.size(); ++shift) {
      line.points.push_back({static_cast<double>(shift), shifts[shift], i});
    }
  }
  plot.series = std::move(lines).all();
  std::erase_if(plot.series, [](const PlotSeries& line) { return line.points.empty(); });
  return plot;
}

}  // namespace

SeriesStyle style_of(std::size_t family, std::size_t line) {
  // The palette of Okabe and Ito, without its yellow, which is lost on white.
  static constexpr SeriesStyle styles[] = {{"#0072B2", "", 0, 0},     {"#D55E00", "7 4", 1, 0},
                                           {"#009E73", "2 3", 2, 0},  {"#CC79A7", "9 3 2 3", 3, 0},
                                           {"#E69F00", "12 4", 4, 0}, {"#56B4E9", "4 2 1 2", 5, 0},
                                           {"#7A7A7A", "1 2", 6, 0},  {"#6A3D9A", "10 2 2 2 2 2", 7, 0}};
  constexpr std::size_t count = std::size(styles);
  // A colour comes again with another dash and shape; steps of 3 pass through all eight.
  SeriesStyle style = styles[(family + 3 * (family / count) + 3 * line) % count];
  style.colour = styles[family % count].colour;
  style.shade = line % 3;
  return style;
}

Plot quality_by_degree(const Summary& summary) {
  return plot_of(summary, quantities_of(summary).front(), degree_axis());
}

std::vector<Plot> plots_of(const Summary& summary) {
  const std::vector<Quantity> quantities = quantities_of(summary);
  std::vector<Plot> plots;
  for (const Quantity& quantity : quantities) {
    plots.push_back(plot_of(summary, quantity, degree_axis()));
    if (quantity.is_time && plots.back().series.empty()) plots.pop_back();
  }
  for (const std::string& path : varied_numbers(summary)) {
    for (const Quantity& quantity : quantities) {
      Plot plot = plot_of(summary, quantity, axis_of(path));
      if (!has_a_line(plot)) continue;
      set_axis(plot);
      plots.push_back(std::move(plot));
    }
  }
  if (Plot plot = quality_by_shift(summary); has_a_line(plot)) {
    set_axis(plot);
    plots.push_back(std::move(plot));
  }
  return plots;
}

std::vector<SeriesStyle> point_styles(const Summary& summary) {
  Lines lines(summary);
  std::vector<SeriesStyle> styles;
  for (const Point& point : summary.points) styles.push_back(lines.line(point, point.name).style);
  return styles;
}

double PlotRange::x_share(double x) const {
  return logarithmic ? std::log(std::max(x, x_low) / x_low) / std::log(x_high / x_low) : (x - x_low) / (x_high - x_low);
}
double PlotRange::y_share(double value) const { return (value - y_low) / (y_high - y_low); }

PlotRange plot_range(const Plot& plot) {
  if (plot.series.empty()) return {};
  PlotRange range{.x_low = 1e300, .x_high = -1e300, .y_low = 1e300, .y_high = -1e300, .logarithmic = plot.logarithmic};
  const auto take = [&range](double value) {
    if (!std::isfinite(value)) return;
    range.y_low = std::min(range.y_low, value);
    range.y_high = std::max(range.y_high, value);
  };
  for (const PlotSeries& line : plot.series) {
    for (const PlotPoint& point : line.points) {
      const double x = plot.logarithmic ? std::max(point.x, 1e-12) : point.x;
      range.x_low = std::min(range.x_low, x);
      range.x_high = std::max(range.x_high, x);
      take(point.y.mean - point.y.deviation);
      take(point.y.mean + point.y.deviation);
    }
  }
  for (const runner::Bound& bound : plot.bounds) take(bound.value);
  for (const runner::Reference& reference : plot.references) take(reference.value);
  if (range.y_low > range.y_high) range.y_low = 0, range.y_high = 1;
  const double margin = std::max(0.05 * (range.y_high - range.y_low), 1e-3);
  range.y_low -= margin;
  range.y_high += margin;
  if (plot.logarithmic) {
    range.x_low /= 1.1;
    range.x_high *= 1.1;
  } else {
    const double room = range.x_high > range.x_low ? 0.05 * (range.x_high - range.x_low) : 1;
    range.x_low -= room;
    range.x_high += room;
  }
  return range;
}

std::string name_on_line(const runner::Reference& reference) {
  return fmt::format("{} {:.4g} (cited)", reference.name, reference.value);
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

std::vector<double> x_steps(const Plot& plot, const PlotRange& range) {
  if (!plot.x_ticks.empty()) return plot.x_ticks;
  if (!plot.logarithmic) return round_steps(range.x_low, range.x_high, 7);
  std::vector<double> steps;
  // Powers of two, or steps between them where there are too few.
  for (const int parts : {1, 2, 4, 8}) {
    steps.clear();
    const auto first = static_cast<int>(std::ceil(parts * std::log2(range.x_low)));
    for (int at = first; at <= parts * std::log2(range.x_high); ++at) steps.push_back(std::exp2(at / double(parts)));
    if (steps.size() > 2) break;
  }
  return steps;
}

}  // namespace bough::report
