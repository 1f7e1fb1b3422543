#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "bough/core/config.h"

namespace bough {

using nlohmann::json;

Parameter integer_parameter(std::string name, std::string help, IntegerLimits limits) {
  Parameter parameter{.name = std::move(name), .type = ParameterType::integer, .help = std::move(help)};
  if (limits.initial) parameter.initial = *limits.initial;
  parameter.smallest = limits.smallest;
  parameter.largest = limits.largest;
  parameter.required = limits.required;
  return parameter;
}

Parameter number_parameter(std::string name, std::string help, NumberLimits limits) {
  Parameter parameter{.name = std::move(name), .type = ParameterType::number, .help = std::move(help)};
  if (limits.initial) parameter.initial = *limits.initial;
  parameter.minimum = limits.minimum;
  parameter.maximum = limits.maximum;
  parameter.required = limits.required;
  return parameter;
}

Parameter boolean_parameter(std::string name, std::string help, bool initial) {
  return {.name = std::move(name), .type = ParameterType::boolean, .help = std::move(help), .initial = initial};
}

Parameter string_parameter(std::string name, std::string help, std::optional<std::string> initial) {
  Parameter parameter{.name = std::move(name), .type = ParameterType::string, .help = std::move(help)};
  parameter.required = !initial;
  if (initial) parameter.initial = std::move(*initial);
  return parameter;
}

Parameter choice_parameter(std::string name, std::string help, std::vector<std::string> choices) {
  Parameter parameter{.name = std::move(name), .type = ParameterType::choice, .help = std::move(help)};
  if (!choices.empty()) parameter.initial = choices.front();
  parameter.choices = std::move(choices);
  return parameter;
}

Parameter list_parameter(std::string name, std::string help, std::optional<Parameter> item, std::int64_t smallest) {
  Parameter parameter{.name = std::move(name), .type = ParameterType::list, .help = std::move(help)};
  parameter.required = smallest > 0;
  parameter.smallest = smallest;
  if (item) parameter.items.push_back(std::move(*item));
  return parameter;
}

Parameter object_parameter(std::string name, std::string help, std::vector<Parameter> fields, bool required) {
  return {.name = std::move(name),
          .type = ParameterType::object,
          .help = std::move(help),
          .required = required,
          .fields = std::move(fields)};
}

namespace {

template <typename Number>
std::string range(Number smallest, Number largest, Number unbounded_below, Number unbounded_above) {
  if (smallest == unbounded_below && largest == unbounded_above) return "";
  if (largest == unbounded_above) return fmt::format(" of at least {}", smallest);
  if (smallest == unbounded_below) return fmt::format(" of at most {}", largest);
  return fmt::format(" from {} to {}", smallest, largest);
}

std::string default_text(const Parameter& parameter) {
  if (parameter.required) return "required";
  struct {
    std::string operator()(std::monostate) const { return "default: none"; }
    std::string operator()(bool value) const { return fmt::format("default {}", value); }
    std::string operator()(std::int64_t value) const { return fmt::format("default {}", value); }
    std::string operator()(double value) const { return fmt::format("default {}", value); }
    std::string operator()(const std::string& value) const { return fmt::format("default \"{}\"", value); }
  } print;
  return std::visit(print, parameter.initial);
}

const char* type_name(ParameterType type) {
  switch (type) {
    case ParameterType::integer:
      return "integer";
    case ParameterType::number:
      return "number";
    case ParameterType::boolean:
      return "boolean";
    case ParameterType::string:
      return "string";
    case ParameterType::choice:
      return "choice";
    case ParameterType::list:
      return "list";
    case ParameterType::object:
      return "object";
  }
  return "";
}

json default_json(const Parameter& parameter) {
  struct {
    json operator()(std::monostate) const { return nullptr; }
    json operator()(bool value) const { return value; }
    json operator()(std::int64_t value) const { return value; }
    json operator()(double value) const { return value; }
    json operator()(const std::string& value) const { return value; }
  } convert;
  return std::visit(convert, parameter.initial);
}

json parameter_json(const Parameter& parameter) {
  json entry = {{"name", parameter.name}, {"type", type_name(parameter.type)}, {"help", parameter.help}};
  entry["allowed"] = allowed_values(parameter);
  if (parameter.required) {
    entry["required"] = true;
  } else {
    entry["default"] = default_json(parameter);
  }
  if (parameter.type == ParameterType::integer) {
    entry["minimum"] = parameter.smallest;
    entry["maximum"] = parameter.largest;
  }
  if (parameter.type == ParameterType::number) {
    if (parameter.minimum > -std::numeric_limits<double>::infinity()) entry["minimum"] = parameter.minimum;
    if (parameter.maximum < std::numeric_limits<double>::infinity()) entry["maximum"] = parameter.maximum;
  }
  if (!parameter.choices.empty()) entry["choices"] = parameter.choices;
  if (!parameter.fields.empty()) entry["parameters"] = ParameterTable(parameter.fields).to_json();
  return entry;
}

}  // namespace

std::string allowed_values(const Parameter& parameter) {
  switch (parameter.type) {
    case ParameterType::integer:
      return "a whole number" + range(parameter.smallest, parameter.largest, std::numeric_limits<std::int64_t>::min(),
                                      std::int64_t{std::numeric_limits<std::int32_t>::max()});
    case ParameterType::number:
      return "a number" + range(parameter.minimum, parameter.maximum, -std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::infinity());
    case ParameterType::boolean:
      return "true or false";
    case ParameterType::string:
      return "a text in quotes";
    case ParameterType::choice:
      return fmt::format("one of \"{}\"", fmt::join(parameter.choices, "\", \""));
    case ParameterType::list: {
      std::string text = parameter.smallest > 0 ? fmt::format("a list of at least {}", parameter.smallest) : "a list";
      if (!parameter.items.empty()) text += ", each " + allowed_values(parameter.items.front());
      return text;
    }
    case ParameterType::object:
      return "an object";
  }
  return "";
}

std::string ParameterTable::help() const {
  std::size_t width = 0;
  for (const Parameter& parameter : parameters_) width = std::max(width, parameter.name.size());
  std::string text;
  for (const Parameter& parameter : parameters_) {
    text += fmt::format("  {:<{}}  {} ({}, {})\n", parameter.name, width, parameter.help, allowed_values(parameter),
                        default_text(parameter));
  }
  return text;
}

json ParameterTable::to_json() const {
  json list = json::array();
  for (const Parameter& parameter : parameters_) list.push_back(parameter_json(parameter));
  return list;
}

}  // namespace bough
