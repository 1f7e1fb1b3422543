#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bough {

/// Text as it may stand in HTML, in SVG and in quoted attributes.
std::string escape_xml(std::string_view text);

/// JSON as it may stand inside a script element: no text of it can close the element. Broken UTF-8 is replaced.
std::string json_for_script(const nlohmann::json& data);

/// Replaces each @KEY@ of a page; what is put in is not looked at again, and other @ stay.
std::string fill_page(std::string_view page, const std::vector<std::pair<std::string_view, std::string>>& values);

}  // namespace bough
