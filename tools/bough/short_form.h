#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace bough::cli {

/// Sets keys from words like k=4 and alignment=slot: the value is JSON, or else a plain text. ConfigError naming
/// `where` for a word without a name and an equals sign.
void set_keys(nlohmann::json& object, const std::vector<std::string>& words, const std::string& where);

/// A graph specification as it is typed: JSON, a file with it, or the name of a pattern, "bpt". ConfigError or IoError
/// if it is none of these.
nlohmann::json graph_from_argument(const std::string& argument);

/// The parts between separators that stand in no brackets: "pyramid:recent=[2,2],bpt" has two at commas.
std::vector<std::string> split_outside_brackets(const std::string& text, char separator);

/// A pattern of a list: "sparse_fixed", or with parameters "sparse_fixed:stride=16:c=2".
nlohmann::json pattern_from_word(const std::string& word);

/// JSON for people: a list or an object that fits into a line stands on one line.
std::string readable_json(const nlohmann::ordered_json& value);

}  // namespace bough::cli
