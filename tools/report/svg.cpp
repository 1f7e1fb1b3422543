#include <fmt/format.h>

#include <algorithm>

#include "src/core/markup.h"
#include "tools/report/plot.h"
#include "tools/report/report.h"

namespace bough::report {
namespace {

constexpr double width = 760, height = 480, left = 64, right = 190, top = 44, bottom = 56;

/// A name on a line has paper under it, or the line would cross it out.
constexpr const char* svg_style = R"(<style>
text { fill: #222 } .axis { stroke: #888 } .grid { stroke: #8884 } .back { fill: #fff } .cited { stroke: #595959 }
.named { stroke: #fff; stroke-width: 4px; paint-order: stroke }
@media (prefers-color-scheme: dark) {
  text { fill: #eee } .back { fill: #181a1b } .cited { stroke: #b4b4b4 } .named { stroke: #181a1b }
}
</style>
)";

/// The area inside the axes, and where values fall in it.
class Drawing {
 public:
  Drawing(const Plot& plot, const std::string& experiment)
      : plot_(plot), experiment_(experiment), range_(plot_range(plot)) {}

  std::string draw() {
    text_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" font-family=\"sans-serif\" "
        "font-size=\"13\">\n{}"
        "<title>{}</title>\n<rect class=\"back\" width=\"{}\" height=\"{}\"/>\n",
        width, height, svg_style, escape_xml(plot_.title), width, height);
    text_at(left, 24, experiment_ + ": " + plot_.title);
    axes();
    bounds();
    references();
    for (const PlotSeries& one : plot_.series) series(one);
    return text_ + "</svg>\n";
  }

 private:
  double x(double value) const { return left + range_.x_share(value) * (width - left - right); }
  double y(double value) const { return height - bottom - range_.y_share(value) * (height - top - bottom); }

  void line(const char* extra, double x1, double y1, double x2, double y2) {
    text_ += fmt::format("<line {} x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", extra, x1, y1, x2, y2);
  }
  void text_at(double at_x, double at_y, const std::string& words, const char* anchor = "start",
               const char* extra = "") {
    text_ += fmt::format("<text{} x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", extra, at_x, at_y, anchor,
                         escape_xml(words));
  }

  void axes() {
    for (const double value : round_steps(range_.y_low, range_.y_high, 7)) {
      line("class=\"grid\"", left, y(value), width - right, y(value));
      text_at(left - 8, y(value) + 4, fmt::format("{:.4g}", value), "end");
    }
    for (const double value : x_steps(plot_, range_)) {
      line("class=\"grid\"", x(value), top, x(value), height - bottom);
      text_at(x(value), height - bottom + 18, fmt::format("{:.4g}", value), "middle");
    }
    line("class=\"axis\"", left, height - bottom, width - right, height - bottom);
    line("class=\"axis\"", left, top, left, height - bottom);
    text_at((left + width - right) / 2, height - 14, plot_.x_title, "middle");
  }

  void bounds() {
    for (const runner::Bound& bound : plot_.bounds) {
      line("stroke=\"#888\" stroke-dasharray=\"3 3\"", left, y(bound.value), width - right, y(bound.value));
      text_at(width - right + 6, y(bound.value) + 4, fmt::format("{} {:.3f}", bound.name, bound.value));
    }
  }

  /// Names stand on their lines, the lowest first; one that would cover the name below it moves up.
  void references() {
    std::vector<runner::Reference> lines = plot_.references;
    std::ranges::stable_sort(lines, std::greater(), [this](const auto& line) { return y(line.value); });
    for (const runner::Reference& one : lines) {
      line("class=\"cited\" stroke-width=\"1.5\" stroke-dasharray=\"9 3 2 3\"", left, y(one.value), width - right,
           y(one.value));
    }
    double free = height;
    for (const runner::Reference& one : lines) {
      free = std::min(free, y(one.value) - 4);
      text_at(left + 6, free, name_on_line(one), "start", " class=\"named\"");
      free -= 15;
    }
  }

  void series(const PlotSeries& series) {
    const SeriesStyle& style = series.style;
    std::string path;
    for (const PlotPoint& point : series.points) {
      path += fmt::format("{}{:.1f} {:.1f} ", path.empty() ? "M" : "L", x(point.x), y(point.y.mean));
      const double low = y(point.y.mean - point.y.deviation), high = y(point.y.mean + point.y.deviation);
      if (point.y.count > 1) {
        line(fmt::format("stroke=\"{}\"", style.colour).c_str(), x(point.x), low, x(point.x), high);
      }
      const std::string spread = point.y.count > 1 ? fmt::format(" ± {:.2g}", point.y.deviation) : "";
      marker(style, x(point.x), y(point.y.mean),
             fmt::format("{}: {:.5g}{} at {:.4g}", series.name, point.y.mean, spread, point.x));
    }
    text_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"/>\n",
                         path, style.colour, style.dash);
    const double at = top + 8 + 22 * static_cast<double>(named_++);
    marker(style, width - right + 14, at, series.name);
    text_at(width - right + 28, at + 4, series.name);
  }

  /// A shape of its own for each series.
  void marker(const SeriesStyle& style, double at_x, double at_y, const std::string& title) {
    static constexpr const char* shapes[] = {"<circle r=\"5\"/>",
                                             "<path d=\"M-5 -5 L5 5 M-5 5 L5 -5\" stroke-width=\"3\"/>",
                                             "<path d=\"M0 -6 L6 5 L-6 5 Z\"/>",
                                             "<rect x=\"-5\" y=\"-5\" width=\"10\" height=\"10\"/>",
                                             "<path d=\"M0 -6 L6 0 L0 6 L-6 0 Z\"/>",
                                             "<path d=\"M0 6 L6 -5 L-6 -5 Z\"/>",
                                             "<path d=\"M-6 0 L6 0 M0 -6 L0 6\" stroke-width=\"3\"/>",
                                             "<circle r=\"4\" fill=\"none\" stroke-width=\"3\"/>"};
    text_ +=
        fmt::format("<g transform=\"translate({:.1f} {:.1f})\" fill=\"{}\" stroke=\"{}\"><title>{}</title>{}</g>\n",
                    at_x, at_y, style.colour, style.colour, escape_xml(title), shapes[style.shape]);
  }

  const Plot& plot_;
  const std::string& experiment_;
  PlotRange range_;
  int named_ = 0;  ///< series that the legend has
  std::string text_;
};

}  // namespace

std::string to_svg(const Plot& plot, const std::string& experiment) { return Drawing(plot, experiment).draw(); }

}  // namespace bough::report
