#pragma once

#include <string>

#include "tools/report/plot.h"
#include "tools/report/summary.h"

namespace bough::report {

/// For a terminal: the table by degree, a plot in characters, what failed and what was found.
std::string table_text(const Summary& summary);
std::string plot_text(const Summary& summary, int width = 72, int height = 18);
std::string findings_text(const Summary& summary);

/// One line a point.
std::string to_csv(const Summary& summary);
/// Points, bounds, findings and learning curves for programs, and for the page.
nlohmann::ordered_json to_json(const Summary& summary);
/// With error bars over seeds; readable in light and dark.
std::string to_svg(const Plot& plot, const std::string& experiment);
/// One page that needs nothing else: plots, table, graphs, configuration, how to repeat it.
std::string to_html(const Summary& summary);

/// summary.csv, summary.json, report.html and one SVG for each plot (quality.svg, ...) in the folder.
void write_report(const Summary& summary, const std::string& folder);

/// A colour that people who cannot tell red from green see apart, the dash of its line and the shape of its points:
/// never colour alone. All three together come again after 64 series.
struct SeriesStyle {
  const char* colour;
  const char* dash;   ///< as SVG has it
  std::size_t shape;  ///< one of eight
  char mark;          ///< in plots made of characters
};
SeriesStyle style_of(std::size_t series);

}  // namespace bough::report
