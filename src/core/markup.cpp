#include "src/core/markup.h"

#include <nlohmann/json.hpp>

namespace bough {

using nlohmann::json;

std::string escape_xml(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string json_for_script(const json& data) {
  std::string text = data.dump(-1, ' ', false, json::error_handler_t::replace), safe;
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string fill_page(std::string_view page, const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string result;
  while (!page.empty()) {
    const std::size_t at = page.find('@');
    result += page.substr(0, at);
    if (at == page.npos) break;
    page.remove_prefix(at);
    bool found = false;
    for (const auto& [key, value] : values) {
      if (!page.starts_with(key)) continue;
      result += value;
      page.remove_prefix(key.size());
      found = true;
      break;
    }
    if (!found) {
      result += '@';
      page.remove_prefix(1);
    }
  }
  return result;
}

}  // namespace bough
