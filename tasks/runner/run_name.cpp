#include "tasks/runner/run_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace bough::runner {
namespace {

using nlohmann::json;

constexpr std::size_t longest_name = 120;

std::string text_of(const json& value);

/// Patterns that a pattern is made of, whole or by their names, which need no key.
bool is_pattern(const json& value) {
  if (value.is_array()) return std::ranges::none_of(value, [](const json& entry) { return entry.is_number(); });
  return value.is_object();
}

/// {"kind": "bpt", "k": 4} is "bpt-k4"; a pattern made of others names them without their key.
std::string text_of_object(const json& object) {
  const auto kind = object.find("kind");
  std::string text = kind == object.end() ? "" : text_of(*kind);
  for (const auto& [key, entry] : object.items()) {
    if (key == "kind") continue;
    const std::string inside = text_of(entry);
    if (inside.empty()) continue;
    text += fmt::format("{}{}{}", text.empty() ? "" : "-", is_pattern(entry) ? "" : key, inside);
  }
  return text;
}

std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object()) return text_of_object(value);
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const json& entry : value) text += (text.empty() ? "" : "_") + text_of(entry);
  return text;
}

bool is_about_graph(const SweepColumn& column) { return column.path == "graph" || column.path.starts_with("graph."); }

}  // namespace

bool begins_with_name(const std::string& text, const std::string& name) {
  return text.starts_with(name) &&
         (text.size() == name.size() || std::isalnum(static_cast<unsigned char>(text[name.size()])) == 0);
}

std::string as_file_name(std::string text, const std::string& otherwise) {
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  }
  if (text.empty()) return otherwise;
  // "." and ".." are other folders, and what begins with a dot is hidden.
  if (text.front() == '.') text.front() = '_';
  return text.substr(0, longest_name);
}

std::string describe_setting(const std::string& path, const json& value) {
  const std::string text = text_of(value);
  const bool named_by_value = path == "graph" || path == "graph.kind" || (value.is_object() && value.contains("kind"));
  return named_by_value || text.empty() ? text : path.substr(path.rfind('.') + 1) + text;
}

std::string run_name(const std::vector<SweepAxis>& axes, const SweepPlace& place, const json& graph, bool solved) {
  struct Part {
    const SweepColumn* column;
    std::size_t index;
  };
  std::vector<Part> shown;
  for (std::size_t i = axes.size(); i-- > 0;) {
    for (const SweepColumn* column : axes[i].naming_columns()) shown.push_back({column, place[i]});
  }
  std::ranges::stable_sort(shown, {}, [](const Part& part) {
    return part.column->path == "graph" || part.column->path == "graph.kind" ? 0 : is_about_graph(*part.column) ? 1 : 2;
  });
  std::string name;
  bool graph_named = false;
  for (const auto& [column, index] : shown) {
    // What a degree has become is a name for all that is swept of the graph, the one that reports have too.
    const bool by_graph = solved && !graph.contains("degree") && is_about_graph(*column);
    if (by_graph && std::exchange(graph_named, true)) continue;
    std::string part =
        by_graph ? describe_setting("graph", graph) : describe_setting(column->path, column->values[index]);
    if (part.empty()) part = fmt::format("{}{}", column->path, index + 1);
    name += (name.empty() ? "" : "-") + part;
  }
  return as_file_name(name.empty() ? describe_setting("graph", graph) : name, "run");
}

}  // namespace bough::runner
