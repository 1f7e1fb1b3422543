#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace bough {

/// What JSON text may be. The limits keep hostile text from costing more than reading it.
struct JsonLimits {
  std::size_t max_bytes = std::size_t{64} << 20;  ///< of the text
  int max_depth = 64;                             ///< of objects and lists inside each other
};

/// Reads JSON text. Comments, trailing commas, NaN, keys given twice, more depth or bytes than allowed and anything
/// after the value are a ConfigError that names the place: "[where] line 3, column 7: ...". O(bytes).
nlohmann::json parse_json(std::string_view text, std::string_view where, JsonLimits limits = {});

/// The same for a file; IoError if it cannot be read.
nlohmann::json read_json_file(const std::filesystem::path& path, JsonLimits limits = {});

/// What a command-line argument means: JSON text if it begins with '{' or '[', otherwise the name of a file.
nlohmann::json json_from_argument(std::string_view argument, std::string_view where);

/// A value as it may stand in an error message: one line, at most about 60 characters.
std::string json_excerpt(const nlohmann::json& value);

/// ConfigError if arrays and objects nest deeper than allowed, for JSON that did not come through parse_json.
void require_json_depth(const nlohmann::json& value, std::string_view where, int max_depth = JsonLimits{}.max_depth);

}  // namespace bough
