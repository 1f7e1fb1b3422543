#pragma once

#include <string_view>

/// The files of tools/bough that make up the page of `bough predict --html`, put into the program at build time.
namespace bough {

extern const std::string_view predict_page_html;
extern const std::string_view predict_page_css;
extern const std::string_view predict_page_js;

}  // namespace bough
