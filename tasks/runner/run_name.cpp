#include "tasks/runner/run_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace bough::runner {
namespace {

using nlohmann::json;

constexpr std::size_t longest_name = 120;

std::string text_of(const json& value);

/// {"kind": "bpt", "k": 4} is "bpt-k4"; a pattern made of others names them without their key.
std::string text_of_object(const json& object) {
  const auto kind = object.find("kind");
  std::string text = kind == object.end() ? "" : text_of(*kind);
  for (const auto& [key, entry] : object.items()) {
    if (key == "kind") continue;
    const std::string inside = text_of(entry);
    if (inside.empty()) continue;
    text += fmt::format("{}{}{}", text.empty() ? "" : "-", entry.is_structured() ? "" : key, inside);
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

}  // namespace

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
  const bool named_by_value = path == "graph" || (value.is_object() && value.contains("kind"));
  return named_by_value || text.empty() ? text : path.substr(path.rfind('.') + 1) + text;
}

std::string run_name(const std::vector<SweepAxis>& axes, const SweepPlace& place, const json& graph) {
  std::vector<std::size_t> shown;
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (axes[i].values.size() > 1) shown.push_back(i);
  }
  std::ranges::stable_sort(shown, {}, [&](std::size_t i) { return axes[i].path == "graph" ? 0 : 1; });
  std::string name;
  for (const std::size_t i : shown) {
    std::string part = describe_setting(axes[i].path, axes[i].values[place[i]]);
    if (part.empty()) part = fmt::format("{}{}", axes[i].path, place[i] + 1);
    name += (name.empty() ? "" : "-") + part;
  }
  return as_file_name(name.empty() ? describe_setting("graph", graph) : name, "run");
}

}  // namespace bough::runner
