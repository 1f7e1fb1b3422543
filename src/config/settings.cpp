#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "bough/core/config.h"
#include "bough/core/errors.h"
#include "bough/core/json.h"
#include "src/core/nearest_name.h"

namespace bough {
namespace {

using nlohmann::json;

/// A whole number however it is written: 1000, 1e3. Nothing if it is not one or does not fit.
std::optional<std::int64_t> whole_number(const json& value) {
  constexpr double exact = 9007199254740992.0;  // 2^53: above it not every whole number is a double
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return {};
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return {};
  const double number = value.get<double>();
  if (!(std::abs(number) <= exact) || number != std::floor(number)) return {};
  return static_cast<std::int64_t>(number);
}

[[noreturn]] void refuse(std::string_view where, const Parameter& parameter, const std::string& path,
                         const json& value) {
  // The limit that every whole number has is not worth a word until it is exceeded.
  const bool too_large = parameter.type == ParameterType::integer && value.is_number() &&
                         value.get<double>() > static_cast<double>(parameter.largest);
  throw ConfigError(where, fmt::format("{} must be {}, not {}{}", path, allowed_values(parameter), json_excerpt(value),
                                       too_large ? fmt::format("; the largest is {}", parameter.largest) : ""));
}

json read_object(std::string_view where, const std::string& prefix, const std::vector<Parameter>& parameters,
                 const json& values);

/// The value in its checked form: whole numbers as integers, objects with their defaults.
json checked(std::string_view where, const Parameter& parameter, const std::string& path, const json& value) {
  switch (parameter.type) {
    case ParameterType::integer: {
      const auto number = whole_number(value);
      if (!number || *number < parameter.smallest || *number > parameter.largest) refuse(where, parameter, path, value);
      return *number;
    }
    case ParameterType::number: {
      if (!value.is_number()) refuse(where, parameter, path, value);
      const double number = value.get<double>();
      if (!std::isfinite(number) || number < parameter.minimum || number > parameter.maximum) {
        refuse(where, parameter, path, value);
      }
      return number;
    }
    case ParameterType::boolean:
      if (!value.is_boolean()) refuse(where, parameter, path, value);
      return value;
    case ParameterType::string:
      if (!value.is_string()) refuse(where, parameter, path, value);
      return value;
    case ParameterType::choice: {
      if (!value.is_string()) refuse(where, parameter, path, value);
      const auto text = value.get<std::string>();
      if (std::ranges::find(parameter.choices, text) != parameter.choices.end()) return value;
      const std::string nearest = nearest_name(text, parameter.choices);
      if (nearest.empty()) refuse(where, parameter, path, value);
      throw ConfigError(where, fmt::format("{} must be {}, not {}; did you mean \"{}\"?", path,
                                           allowed_values(parameter), json_excerpt(value), nearest));
    }
    case ParameterType::list: {
      const auto size = static_cast<std::int64_t>(value.size());
      if (!value.is_array() || size < parameter.smallest || size > parameter.largest) {
        refuse(where, parameter, path, value);
      }
      if (parameter.items.empty()) return value;
      json items = json::array();
      for (const json& item : value) {
        items.push_back(checked(where, parameter.items.front(), fmt::format("{}[{}]", path, items.size()), item));
      }
      return items;
    }
    case ParameterType::object:
      if (!value.is_object()) refuse(where, parameter, path, value);
      return parameter.fields.empty() ? value : read_object(where, path + ".", parameter.fields, value);
  }
  return value;
}

json default_value(std::string_view where, const std::string& prefix, const Parameter& parameter) {
  const std::string path = prefix + parameter.name;
  if (parameter.required) {
    throw ConfigError(where, fmt::format("{} is missing: it must be {}", path, allowed_values(parameter)));
  }
  if (parameter.type == ParameterType::list) return json::array();
  if (parameter.type == ParameterType::object) {
    return parameter.fields.empty() ? json::object() : read_object(where, path + ".", parameter.fields, json::object());
  }
  return std::visit(
      []<typename T>(const T& value) -> json {
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else {
          return value;
        }
      },
      parameter.initial);
}

[[noreturn]] void refuse_key(std::string_view where, const std::string& prefix,
                             const std::vector<Parameter>& parameters, const std::string& key) {
  std::vector<std::string> known;
  for (const Parameter& parameter : parameters) known.push_back(parameter.name);
  const std::string nearest = nearest_name(key, known);
  const std::string name = json_excerpt(json(prefix + key));
  if (known.empty()) throw ConfigError(where, fmt::format("unknown key {}; there are no parameters", name));
  throw ConfigError(where, fmt::format("unknown key {}{}; known keys are {}", name,
                                       nearest.empty() ? "" : fmt::format(", did you mean \"{}\"?", prefix + nearest),
                                       fmt::join(known, ", ")));
}

json read_object(std::string_view where, const std::string& prefix, const std::vector<Parameter>& parameters,
                 const json& values) {
  for (const auto& [key, value] : values.items()) {
    if (std::ranges::find(parameters, key, &Parameter::name) == parameters.end()) {
      refuse_key(where, prefix, parameters, key);
    }
  }
  json result = json::object();
  for (const Parameter& parameter : parameters) {
    const auto given = values.find(parameter.name);
    const bool absent =
        given == values.end() || (given->is_null() && std::holds_alternative<std::monostate>(parameter.initial));
    result[parameter.name] =
        absent ? default_value(where, prefix, parameter) : checked(where, parameter, prefix + parameter.name, *given);
  }
  return result;
}

}  // namespace

ParameterTable::ParameterTable(std::vector<Parameter> parameters) : parameters_(std::move(parameters)) {
  for (auto one = parameters_.begin(); one != parameters_.end(); ++one) {
    if (std::find_if(parameters_.begin(), one, [&](const Parameter& other) { return other.name == one->name; }) !=
        one) {
      throw ConfigError("parameters", fmt::format("'{}' is declared twice", one->name));
    }
    if (std::holds_alternative<std::monostate>(one->initial)) continue;
    checked("parameters", *one, one->name + " (its default)", default_value("parameters", "", *one));
  }
}

Settings ParameterTable::read(std::string_view where, const json& values) const {
  if (values.is_null()) return read(where, json::object());
  if (!values.is_object()) {
    throw ConfigError(where, fmt::format("the parameters must be a JSON object, not {}", json_excerpt(values)));
  }
  return {std::string(where), read_object(where, "", parameters_, values)};
}

Settings::Settings(std::string where, nlohmann::json values)
    : where_(std::move(where)), values_(std::make_shared<const nlohmann::json>(std::move(values))) {}

const json& Settings::find(std::string_view name, std::string_view expected) const {
  const auto found = values_->find(name);
  if (found == values_->end()) {
    throw ConfigError(where_, fmt::format("asks for the parameter '{}', which is not in its table", name));
  }
  const bool fits = expected.empty() || (expected == "integer" && found->is_number_integer()) ||
                    (expected == "number" && found->is_number()) || (expected == "boolean" && found->is_boolean()) ||
                    (expected == "string" && found->is_string()) || (expected == "object" && found->is_object());
  if (!fits)
    throw ConfigError(where_, fmt::format("{} is needed as {}, but is {}", name, expected, json_excerpt(*found)));
  return *found;
}

bool Settings::has(std::string_view name) const { return !find(name, "").is_null(); }
std::int64_t Settings::integer(std::string_view name) const { return find(name, "integer").get<std::int64_t>(); }
double Settings::number(std::string_view name) const { return find(name, "number").get<double>(); }
bool Settings::boolean(std::string_view name) const { return find(name, "boolean").get<bool>(); }
std::string Settings::string(std::string_view name) const { return find(name, "string").get<std::string>(); }
const json& Settings::json(std::string_view name) const { return find(name, ""); }

std::optional<std::int64_t> Settings::optional_integer(std::string_view name) const {
  return has(name) ? std::optional(integer(name)) : std::nullopt;
}

std::optional<double> Settings::optional_number(std::string_view name) const {
  return has(name) ? std::optional(number(name)) : std::nullopt;
}

std::vector<std::int64_t> Settings::integers(std::string_view name) const {
  return find(name, "").get<std::vector<std::int64_t>>();
}

Settings Settings::object(std::string_view name) const {
  return {fmt::format("{}.{}", where_, name), find(name, "object")};
}

}  // namespace bough
