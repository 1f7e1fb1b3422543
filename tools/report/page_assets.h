#pragma once

#include <string_view>

namespace bough {

/// The parts of the page, as they were when this was built.
extern const std::string_view report_page_html;
extern const std::string_view report_page_css;
extern const std::string_view report_page_js;
/// Chart.js, which draws the plots.
extern const std::string_view report_chart_js;

}  // namespace bough
