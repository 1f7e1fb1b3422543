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
/// Points, bounds, cited figures, findings and learning curves for programs, and for the page. Of a finding: verdict
/// ("ahead", "behind", "cannot tell": of `one` against `other`), test, difference (positive where `one` is better),
/// interval, bootstrap_interval, p, corrected_p, seeds of both, seeds_needed (101: more than 100); null where there is
/// none.
nlohmann::ordered_json to_json(const Summary& summary);
/// With error bars over seeds; readable in light and dark.
std::string to_svg(const Plot& plot, const std::string& experiment);
/// One page that needs nothing else: plots, table, graphs, configuration, how to repeat it.
std::string to_html(const Summary& summary);

/// summary.csv, summary.json, report.html and one SVG for each plot (quality.svg, speed_by_length.svg, ...) in the
/// folder; SVGs of plots that are made no more are removed.
void write_report(const Summary& summary, const std::string& folder);

}  // namespace bough::report
