#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace bough {

/// Whether JSON can hold the text.
inline bool is_utf8(const std::string& text) {
  // Bytes that are no UTF-8 are replaced in one way of writing and left out in the other.
  using Handler = nlohmann::json::error_handler_t;
  const auto written = [&text](Handler handler) { return nlohmann::json(text).dump(-1, ' ', false, handler); };
  return written(Handler::replace) == written(Handler::ignore);
}

}  // namespace bough
