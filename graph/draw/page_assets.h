#pragma once

#include <string_view>

/// The files of graph/draw that make up the page, put into the library at build time.
namespace bough {

extern const std::string_view page_html;
extern const std::string_view page_css;
extern const std::string_view page_js;

}  // namespace bough
