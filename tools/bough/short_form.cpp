#include "tools/bough/short_form.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "bough/graph/graph_generator.h"

namespace bough::cli {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t line_width = 110;

/// One line, with a space after colons and commas.
std::string on_one_line(const ordered_json& value) {
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& [key, entry] : value.items()) {
    text += text.empty() ? "" : ", ";
    if (value.is_object()) text += ordered_json(key).dump() + ": ";
    text += on_one_line(entry);
  }
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

void write(const ordered_json& value, std::size_t indent, std::size_t used, std::string& text) {
  const std::string line = on_one_line(value);
  if (!value.is_structured() || value.empty() || (indent > 0 && used + line.size() <= line_width)) {
    text += line;
    return;
  }
  text += value.is_object() ? "{\n" : "[\n";
  std::size_t left = value.size();
  for (const auto& [key, entry] : value.items()) {
    const std::string start =
        std::string(indent + 2, ' ') + (value.is_object() ? ordered_json(key).dump() + ": " : std::string());
    text += start;
    write(entry, indent + 2, start.size() + 1, text);
    text += --left > 0 ? ",\n" : "\n";
  }
  text += std::string(indent, ' ') + (value.is_object() ? "}" : "]");
}

}  // namespace

void set_keys(json& object, const std::vector<std::string>& words, const std::string& where) {
  std::set<std::string> given;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw ConfigError(where, fmt::format("expects parameters like k=4, not '{}'", word));
    }
    const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
    if (!given.insert(key).second) throw ConfigError(where, fmt::format("{} is given twice", key));
    json parsed = json::parse(value, nullptr, false);
    if (parsed.is_discarded() && (value.starts_with('{') || value.starts_with('['))) {
      parse_json(value, fmt::format("{}: {}", where, key));  // says what is wrong
    }
    object[key] = parsed.is_discarded() ? json(value) : parsed;
  }
}

json graph_from_argument(const std::string& argument) {
  const bool is_json = argument.starts_with('{') || argument.starts_with('[');
  const bool is_name = !is_json && argument.find('/') == std::string::npos && !argument.ends_with(".json") &&
                       !std::filesystem::exists(argument);
  if (is_name) {
    generators().describe(argument);  // says which names there are if this is none of them
    return {{"kind", argument}};
  }
  try {
    return json_from_argument(argument, "graph");
  } catch (const ConfigError& error) {
    if (is_json || argument.ends_with(".json") || !std::filesystem::is_regular_file(argument)) throw;
    throw ConfigError(fmt::format("{}; if it is a file of edges, say {}", error.what(),
                                  R"({"kind": "file", "path": ")" + argument + R"("})"));
  }
}

std::vector<std::string> split_outside_brackets(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (c == separator && depth <= 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

json pattern_from_word(const std::string& word) {
  std::vector<std::string> parameters = split_outside_brackets(word, ':');
  const std::string kind = parameters.front();
  parameters.erase(parameters.begin());
  generators().describe(kind);
  json pattern = {{"kind", kind}};
  set_keys(pattern, parameters, kind);
  return pattern;
}

std::string readable_json(const ordered_json& value) {
  std::string text;
  write(value, 0, 0, text);
  return text + "\n";
}

}  // namespace bough::cli
